// The state of an incident, by shape and word as well as by colour.
import type { Incident } from './messages';

const kStates: Record<string, [string, string]> = {
  open: ['● open', 'bad'], acknowledged: ['◐ acknowledged', 'warn'], resolved: ['○ resolved', 'dim'],
};

export function StateOf({ incident }: { incident: Incident }) {
  const [text, style] = kStates[incident.state] ?? [incident.state, 'dim'];
  return <b class={style}>{text}{incident.silenced ? ', silenced' : ''}</b>;
}
