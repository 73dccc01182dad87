// What people do about an incident: acknowledge it and take that back, resolve it and open it again, silence it for a
// while, say something. That is for operators; to others it says so. What was said stays in the field until the
// collector has it, and what is typed while an order is on its way stays for the next one.
import { useState } from 'preact/hooks';
import { give, Refusal } from './api';
import { now } from './clock';
import type { Incident, Silence } from './messages';
import { Time } from './times';

const kSilences = [{ label: '1 h', seconds: 3600 }, { label: '8 h', seconds: 8 * 3600 }, { label: '1 d', seconds: 86_400 }];
const kMostReason = 300;  // as the collector takes

interface Props {
  incident: Incident;
  silence: Silence | undefined;  // of this incident alone, in force
  asker: string;
  mayChange: boolean;
  changed: () => void;  // something was done: ask anew
}

function Failure({ doing, problem }: { doing: string; problem: unknown }) {
  const message = problem instanceof Error ? problem.message : String(problem);
  const unsure = problem instanceof Refusal && problem.status === 0;
  return <p class="bad" role="alert">Not done ({doing}): {message}
    {unsure && ' Whether it was done shows when the collector answers again.'}</p>;
}

export function IncidentActions({ incident, silence, asker, mayChange, changed }: Props) {
  const [said, setSaid] = useState('');
  const [doing, setDoing] = useState('');
  const [failed, setFailed] = useState<{ doing: string; problem: unknown }>();
  const run = (what: string, order: () => Promise<void>, sent = '') => {
    setDoing(what);
    setFailed(undefined);
    order()
      .then(() => setSaid((typed) => (typed === sent ? '' : typed)), (problem: unknown) => setFailed({ doing: what, problem }))
      .finally(() => {
        setDoing('');
        changed();
      });
  };
  const note = said.trim();
  const change = (action: 'NOTE' | 'ACKNOWLEDGE' | 'RESOLVE' | 'REOPEN', what: string) => run(what, () =>
    give('incidents/change', { number: incident.number, action: `INCIDENT_ACTION_${action}`, note }), said);
  const silenceFor = (seconds: number, label: string) => run(`silencing it for ${label}`, () =>
    give('silences/add', { incident: incident.number, until_s: now() + seconds, reason: note }), said);
  const off = !mayChange || doing !== '';
  const unsaid = off || note === '';
  return (
    <section class="actions" aria-busy={doing !== ''}>
      {!mayChange && <p class="dim">You are {asker}. To acknowledge, to silence and to say something take an
        operator’s certificate in this browser.</p>}
      <label>What is known <textarea rows={2} maxLength={kMostReason} disabled={!mayChange} value={said}
        onInput={(event) => setSaid(event.currentTarget.value)} /></label>
      <div class="tools">
        {incident.state === 'open' && <button type="button" disabled={off}
          onClick={() => change('ACKNOWLEDGE', 'acknowledging')}>Acknowledge</button>}
        {incident.state === 'acknowledged' && <button type="button" disabled={off}
          onClick={() => change('REOPEN', 'taking it back')}>Take the acknowledgement back</button>}
        {incident.state !== 'resolved' && <button type="button" disabled={off}
          title="It is over; more of what never ended opens it again" onClick={() => change('RESOLVE', 'resolving')}>Resolve</button>}
        {incident.state === 'resolved' && <button type="button" disabled={off}
          onClick={() => change('REOPEN', 'opening it again')}>Open it again</button>}
        <button type="button" disabled={unsaid} title={note === '' ? 'Say what is known first' : ''}
          onClick={() => change('NOTE', 'noting')}>Only say it</button>
        {incident.state !== 'resolved' && silence === undefined && <span class="silencing">Silence for{' '}
          <span class="buttons">{kSilences.map(({ label, seconds }) => (
            <button type="button" disabled={unsaid} title={note === '' ? 'Say why first' : ''}
              onClick={() => silenceFor(seconds, label)}>{label}</button>))}</span></span>}
        {silence !== undefined && <button type="button" disabled={off}
          onClick={() => run('ending the silence', () => give('silences/end', { id: silence.id }))}>End the silence</button>}
        {doing !== '' && <span class="dim" role="status">{doing} …</span>}
      </div>
      {silence !== undefined && <p class="dim">Silenced until <Time at={silence.until_s} /> by {silence.by}:{' '}
        {silence.reason}</p>}
      {silence === undefined && incident.silenced && <p class="dim">Under silences of wider patterns; in a terminal{' '}
        <code>telltale silence</code> lists them.</p>}
      {failed !== undefined && <Failure {...failed} />}
    </section>
  );
}
