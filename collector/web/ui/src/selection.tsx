// What happened in a time, on a node or on all: for every vital at once who and where, and one vital in full.
import { AcrossTable, FrameAcross, partsOfProcess } from './across';
import { selectionOf } from './against';
import { AnomalyList, OlderLeftOut } from './anomaly_list';
import { ask } from './api';
import type { ViewProps } from './app';
import { CoverageLine } from './coverage_line';
import { HostCard } from './host_card';
import { useKeys } from './keys';
import { Link } from './link';
import type { TopTable, Vital } from './messages';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { fixedParams, lastParams, type TimeRange } from './time_range';
import { Top } from './top_table';
import { amount, rate } from './units';
import { useAnswer } from './use_answer';
import { isKnownVital } from './unknown_vital';
import { VitalChips } from './vital_chips';
import { VitalDetail } from './vital_detail';

const kRows = 5;
const kMostAnomalies = 200;
const kRowsChosen = 15;
const kRowsOfProcess = 1000;  // a name may be many processes, all of which are added up; no answer holds more

const kShortest_s = 1800;  // a process over time: so long that an epoch stands beside others

function overTime(node: string, range: TimeRange, params: URLSearchParams): string {
  const middle = (range.start_s + range.end_s) / 2;
  const longer = range.last_s !== undefined ? lastParams(kShortest_s)
    : fixedParams(middle - kShortest_s / 2, middle + kShortest_s / 2);
  return address('/node', params, { node, vital: '', ...(range.end_s - range.start_s < kShortest_s ? longer : {}) });
}

// Whose processes an answer about all nodes names first.
function nodeOf(tables: TopTable[]): string {
  return tables.flatMap(({ rows }) => rows).find((row) => row.node !== '')?.node ?? '';
}

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
      {tables.some(({ estimated }) => estimated) && <p class="dim">Estimates: it was watched a part of the time, to stay
        within the agent's budget; how far off they are is not known.</p>}
      {!counted && first.reason === '' && <p class="dim">Not counted in this time.</p>}
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
  const frame = params.get('frame') ?? '';
  const named = params.get('vital') ?? '';
  const chosen = isKnownVital(named, world.vitals) ? named : '';
  const selection = selectionOf(node, range);
  const key = `${node} ${range.start_s} ${range.end_s} ${process}`;
  const all = useAnswer(`top ${key}`, (signal) =>
    ask('top', { selection, process, limit: process === '' ? kRows : kRowsOfProcess }, signal));
  const one = useAnswer(`top ${key} ${chosen}`, async (signal) => chosen === '' ? undefined
    : ask('top', { selection, process, vital: chosen, limit: kRowsChosen }, signal));
  const unusual = useAnswer(`anomalies ${key}`,
    (signal) => ask('anomalies', { selection, limit: kMostAnomalies }, signal));
  const compare = address('/compare', params, { frame: '', ...fixedParams(range.start_s, range.end_s) });
  useKeys({ c: () => go(compare) });
  const card = (vital: Vital, tables: TopTable[], full: boolean, seconds: number) => tables.length > 0
    && <Card key={vital.name} vital={vital} tables={tables} params={params} chosen={full} seconds={seconds} />;
  const chosenVital = world.vitals.find((vital) => vital.name === chosen.split('/')[0]);
  return (
    <section class="selection" aria-busy={unusual.loading}>
      <div class="tools">
        <VitalChips view="/selection" params={params} vitals={world.vitals} />
        <Link class="main" title="What became more, what less (c)" to={compare}>Compare with before</Link>
      </div>
      {frame !== '' && <FrameAcross selection={selection} frame={frame} process={process} vitals={world.vitals}
        params={params} />}
      {process !== '' && frame === '' && <Answered asked={all}>{(value) => <section class="card">
        <h3><code>{process}</code> <small>in all vitals</small>
          {(node || nodeOf(value.tables)) !== '' && <Link class="quiet" title="Beside the totals of the node"
            to={overTime(node || nodeOf(value.tables), range, params)}>over time</Link>}</h3>
        <AcrossTable parts={partsOfProcess(value.tables)} params={params} who="heaviest code" /></section>}</Answered>}
      {chosenVital !== undefined && <Answered asked={one}>{(value) => value !== undefined
        && card(chosenVital, value.tables, true, value.coverage.values_watched_s)}</Answered>}
      {chosenVital !== undefined
        && <VitalDetail selection={selection} vital={chosen} process={process} params={params} />}
      <Answered asked={all}>{(value) => <>
        <CoverageLine coverage={value.coverage} />
        {unusual.value !== undefined && unusual.value.anomalies.length > 0 && <>
          <OlderLeftOut found={unusual.value} />
          <AnomalyList anomalies={unusual.value.anomalies} params={params} vitals={world.vitals} named={node === ''} />
        </>}
        {value.coverage.watched_s === 0
          ? <Empty><h2>Nothing was watched in this time</h2><p>{value.coverage.notes.join('; ')}</p></Empty>
          : process === '' && frame === '' && <div class="cards">{world.vitals.filter((vital) => vital !== chosenVital).map((vital) =>
            card(vital, value.tables.filter((table) => table.vital === vital.name), false, value.coverage.values_watched_s))}
            {chosenVital === undefined && node !== '' && <HostCard selection={selection} />}
          </div>}
      </>}</Answered>
    </section>
  );
}
