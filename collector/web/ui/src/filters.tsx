// What watches: the rules that say what symptoms mean, the detectors that find them, and filters of the user's; how often
// each was right on faults whose truth was known, and which of them is disabled.
import type { ComponentChildren } from 'preact';
import { ask } from './api';
import type { ViewProps } from './app';
import type { FilterInfo, FilterRecord } from './messages';
import { useRefresh } from './refresh';
import { address } from './route';
import { Link } from './link';
import { Answered } from './states';
import { Time } from './times';
import { amount, duration, plural, recordText } from './units';
import { useAnswer } from './use_answer';

const kPeriod_s = 15;
const kBehind_s = 60;  // one epoch is no delay

// "learning on 3 of 12 nodes, 2 min behind"
export function stateText({ status, user, nodes, nodes_learning }: FilterInfo): string {
  const said = [nodes_learning > 0 ? `learning on ${nodes_learning} of ${plural(nodes, 'node')}` : status?.state ?? ''];
  const lag_s = status?.lag_s ?? 0;
  if (user !== undefined && status?.state !== 'disabled' && lag_s >= kBehind_s) said.push(`${duration(lag_s)} behind`);
  return said.join(', ');
}

// Everything it could not do: no such number stays unsaid.
export function lostText({ dropped, epochs_late, epochs_unreadable, no_room }: FilterInfo): string {
  const said = [];
  if (Number(dropped) > 0) said.push(`${plural(Number(dropped), 'output')} not kept`);
  if (Number(epochs_late) > 0) said.push(`${plural(Number(epochs_late), 'epoch')} came too late for it`);
  if (Number(epochs_unreadable ?? 0) > 0) said.push(`${plural(Number(epochs_unreadable), 'epoch')} could not be opened`);
  if (Number(no_room ?? 0) > 0) said.push(`no room for ${Number(no_room).toLocaleString('en')} labels or programs`);
  return said.join(', ');
}

function Why({ filter: { status, user } }: { filter: FilterInfo }) {
  if (!status?.reason) return null;
  const again = status.state !== 'disabled' ? null : user !== undefined && user.retry_s > 0
    ? <>; tried again at <Time at={user.retry_s} /></> : '; tried again when the file changes';
  return <div class={status.state === 'disabled' ? 'bad' : 'warn'}>{status.reason}{again}</div>;
}

function Row({ filter, children }: { filter: FilterInfo; children?: ComponentChildren }) {
  const lost = lostText(filter);
  return (
    <tr>
      {children}
      <td class="tight"><b>{filter.name}</b></td>
      <td>{filter.about}{filter.vitals.length > 0 && <small> of {filter.vitals.join(', ')}</small>}
        <Why filter={filter} />{lost !== '' && <div class="warn">{lost}</div>}</td>
      <td>{filter.record ? recordText(filter.record) : <span class="dim">no record yet</span>}</td>
      <td>{stateText(filter)}</td>
      <td class="n">{filter.status?.anomalies ?? 0}</td>
    </tr>
  );
}

const kColumns = <><th>filter</th><th>what it says</th><th>was right on planted faults</th><th>state</th>
  <th class="n" title="Anomalies since the collector started">found</th></>;

function UserFilter({ filter }: { filter: FilterInfo }) {
  const { user, status } = filter;
  const lost = lostText(filter);
  return (
    <tr>
      <td class="tight"><b>{filter.name}</b>{filter.version > 0 && <small> version {filter.version}</small>}</td>
      <td>{filter.about}<Why filter={filter} />{lost !== '' && <div class="warn">{lost}</div>}
        <small>{user?.file}</small></td>
      <td class={status?.state === 'disabled' ? 'bad' : undefined}>{stateText(filter)}
        {(user?.failures ?? 0) > 1 && ` (failure ${user?.failures})`}</td>
      <td class="n">{amount(user?.cpu_s ?? 0, 's')}</td>
      <td class="n">{status?.state === 'disabled' ? '' : `${amount(Number(user?.memory_bytes ?? 0), 'bytes')} of `
        + amount(Number(user?.memory_limit_bytes ?? 0), 'bytes')}</td>
      <td class="n">{status?.anomalies ?? 0}</td>
    </tr>
  );
}

function Rests({ records }: { records: FilterRecord[] }) {
  if (records.length === 0) return null;
  const days = [...new Set(records.map(({ measured }) => measured))].sort().join(', ');
  return <p class="dim">Records are of {days}: {plural(records[0]!.faults, 'planted fault')} and{' '}
    {plural(records[0]!.innocent_loads, 'innocent load')} on one machine; in brackets the 95 % interval (Wilson).</p>;
}

export function FiltersView({ route }: ViewProps) {
  const asked = useAnswer('filters', (signal) => ask('filters', {}, signal), useRefresh(kPeriod_s));
  return (
    <section class="filters">
      <Answered asked={{ ...asked, loading: false }}>{({ filters }) => {
        const users = filters.filter(({ user }) => user !== undefined);
        const own = filters.filter(({ user }) => user === undefined);
        const rules = own.filter(({ rule }) => rule > 0).sort((a, b) => a.rule - b.rule);
        return <>
          <h3>Rules <small>what symptoms mean together; each finding is a diagnosis</small></h3>
          <table class="rows"><thead><tr><th class="n">rule</th>{kColumns}</tr></thead>
            <tbody>{rules.map((filter) => <Row filter={filter}><td class="n">{filter.rule}</td></Row>)}</tbody></table>
          <h3>Detectors <small>what is unusual on a node, or among its peers</small></h3>
          <table class="rows"><thead><tr>{kColumns}</tr></thead>
            <tbody>{own.filter(({ rule }) => rule === 0).map((filter) => <Row filter={filter} />)}</tbody></table>
          <Rests records={own.flatMap(({ record }) => record ?? [])} />
          <h3>Your own <small>from filters.d on the collector</small></h3>
          {users.length === 0
            ? <p class="dim">None. One C header and five minutes make one: see filters.md in the documentation.</p>
            : <table class="rows"><thead><tr><th>filter</th><th>what it says</th><th>state</th><th class="n">processor time</th>
              <th class="n">memory</th><th class="n">found</th></tr></thead>
              <tbody>{users.map((filter) => <UserFilter filter={filter} />)}</tbody></table>}
          <p><Link to={address('/anomalies', route.params, {})}>What they found</Link></p>
        </>;
      }}</Answered>
    </section>
  );
}
