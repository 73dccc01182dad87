// One incident: what was found, in the order it came, with what speaks for it and against it; what people said; and the
// way to who and where in the code.
import { ask } from './api';
import { IncidentActions } from './incident_actions';
import { Acknowledged, StateOf } from './incident_state';
import { Link } from './link';
import type { Anomaly, FilterRecord, IncidentsAnswer, IncidentSymptom, Silence, Vital } from './messages';
import { address } from './route';
import { fixedParams } from './time_range';
import { Span, Time } from './times';
import { plural, recordText } from './units';
import { useAnswer } from './use_answer';

const kBefore_s = 600;   // an anomaly may have begun so long before its incident
const kAround_s = 60;
const kMostAnomalies = 1000;

interface Grounds {
  cause?: string;
  evidence?: string;
  against?: string;
  next?: string;
  record?: FilterRecord;
}

// The anomaly a symptom is told by: the first of it that the incident took in.
function groundsOf(symptom: IncidentSymptom, anomalies: Anomaly[]): Grounds {
  if (symptom.evidence) return symptom;
  const same = anomalies.filter((found) => found.node === symptom.node && found.filter === symptom.filter
    && found.vital === symptom.vital && found.sub === symptom.sub);
  return same.find((found) => found.text === symptom.text) ?? {};
}

// What an incident found, in the order it came: each with what it explains, which is told under it alone.
export function timelineOf(symptoms: IncidentSymptom[]): { symptom: IncidentSymptom; explains: IncidentSymptom[] }[] {
  return symptoms.map((symptom, place) => ({
    symptom, explains: symptoms.filter((other) => other.explained_by === place + 1) }))
    .filter(({ symptom }) => symptom.explained_by === 0 || symptom.explained_by > symptoms.length);
}

interface SymptomProps {
  symptom: IncidentSymptom;
  explains: IncidentSymptom[];
  grounds: Grounds;
  params: URLSearchParams;
  vitals: Vital[];
}

function Symptom({ symptom, explains, grounds, params, vitals }: SymptomProps) {
  const there = { node: symptom.node, ...fixedParams(symptom.first_s - kAround_s, symptom.first_s + kAround_s) };
  const known = vitals.some(({ name }) => name === symptom.vital);
  const name = symptom.sub === '' ? symptom.vital : `${symptom.vital}/${symptom.sub}`;
  return (
    <li>
      <div class="facts"><Time at={symptom.first_s} />
        <Link to={address('/node', params, { ...there, vital: '' })}>{symptom.node}</Link>
        {symptom.rule > 0 && <b title={`Rule ${symptom.rule}: what several symptoms mean together`}>diagnosis</b>}
        <span class="dim">{name} {symptom.program} by {symptom.filter}
          {Number(symptom.count) > 1 && `, ${symptom.count} times`}</span></div>
      <p><b>{symptom.text}</b></p>
      <dl class="grounds">
        {grounds.cause && <div><dt>it is</dt><dd>{grounds.cause}</dd></div>}
        {grounds.evidence && <div><dt>because</dt><dd>{grounds.evidence}</dd></div>}
        {grounds.against && <div><dt>against</dt><dd>{grounds.against}</dd></div>}
        {symptom.peers && <div><dt>peers</dt><dd>{symptom.peers}</dd></div>}
        {grounds.record && <div><dt>record</dt><dd>{recordText(grounds.record)}</dd></div>}
        {grounds.next && <div><dt>in a terminal</dt><dd><code>{grounds.next}</code></dd></div>}
      </dl>
      {explains.length > 0 && <div class="explains"><span class="dim">explains</span><ul>{explains.map((other) =>
        <li><Time at={other.first_s} /> <span class="dim">{other.node}</span> {other.text}{' '}
          <span class="dim">by {other.filter}{Number(other.count) > 1 && `, ${other.count} times`}</span></li>)}</ul></div>}
      <p><Link to={address('/selection', params, { ...there, vital: known ? symptom.vital : '' })}>
        Who and where in the code</Link>{' · '}
        <Link to={address('/compare', params, { ...there, vital: known ? symptom.vital : '' })}>compared with before</Link></p>
    </li>
  );
}

interface Props {
  answer: IncidentsAnswer;  // of this one
  silences: Silence[];      // in force, of all
  params: URLSearchParams;
  vitals: Vital[];
  changed: () => void;
}

export function IncidentDetail({ answer, silences, params: given, vitals, changed }: Props) {
  const incident = answer.incidents[0]!;
  const params = new URLSearchParams(given);
  params.delete('incident');
  params.delete('resolved');
  params.delete('silenced');
  const from_s = incident.start_s - kBefore_s;
  const to_s = incident.last_s + kAround_s;
  const selection = { nodes: incident.nodes, start_s: from_s, end_s: to_s };
  const found = useAnswer(`grounds ${incident.number} ${incident.last_s}`, (signal) =>
    ask('anomalies', { selection, limit: kMostAnomalies }, signal));
  const first = incident.nodes[0] ?? '';
  return (
    <article class="incident" aria-busy={found.loading}>
      <p><Link to={address('/incidents', params)}>All incidents</Link></p>
      <h2>{incident.number}: {incident.title}</h2>
      <p class="facts"><span><StateOf incident={incident} /> <Acknowledged incident={incident} /></span>
        <span><Span start={incident.start_s} end={incident.last_s} /></span>
        <span>{plural(Number(incident.anomalies), 'anomaly').replace(/ys$/, 'ies')} on{' '}
          {plural(Number(incident.node_count), 'node')}</span>
        {first !== '' && <Link class="main" to={address('/selection', params, { node: Number(incident.node_count) > 1 ? ''
          : first, vital: '', ...fixedParams(incident.start_s - kAround_s, to_s) })}>Explain its time ↵</Link>}</p>
      <IncidentActions incident={incident} asker={answer.asker} mayChange={answer.may_change} changed={changed}
        silence={silences.find((silence) => silence.incident === incident.number)} />
      <h3>What was found, as it came</h3>
      <ol class="timeline">{timelineOf(incident.symptoms).map(({ symptom, explains }) => <Symptom
        symptom={symptom} explains={explains} params={params} vitals={vitals} grounds={groundsOf(symptom, found.value?.anomalies ?? [])} />)}</ol>
      {found.problem !== undefined && <p class="warn">What speaks for and against them is not shown: {String(found.problem)}</p>}
      {Number(incident.symptoms_left_out) > 0
        && <p class="dim">and {incident.symptoms_left_out} more that are not kept</p>}
      <h3>What people said</h3>
      {incident.notes.length === 0 ? <p class="dim">Nothing yet.</p>
        : <ul class="notes">{incident.notes.map((note) => <li><Time at={note.time_s} /> <span class="dim">{note.who}</span>{' '}
          {note.text}</li>)}</ul>}
    </article>
  );
}
