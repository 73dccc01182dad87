// Single events of a node as a list below its anomalies.
import { isBad, isMark, type Events } from './events';
import { Link } from './link';
import type { DiscreteEvent } from './messages';
import { address } from './route';
import { fixedParams } from './time_range';
import { Time } from './times';
import { plural } from './units';

const kShown = 5;
const kAround_s = 60;

function Row({ event, params }: { event: DiscreteEvent; params: URLSearchParams }) {
  const around = fixedParams(event.time_s - kAround_s, event.time_s + kAround_s);
  return <li><Link title="The minutes around it" to={address('/node', params, around)}><Time at={event.time_s} /></Link>
    {' '}{isMark(event) && <b>{event.type} </b>}<span class={isBad(event) ? 'bad' : undefined}>{event.text}</span>
    {event.pid > 0 && <span class="dim"> {event.pid}</span>}</li>;
}

function NotShown({ found: { withExits, withStarts, complete_s } }: { found: Events }) {
  return (
    <>
      {complete_s > 0 && <p class="warn" role="status">Too many events: some of those before <Time at={complete_s} /> are not
        shown.</p>}
      {!withStarts && <p class="dim">{withExits ? 'Starts and ends of programs are shown in times up to 1 h.'
        : 'Processes killed are shown in times up to 6 h, starts and ends of programs up to 1 h.'}</p>}
    </>
  );
}

export function EventList({ found, params }: { found: Events; params: URLSearchParams }) {
  const { events } = found;
  if (events.length === 0) return <NotShown found={found} />;
  // What people did and what went wrong first, then the newest.
  const weight = (event: DiscreteEvent) => (isMark(event) ? 2 : 0) + (isBad(event) ? 1 : 0);
  const newest = [...events].sort((a, b) => weight(b) - weight(a) || b.time_s - a.time_s);
  const row = (event: DiscreteEvent) => <Row event={event} params={params} />;
  return (
    <div class="events">
      <ul>{newest.slice(0, kShown).map(row)}</ul>
      {newest.length > kShown && <details><summary>{plural(newest.length - kShown, 'further event')}</summary>
        <ul>{newest.slice(kShown).map(row)}</ul></details>}
      <NotShown found={found} />
    </div>
  );
}
