// The last minute of a node, second by second, as its agent tells it: every vital with its rate now.
import type { Feed } from './feed';
import { Link } from './link';
import type { Node, Vital } from './messages';
import { address } from './route';
import { lastParams } from './time_range';
import { clockText } from './times';
import { baseUnit, rate } from './units';

const kWidth = 120;
const kHeight = 22;
const kSeconds = 60;
const kSelected_s = 300;

function partly(node: Node, vital: Vital): string | undefined {
  const state = node.info?.vitals.find(({ id }) => id === vital.id);
  return state?.state === 'VITAL_STATE_DEGRADED' ? state.reason : undefined;
}

// A line from a minute before `end_s`, its highest value at the top; a second that was not told is a gap.
function segments(values: [number, number][], end_s: number): string[] {
  const top = Math.max(...values.map(([, value]) => value), Number.MIN_VALUE);
  const parts: string[][] = [];
  let last_s = -Infinity;
  for (const [at_s, value] of values) {
    if (at_s - last_s > 1.5) parts.push([]);
    last_s = at_s;
    const x = kWidth * (1 - (end_s - at_s) / kSeconds);
    parts[parts.length - 1]!.push(`${x.toFixed(1)},${(kHeight - 1 - (kHeight - 2) * value / top).toFixed(1)}`);
  }
  return parts.map((part) => part.join(' '));
}

interface TileProps {
  vital: Vital;
  feed: Feed;
  reason: string | undefined;  // why the vital is watched in part; undefined: it is not
  params: URLSearchParams;
}

// A vital that is missing from a second was not looked at in it: not the same as 0.
function Tile({ vital, feed, reason, params }: TileProps) {
  const values = feed.seconds.filter(({ rates }) => rates.has(vital.name))
    .map(({ end_s, rates }): [number, number] => [end_s, rates.get(vital.name)!]);
  const end_s = feed.seconds[feed.seconds.length - 1]!.end_s;
  const last = values[values.length - 1];
  if (last === undefined && reason === undefined) return null;
  const seen = last?.[0] === end_s;
  return (
    <Link class="tile" title={`${vital.about}: who and where in the code, the last 5 minutes${seen ? ''
      : `\nnot looked at in this second, or nothing of it was seen${reason ? `: ${reason}` : ''}`}`}
      to={address('/selection', params, { vital: vital.name, ...lastParams(kSelected_s) })}>
      <span>{vital.name}</span> {seen ? <b>{rate(last[1], baseUnit(vital.unit), vital.name)}</b> : <em>not looked at</em>}
      <svg viewBox={`0 0 ${kWidth} ${kHeight}`} preserveAspectRatio="none" aria-hidden="true">
        {segments(values, end_s).map((points) => <polyline points={points} />)}
      </svg>
    </Link>
  );
}

interface Props {
  feed: Feed;
  vitals: Vital[];
  node: Node;
  params: URLSearchParams;
}

export function NowStrip({ feed, vitals, node, params }: Props) {
  const last = feed.seconds[feed.seconds.length - 1];
  if (feed.state !== 'told') return null;
  if (last === undefined) {
    return <p class="dim now-none" role="status">{feed.why === '' ? 'Waiting for the first second …'
      : `No single seconds: ${feed.why}. Epochs show as they come.`}</p>;
  }
  return (
    <section class="now" aria-label="Now, second by second">
      <p class="dim">The second until {clockText(last.end_s)}, and the minute before
        {feed.why !== '' && <span class="warn"> — {feed.why}</span>}
        {feed.dropped > 0 && <span class="warn"> — {feed.dropped} news lost, this page was too slow</span>}</p>
      <div class="tiles">{vitals.map((vital) => <Tile key={vital.name} vital={vital} feed={feed} params={params}
        reason={partly(node, vital)} />)}</div>
    </section>
  );
}
