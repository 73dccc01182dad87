// Anomalies as a list, each with the way to what happened then.
import { Link } from './link';
import type { Anomaly } from './messages';
import { address } from './route';
import { fixedParams } from './time_range';
import { Span } from './times';
import { digits } from './units';

const kShown = 6;

interface Props {
  anomalies: Anomaly[];
  params: URLSearchParams;
  named?: boolean;  // says the node too
}

export function AnomalyList({ anomalies, params, named }: Props) {
  if (anomalies.length === 0) return <p class="dim">No anomalies found in this time.</p>;
  const heaviest = [...anomalies].sort((a, b) => Math.abs(b.severity) - Math.abs(a.severity));
  return (
    <table class="rows">
      <thead><tr><th>unusual</th>{named && <th>node</th>}<th>what</th><th class="n">× usual deviation</th></tr></thead>
      <tbody>
        {heaviest.slice(0, kShown).map((found) => (
          <tr key={found.id}>
            <td class="tight"><Link to={address('/selection', params, {
              node: found.node, vital: found.vital, process: '', ...fixedParams(found.start_s, found.end_s) })}>
              <Span start={found.start_s} end={found.end_s} /></Link></td>
            {named && <td class="tight">{found.node}</td>}
            <td>{found.text}</td>
            <td class="n">{digits(found.severity)}</td>
          </tr>))}
      </tbody>
      {heaviest.length > kShown && <tfoot><tr><td colSpan={named ? 4 : 3} class="dim">
        and {heaviest.length - kShown} lighter ones</td></tr></tfoot>}
    </table>
  );
}
