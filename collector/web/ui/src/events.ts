// What happened at one moment: what operators noted, the agent's starts and stops, clock steps, processes killed, and
// starts and ends of programs that rarely do either.
import { ask } from './api';
import type { DiscreteEvent, Mark, Selection } from './messages';

const kTypes = ['OOM', 'CLOCK_STEP', 'AGENT_START', 'AGENT_STOP', 'DEPLOY', 'NOTE'];
const kMost = 10_000;  // the newest; no answer holds more
// Exits are asked only of times this long: on a node that compiles there are thousands an hour.
const kLongestExits_s = 6 * 3600;
const kLongestStarts_s = 3600;
const kRare = 3;  // starts or ends of a program in the time

export interface Events {
  events: DiscreteEvent[];
  withExits: boolean;
  withStarts: boolean;
  complete_s: number;  // of the time before some were left out; 0: none were
}

// Ended by what others do to it, not by its own fault or for want of memory.
const kOrderly = /killed by SIG(TERM|INT|HUP|PIPE|QUIT|ALRM|USR[12])$/;

export function isBad(event: DiscreteEvent): boolean {
  return event.type === 'oom' || (event.type === 'exit' && !kOrderly.test(event.text) && isKill(event));
}

// What people did: drawn before all else.
export function isMark(event: DiscreteEvent): boolean {
  return event.type === 'note' || event.type === 'deploy';
}

function isKill(event: DiscreteEvent): boolean {
  return event.text.includes(' killed by ');
}

const kProgram = /^(.*?)(?: x [0-9,]+)? (?:started|ended with status \d+)$/;
const kTimes = / x ([0-9,]+) (?:started|ended)/;

// Of programs that start, or end by themselves, all the time none is news.
function rare(events: DiscreteEvent[]): DiscreteEvent[] {
  const times = new Map<string, number>();
  const nameOf = (event: DiscreteEvent) => `${event.type} ${kProgram.exec(event.text)?.[1] ?? event.text}`;
  for (const event of events) {
    const count = Number(kTimes.exec(event.text)?.[1]?.replaceAll(',', '') ?? 1);
    times.set(nameOf(event), (times.get(nameOf(event)) ?? 0) + count);
  }
  return events.filter((event) => times.get(nameOf(event))! <= kRare);
}

function eventOf(mark: Mark): DiscreteEvent {
  const { node, time_s, by } = mark;
  return { node, time_s, type: /^deploy/i.test(mark.text) ? 'deploy' : 'note', text: `${mark.text} (${by})`, pid: 0 };
}

// Events come in the order of time, the oldest left out.
function completeFrom(answers: { events: { time_s: number }[]; left_out: number }[]): number {
  return Math.max(0, ...answers.filter(({ left_out }) => left_out > 0).map(({ events }) => events[0]?.time_s ?? 0));
}

export async function askEvents(selection: Selection, signal: AbortSignal): Promise<Events> {
  const of = (types: string[]) => ask('events', {
    selection, types: types.map((type) => `EVENT_TYPE_${type}`), limit: kMost }, signal);
  const none = { events: [], left_out: 0 };
  const length_s = selection.end_s - selection.start_s;
  const withExits = length_s <= kLongestExits_s;
  const withStarts = length_s <= kLongestStarts_s;
  const [usual, starts, exits, said] = await Promise.all([
    of(kTypes), withStarts ? of(['EXEC']) : none, withExits ? of(['EXIT']) : none,
    ask('marks', { selection, limit: kMost }, signal)]);
  const ends = exits.events.filter((event) => !isKill(event));
  const events = [...usual.events, ...exits.events.filter(isKill), ...rare(starts.events),
                  ...(withStarts ? rare(ends) : []), ...said.marks.map(eventOf)];
  return { events: events.sort((a, b) => a.time_s - b.time_s), withExits, withStarts,
           complete_s: completeFrom([usual, starts, exits, { events: said.marks, left_out: said.left_out }]) };
}
