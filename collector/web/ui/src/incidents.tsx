// Incidents: anomalies and diagnoses that belong together. All of them as a list, or one in full.
import { ask } from './api';
import type { ViewProps } from './app';
import { IncidentDetail } from './incident_detail';
import { StateOf } from './incident_state';
import { Link } from './link';
import type { Incident } from './messages';
import { useRefresh } from './refresh';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { Time } from './times';
import { plural } from './units';
import { useAnswer } from './use_answer';

const kPeriod_s = 10;
const kMost = 200;
const kNamed = 3;  // nodes of a row

function Row({ incident, params }: { incident: Incident; params: URLSearchParams }) {
  const nodes = Number(incident.node_count);
  return (
    <tr>
      <td class="n">{incident.number}</td>
      <td class="tight"><StateOf incident={incident} /></td>
      <td><Link to={address('/incidents', params, { incident: String(incident.number) })}>{incident.title}</Link></td>
      <td>{incident.nodes.slice(0, kNamed).join(', ')}{nodes > kNamed && ` and ${nodes - kNamed} more`}</td>
      <td class="tight"><Time at={incident.start_s} /></td>
      <td class="tight"><Time at={incident.last_s} /></td>
      <td class="n">{incident.anomalies}</td>
    </tr>
  );
}

export function IncidentsView({ route, world }: ViewProps) {
  const { params } = route;
  const one = params.get('incident') ?? '';
  const withResolved = params.get('resolved') === '1';
  const tick = useRefresh(kPeriod_s);
  const question = one !== '' ? { number: one } : { resolved: withResolved, limit: kMost };
  const answer = useAnswer(`incidents ${JSON.stringify(question)} ${tick}`,
    (signal) => ask('incidents', question, signal));
  return (
    <section>
      {one === '' && <div class="tools">
        <label><input type="checkbox" checked={withResolved} onChange={(event) =>
          go(address('/incidents', params, { resolved: event.currentTarget.checked ? '1' : '' }))} /> resolved ones, too
        </label>
        <span class="dim">Asked anew every {kPeriod_s} s. An hour without news resolves an incident.</span>
      </div>}
      <Answered asked={answer}>{(value) => one !== ''
        ? <IncidentDetail incident={value.incidents[0]!} params={params} vitals={world.vitals} />
        : value.incidents.length === 0
          ? <Empty><h2>No open incident</h2>
            <p>{withResolved ? 'Nor was there one that is still kept.' : 'Nothing that was found needs you now.'}</p>
            <p><Link to={address('/anomalies', params, {})}>What was unusual</Link></p></Empty>
          : <>
            <p class="dim" role="status">{plural(Number(value.open), 'open incident')}
              {Number(value.missed_anomalies) > 0
                && `; ${value.missed_anomalies} anomalies left the log before they were taken in`}</p>
            <table class="rows incidents">
              <thead><tr><th class="n">#</th><th>state</th><th>what</th><th>where</th><th>since</th><th>latest news</th>
                <th class="n">anomalies</th></tr></thead>
              <tbody>{value.incidents.map((incident) =>
                <Row key={incident.number} incident={incident} params={params} />)}</tbody>
            </table></>}</Answered>
    </section>
  );
}
