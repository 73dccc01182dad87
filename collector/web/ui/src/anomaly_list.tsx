// Anomalies as a list: what was unusual, by how much, on what history that judgement rests, and the way to what
// happened then.
import { Link } from './link';
import type { Anomaly, Answers, Vital } from './messages';
import { address } from './route';
import { fixedParams } from './time_range';
import { Span, Time } from './times';
import { isKnownVital } from './unknown_vital';
import { baseUnit, digits, duration, perSecond, plural, recordText } from './units';

const kShown = 6;

export type Order = 'heaviest' | 'newest';

interface Props {
  anomalies: Anomaly[];
  params: URLSearchParams;
  vitals: Vital[];
  named?: boolean;  // says the node too
  most?: number;
  order?: Order;
}

type Found = Pick<Answers['anomalies'], 'anomalies' | 'next_page'>;

// An answer holds the newest first and only so many: what began before this moment is not in it. Undefined: all is.
export function completeFrom({ anomalies, next_page }: Found): number | undefined {
  return next_page === '' ? undefined : anomalies[anomalies.length - 1]?.start_s;
}

export function OlderLeftOut({ found }: { found: Found }) {
  const from_s = completeFrom(found);
  if (from_s === undefined) return null;
  return <p class="warn" role="status">More than {found.anomalies.length} anomalies; those that began before{' '}
    <Time at={from_s} /> are not shown.</p>;
}

// Filters that judge something else than a vital's rate: what comes together, what only grows, who says nothing.
const kNotOfRates = ['affinity', 'leak', 'descriptor_leak', 'silence'];

// Whether its figures are a vital's, per second, and what is usual of it. Those of a diagnosis are of its rule alone.
function isOfRates({ rule, filter }: Anomaly): boolean {
  return rule === 0 && !kNotOfRates.includes(filter);
}

// Peers are compared by what one of their CPUs does.
function figure(value: number, unit: string, { filter }: Anomaly): string {
  return `${perSecond(value, unit)}${filter === 'peer_outlier' ? ' a CPU' : ''}`;
}

function judgedText(found: Anomaly): string {
  if (found.rule > 0) return `rule ${found.rule}`;
  return isOfRates(found) ? digits(found.severity) : '';
}

function Evidence({ found, unit }: { found: Anomaly; unit: string }) {
  const name = found.sub === '' ? found.vital : `${found.vital}/${found.sub}`;
  return (
    <details>
      <summary>{found.rule > 0 && <b title={`Rule ${found.rule}: what several symptoms mean together`}>diagnosis{' '}</b>}
        {found.text || `${name} is unusual`}{found.open && <span class="warn"> (goes on)</span>}</summary>
      <dl class="details">
        {isOfRates(found) && <>
          <div><dt>was</dt><dd>{figure(found.value, unit, found)}</dd></div>
          <div><dt>usual</dt><dd>{perSecond(found.expected, unit)} ± {figure(found.deviation, unit, found)}</dd></div>
        </>}
        <div><dt>lasted</dt><dd>{duration(found.end_s - found.start_s)}</dd></div>
        {found.learned_epochs > 0 && <div><dt>judged by</dt>
          <dd>{plural(found.learned_epochs, 'epoch')} of this node</dd></div>}
        {found.subject !== '' && <div><dt>who</dt><dd>{found.subject}</dd></div>}
        {found.cause !== '' && <div><dt>it is</dt><dd>{found.cause}{found.rule > 0 && ` (rule ${found.rule})`}</dd></div>}
        {found.evidence !== '' && <div class="wide"><dt>because</dt><dd>{found.evidence}</dd></div>}
        {found.against !== '' && <div class="wide"><dt>against</dt><dd>{found.against}</dd></div>}
        {found.record && <div class="wide"><dt>record</dt><dd>{recordText(found.record)}</dd></div>}
        {found.next !== '' && <div class="wide"><dt>in a terminal</dt><dd><code>{found.next}</code></dd></div>}
        <div><dt>found</dt><dd>by {found.filter}{found.found_s > 0 && <> at <Time at={found.found_s} /></>}</dd></div>
      </dl>
    </details>
  );
}

export function AnomalyList({ anomalies, params, vitals, named, most = kShown, order = 'heaviest' }: Props) {
  if (anomalies.length === 0) return <p class="dim">No anomalies found in this time.</p>;
  const sorted = [...anomalies].sort((a, b) => order === 'newest' ? b.start_s - a.start_s
    : Math.abs(b.severity) - Math.abs(a.severity));
  const left = sorted.length - most;
  const there = { process: '', frame: '', filter: '', sort: '', split: '' };
  return (
    <table class="rows anomalies">
      <thead><tr><th>unusual</th>{named && <th>node</th>}<th>vital</th><th>what</th>
        <th class="n">× usual deviation</th><th /></tr></thead>
      <tbody>
        {sorted.slice(0, most).map((found) => {
          const time = fixedParams(found.start_s, found.end_s);
          const known = isKnownVital(found.vital, vitals);  // that a node is silent is of no vital
          const to = { ...there, node: found.node, vital: known ? found.vital : '', ...time };
          const unit = baseUnit(vitals.find((vital) => vital.name === found.vital)?.unit ?? '');
          return (
            <tr key={found.id}>
              <td class="tight"><Link title="Who and where in the code" to={address('/selection', params, to)}>
                <Span start={found.start_s} end={found.end_s} /></Link></td>
              {named && <td class="tight"><Link to={address('/node', params, { ...to, vital: '', ...time })}>
                {found.node}</Link></td>}
              <td class="tight">{found.sub === '' ? found.vital : `${found.vital}/${found.sub}`}</td>
              <td><Evidence found={found} unit={unit} /></td>
              <td class={isOfRates(found) ? 'n deviations' : 'n'}>{judgedText(found)}</td>
              <td class="tight"><Link to={address('/compare', params, to)}>compare</Link></td>
            </tr>);
        })}
      </tbody>
      {left > 0 && <tfoot><tr><td colSpan={6} class="dim">and {left} {order === 'newest' ? 'older' : 'lighter'}:{' '}
        <Link to={address('/anomalies', params, { vital: '', process: '', frame: '' })}>all of them</Link></td></tr>
      </tfoot>}
    </table>
  );
}
