// What happened at one moment: the agent's starts and stops, clock steps, processes killed.
import { ask } from './api';
import type { DiscreteEvent, Selection } from './messages';

const kTypes = ['OOM', 'CLOCK_STEP', 'AGENT_START', 'AGENT_STOP', 'DEPLOY', 'NOTE'];
const kMost = 2000;
// Exits are asked only of times this long: on a node that compiles there are thousands an hour.
const kLongestExits_s = 6 * 3600;

export interface Events {
  events: DiscreteEvent[];
  withExits: boolean;
}

// Ended by what others do to it, not by its own fault or for want of memory.
const kOrderly = /killed by SIG(TERM|INT|HUP|PIPE|QUIT|ALRM|USR[12])$/;

export function isBad(event: DiscreteEvent): boolean {
  return event.type === 'oom' || (event.type === 'exit' && !kOrderly.test(event.text));
}

// A process that ended by itself is no news.
function isNews(event: DiscreteEvent): boolean {
  return event.type !== 'exit' || event.text.includes(' killed by ');
}

export async function askEvents(selection: Selection, signal: AbortSignal): Promise<Events> {
  const of = (types: string[]) => ask('events', {
    selection, types: types.map((type) => `EVENT_TYPE_${type}`), limit: kMost }, signal);
  const withExits = selection.end_s - selection.start_s <= kLongestExits_s;
  const answers = await Promise.all([of(kTypes), ...(withExits ? [of(['EXIT'])] : [])]);
  const events = answers.flatMap((answer) => answer.events).filter(isNews).sort((a, b) => a.time_s - b.time_s);
  return { events, withExits };
}
