// The state of an incident, by shape and word as well as by colour, and who acknowledged it.
import type { Incident } from './messages';
import { Time } from './times';

const kStates: Record<string, [string, string]> = {
  open: ['● open', 'bad'], acknowledged: ['◐ acknowledged', 'warn'], resolved: ['○ resolved', 'dim'],
};

export function StateOf({ incident }: { incident: Incident }) {
  const [text, style] = kStates[incident.state] ?? [incident.state, 'dim'];
  return <b class={style}>{text}{incident.silenced ? ', silenced' : ''}</b>;
}

export function Acknowledged({ incident }: { incident: Incident }) {
  if (incident.acknowledged_by === '') return null;
  return <span class="dim">by {incident.acknowledged_by}, <Time at={incident.acknowledged_s} /></span>;
}
