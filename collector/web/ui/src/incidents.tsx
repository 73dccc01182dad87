// Incidents: anomalies and diagnoses that belong together. All of them as a list, or one in full.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from './api';
import type { ViewProps } from './app';
import type { Feed } from './feed';
import { IncidentDetail } from './incident_detail';
import { Acknowledged, StateOf } from './incident_state';
import { AskedLearning } from './learning';
import { Link } from './link';
import type { Incident, IncidentsAnswer } from './messages';
import { kIncidents_s, useRefresh } from './refresh';
import { address, go } from './route';
import { Answered, Behind, Empty, unreached } from './states';
import { Time } from './times';
import { plural } from './units';
import { type Asked, useAnswer } from './use_answer';

// While the collector tells, all the same: a connection may die without a word.
const kTold_s = 60;
const kMost = 200;
const kNamed = 3;  // nodes of a row

function Row({ incident, params }: { incident: Incident; params: URLSearchParams }) {
  const nodes = Number(incident.node_count);
  return (
    <tr>
      <td class="n">{incident.number}</td>
      <td><StateOf incident={incident} /> <Acknowledged incident={incident} /></td>
      <td><Link to={address('/incidents', params, { incident: String(incident.number) })}>{incident.title}</Link></td>
      <td>{incident.nodes.slice(0, kNamed).join(', ')}{nodes > kNamed && ` and ${nodes - kNamed} more`}</td>
      <td class="tight"><Time at={incident.start_s} /></td>
      <td class="tight"><Time at={incident.last_s} /></td>
      <td class="n">{incident.anomalies}</td>
    </tr>
  );
}

// "2 open incidents, 1 acknowledged"; the collector counts all that are open, whatever the list shows.
export function countText({ open, incidents }: Pick<IncidentsAnswer, 'open' | 'incidents'>): string {
  const also = ['acknowledged', 'resolved'].map((state): [string, number] =>
    [state, incidents.filter((incident) => incident.state === state).length]).filter(([, count]) => count > 0);
  return [plural(Number(open), 'open incident'), ...also.map(([state, count]) => `${count} ${state}`)].join(', ');
}

// What was there before stays while the collector does not answer: half a sentence typed into it, too.
function Kept<T>({ asked, children }: { asked: Asked<T>; children: (value: T) => ComponentChildren }) {
  const { problem, ...known } = asked;
  return (
    <>
      {known.value !== undefined && problem !== undefined && !unreached({ problem }) && <Behind problem={problem} />}
      <Answered asked={known.value === undefined || unreached(asked) ? asked : known}>{children}</Answered>
    </>
  );
}

// Grows whenever incidents are to be asked for.
function useNews(feed: Feed): string {
  return `${useRefresh(feed.state === 'told' ? kTold_s : kIncidents_s)} ${feed.incidents}`;
}

function News({ feed }: { feed: Feed }) {
  if (feed.state === 'told') return <span class="dim">● told as they change</span>;
  return <span class={feed.state === 'asked' ? 'warn' : 'dim'} role="status">○ asked anew every {kIncidents_s} s
    {feed.state === 'asked' && `: ${feed.why}`}</span>;
}

function OneIncident({ number, route, world, feed }: ViewProps & { number: string }) {
  const tick = useNews(feed);
  const [changes, setChanges] = useState(0);
  const asked = useAnswer(`incident ${number}`, async (signal) => {
    const [answer, { silences }] = await Promise.all([ask('incidents', { number }, signal), ask('silences', {}, signal)]);
    return { answer, silences };
  }, `${tick} ${changes}`);
  return (
    <>
      <p><News feed={feed} /></p>
      <Kept asked={asked}>{(value) => <IncidentDetail {...value} params={route.params} vitals={world.vitals}
        changed={() => setChanges((before) => before + 1)} />}</Kept>
    </>
  );
}

function IncidentList({ route, feed }: ViewProps) {
  const { params } = route;
  const chosen = (name: string) => params.get(name) === '1';
  const tick = useNews(feed);
  const question = { resolved: chosen('resolved'), silenced: chosen('silenced'), limit: kMost };
  const asked = useAnswer(`incidents ${JSON.stringify(question)}`,
    (signal) => ask('incidents', question, signal), tick);
  const also = (name: 'resolved' | 'silenced') => (
    <label><input type="checkbox" checked={question[name]} onChange={(event) =>
      go(address('/incidents', params, { [name]: event.currentTarget.checked ? '1' : '' }))} /> {name} ones, too</label>);
  return (
    <>
      <div class="tools">
        {also('resolved')}{also('silenced')}
        <News feed={feed} /><span class="dim">As they are now, whatever the time of other views. An hour without news resolves an incident.</span>
      </div>
      <Kept asked={asked}>{(value) => value.incidents.length === 0
        ? <Empty><h2>No open incident</h2>
          <p>{question.resolved ? 'Nor was there one that is still kept.' : 'Nothing that was found needs you now.'}</p>
          {Number(value.silenced) > 0 && !question.silenced && <p>{plural(Number(value.silenced), 'incident')} under
            silences.</p>}
          <AskedLearning tick={tick} />
          <p><Link to={address('/anomalies', params, {})}>What was unusual</Link></p></Empty>
        : <>
          <p class="dim" role="status">{countText(value)}
            {Number(value.silenced) > 0 && `; ${value.silenced} under silences`}
            {Number(value.missed_anomalies) > 0
              && `; ${value.missed_anomalies} anomalies left the log before they were taken in`}</p>
          <table class="rows incidents">
            <thead><tr><th class="n">#</th><th>state</th><th>what</th><th>where</th><th>since</th><th>latest news</th>
              <th class="n">anomalies</th></tr></thead>
            <tbody>{value.incidents.map((incident) =>
              <Row key={incident.number} incident={incident} params={params} />)}</tbody>
          </table></>}</Kept>
    </>
  );
}

export function IncidentsView(view: ViewProps) {
  const number = view.route.params.get('incident') ?? '';
  return <section>{number !== '' ? <OneIncident key={number} {...view} number={number} /> : <IncidentList {...view} />}</section>;
}
