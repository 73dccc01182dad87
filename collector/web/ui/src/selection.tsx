// What happened in a time, on a node or on all: for every vital at once who and where, and one vital in full.
import { AnomalyList } from './anomaly_list';
import { ask } from './api';
import type { ViewProps } from './app';
import { CoverageLine } from './coverage_line';
import { Link } from './link';
import type { TopTable, Vital } from './messages';
import { address } from './route';
import { Answered, Empty } from './states';
import { Top } from './top_table';
import { amount, rate } from './units';
import { useAnswer } from './use_answer';
import { VitalDetail } from './vital_detail';

const kRows = 5;
const kMostAnomalies = 200;
const kRowsChosen = 15;

interface CardProps {
  vital: Vital;
  tables: TopTable[];
  params: URLSearchParams;
  chosen: boolean;
  seconds: number;
}

function Card({ vital, tables, params, chosen, seconds }: CardProps) {
  const first = tables[0]!;
  const counted = first.state === 'VITAL_STATE_ACTIVE' || first.total > 0;
  return (
    <section class="card">
      <h3>
        {chosen ? vital.name : <Link to={address('/selection', params, { vital: vital.name })}>{vital.name}</Link>}
        {' '}<small>{vital.about}</small>
        {counted && <b class="total">{amount(first.total, first.unit)}
          {seconds > 0 && <small> {rate(first.total / seconds, first.unit, vital.name)}</small>}</b>}
      </h3>
      {first.reason !== '' && <p class="warn">{first.reason}</p>}
      {first.left_out.length > 0 && first.total > 0 && <p class="dim">without {first.left_out.join(', ')}</p>}
      {first.total === 0 ? counted && <p class="dim">Nothing in this time.</p>
        : <div class="pair">{tables.map((table) => <Top table={table} params={params} />)}</div>}
    </section>
  );
}

export function SelectionView({ route, range, world }: ViewProps) {
  const { params } = route;
  const node = params.get('node') ?? '';
  const process = params.get('process') ?? '';
  const chosen = params.get('vital') ?? '';
  const selection = { nodes: node === '' ? [] : [node], start_s: range.start_s, end_s: range.end_s };
  const key = `${node} ${range.start_s} ${range.end_s} ${process}`;
  const all = useAnswer(`top ${key}`, (signal) => ask('top', { selection, process, limit: kRows }, signal));
  const one = useAnswer(`top ${key} ${chosen}`, async (signal) => chosen === '' ? undefined
    : ask('top', { selection, process, vital: chosen, limit: kRowsChosen }, signal));
  const unusual = useAnswer(`anomalies ${key}`,
    (signal) => ask('anomalies', { selection, limit: kMostAnomalies }, signal));
  const card = (vital: Vital, tables: TopTable[], full: boolean, seconds: number) => tables.length > 0
    && <Card key={vital.name} vital={vital} tables={tables} params={params} chosen={full} seconds={seconds} />;
  const chosenVital = world.vitals.find((vital) => vital.name === chosen.split('/')[0]);
  return (
    <section class="selection">
      <nav class="chips" aria-label="Vital">
        {process !== '' && <Link class="only" title="All processes again"
          to={address('/selection', params, { process: '' })}>only {process} ✕</Link>}
        <Link current={chosen === ''} to={address('/selection', params, { vital: '' })}>all</Link>
        {world.vitals.map(({ name, about }) => <Link key={name} title={about} current={chosen.split('/')[0] === name}
          to={address('/selection', params, { vital: name })}>{name}</Link>)}
      </nav>
      {chosenVital !== undefined && <Answered asked={one}>{(value) => value !== undefined
        && card(chosenVital, value.tables, true, value.coverage.watched_s)}</Answered>}
      {chosenVital !== undefined && <VitalDetail selection={selection} vital={chosen} process={process} />}
      <Answered asked={all}>{(value) => <>
        <CoverageLine coverage={value.coverage} />
        {unusual.value !== undefined && unusual.value.anomalies.length > 0
          && <AnomalyList anomalies={unusual.value.anomalies} params={params} named={node === ''} />}
        {value.coverage.watched_s === 0
          ? <Empty><h2>Nothing was watched in this time</h2><p>{value.coverage.notes.join('; ')}</p></Empty>
          : <div class="cards">{world.vitals.filter((vital) => vital !== chosenVital).map((vital) =>
            card(vital, value.tables.filter((table) => table.vital === vital.name), false, value.coverage.watched_s))}
          </div>}
      </>}</Answered>
    </section>
  );
}
