// Anomalies as a list: what was unusual, by how much, on what history that judgement rests, and the way to what
// happened then.
import { Link } from './link';
import type { Anomaly, Vital } from './messages';
import { address } from './route';
import { fixedParams } from './time_range';
import { Span, Time } from './times';
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

function Evidence({ found, unit }: { found: Anomaly; unit: string }) {
  const name = found.sub === '' ? found.vital : `${found.vital}/${found.sub}`;
  return (
    <details>
      <summary>{found.rule > 0 && <b title={`Rule ${found.rule}: what several symptoms mean together`}>diagnosis{' '}</b>}
        {found.text || `${name} is unusual`}{found.open && <span class="warn"> (goes on)</span>}</summary>
      <dl class="details">
        <div><dt>was</dt><dd>{perSecond(found.value, unit)}</dd></div>
        <div><dt>usual</dt><dd>{perSecond(found.expected, unit)} ± {perSecond(found.deviation, unit)}</dd>
        </div>
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
          const to = { ...there, node: found.node, vital: found.vital, ...time };
          const unit = baseUnit(vitals.find((vital) => vital.name === found.vital)?.unit ?? '');
          return (
            <tr key={found.id}>
              <td class="tight"><Link title="Who and where in the code" to={address('/selection', params, to)}>
                <Span start={found.start_s} end={found.end_s} /></Link></td>
              {named && <td class="tight"><Link to={address('/node', params, { ...to, vital: '', ...time })}>
                {found.node}</Link></td>}
              <td class="tight">{found.sub === '' ? found.vital : `${found.vital}/${found.sub}`}</td>
              <td><Evidence found={found} unit={unit} /></td>
              <td class="n">{digits(found.severity)}</td>
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
