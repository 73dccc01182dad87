// Two selections side by side: what became more, what became less, what changed the most first; one vital with its
// differential flame graph.
import { useMemo, useState } from 'preact/hooks';
import { kAgainst, kChosen, readAgainst, selectionOf, type Against } from './against';
import { ask } from './api';
import type { ViewProps } from './app';
import { now } from './clock';
import { CoverageLine } from './coverage_line';
import { Diff } from './diff_table';
import { FlameGraph } from './flame_graph';
import { flameTree } from './flame_tree';
import { Link } from './link';
import { kMomentForms, readMoment } from './moment';
import type { DiffAnswer, DiffTable, FlameAnswer, Vital } from './messages';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { useShownTheme } from './theme';
import { Span } from './times';
import { amount, change } from './units';
import { useAnswer } from './use_answer';
import { isKnownVital } from './unknown_vital';
import { VitalChips } from './vital_chips';

const kRows = 5;
const kRowsChosen = 20;

// How much of a vital changed beyond its bounds, as a part of the larger of its two totals.
function weightOfChange(tables: DiffTable[]): number {
  const of = (table: DiffTable) => {
    const most = Math.max(table.total, table.against_total);
    const largest = table.rows.reduce((size, row) =>
      row.certain ? Math.max(size, Math.abs(row.difference)) : size, 0);
    return most > 0 ? largest / most : 0;
  };
  return Math.max(0, ...tables.map(of));
}

function AgainstControl({ route, range, world, against }: ViewProps & { against: Against }) {
  const [wrong, setWrong] = useState(false);
  const to = (changes: Record<string, string>) =>
    go(address('/compare', route.params, changes));
  const at = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('against-at') as HTMLInputElement;
    const moment = readMoment(field.value, now());
    setWrong(moment === undefined);
    if (moment === undefined) return;
    const half = (range.end_s - range.start_s) / 2;
    to({ against: '', afrom: (moment - half).toFixed(0), ato: (moment + half).toFixed(0) });
  };
  const node = route.params.get('node') ?? '';
  return (
    <>
      <select aria-label="Compare with" value={against.name} onChange={(event) =>
        to({ against: event.currentTarget.value, afrom: '', ato: '' })}>
        {against.name === kChosen && <option value={kChosen}>the time below</option>}
        {kAgainst.filter(({ name }) => name !== 'same' || against.node !== node).map(({ name, label }) =>
          <option value={name}>{label}</option>)}
      </select>
      <label>on <select aria-label="Of the node" value={against.node} onChange={(event) => {
        const other = event.currentTarget.value;
        to({ anode: other === node ? '' : other,
             ...(against.name === 'before' && other !== node && { against: 'same' }),
             ...(against.name === 'same' && other === node && { against: '' }) });
      }}>
        {node === '' && <option value="">all nodes</option>}
        {world.nodes.map(({ name }) => <option value={name}>{name}</option>)}
      </select></label>
      <form onSubmit={at}>
        <input name="against-at" placeholder="or around 17:05" aria-label="Compare with a time, local" autocomplete="off"
          aria-invalid={wrong} title={`In the zone above: ${kMomentForms}`} />
        {wrong && <span class="wrong bad" role="alert">Not a time. Write {kMomentForms}</span>}
      </form>
    </>
  );
}

function Totals({ table }: { table: DiffTable }) {
  return <span class="total"><small>other</small> {amount(table.against_total, table.unit)} <small>this</small>{' '}
    {amount(table.total, table.unit)} <b>{change(table.total, table.against_total)}</b></span>;
}

interface CardProps {
  vital: Vital;
  tables: DiffTable[];
  params: URLSearchParams;
  chosen: boolean;
}

function Card({ vital, tables, params, chosen }: CardProps) {
  const first = tables[0]!;
  return (
    <section class="card">
      <h3>{chosen ? vital.name : <Link to={address('/compare', params, { vital: vital.name })}>{vital.name}</Link>}
        {' '}<small>{vital.about}</small>{first.reason === '' && <Totals table={first} />}</h3>
      {first.reason !== '' ? <p class="warn">{first.reason}</p>
        : <div class="pair">{tables.map((table) => <Diff table={table} params={params} />)}</div>}
    </section>
  );
}

function Flame({ answer, params }: { answer: FlameAnswer; params: URLSearchParams }) {
  const theme = useShownTheme();
  const root = useMemo(() => flameTree(answer), [answer]);
  if (root.size === 0) return <p class="dim">No stacks of this vital in either time.</p>;
  return <FlameGraph root={root} unit={answer.unit} theme={theme} compared
    across={(frame) => address('/selection', params, { frame })} />;
}

function Tables({ answer, route, world }: Pick<ViewProps, 'route' | 'world'> & { answer: DiffAnswer }) {
  const { params } = route;
  const named = params.get('vital') ?? '';
  const chosen = isKnownVital(named, world.vitals) ? named.split('/')[0]! : '';
  if (answer.scale === 0) {
    const blank = (what: string, watched_s: number) => watched_s === 0 && <p>Nothing was watched {what}.</p>;
    return <Empty><h2>There is nothing to compare</h2>{blank('in the time chosen', answer.coverage.watched_s)}
      {blank('in the time it is compared with', answer.against_coverage.watched_s)}</Empty>;
  }
  const cards = world.vitals.map((vital) => ({ vital, tables: answer.tables.filter((t) => t.vital === vital.name) }))
    .filter(({ tables }) => tables.length > 0)
    .sort((a, b) => weightOfChange(b.tables) - weightOfChange(a.tables));
  const changed = cards.filter(({ tables }) => weightOfChange(tables) > 0);
  const rest = cards.filter(({ tables }) => weightOfChange(tables) === 0);
  return (
    <>
      <p class="dim">What changed the most comes first.
        {Math.abs(answer.scale - 1) > 0.001 && ` Figures of the other time are multiplied by ${answer.scale.toPrecision(3)}: as if`
          + ' watched for as long.'}</p>
      <div class={chosen === '' ? 'cards' : undefined}>{changed.map(({ vital, tables }) => <Card key={vital.name}
        vital={vital} tables={tables} params={params} chosen={vital.name === chosen} />)}</div>
      {rest.length > 0 && chosen === '' && <details class="rest"><summary>{rest.length} vitals in which nothing changed
        for certain: {rest.map(({ vital }) => vital.name).join(', ')}</summary>
        <div class="cards">{rest.map(({ vital, tables }) => <Card key={vital.name} vital={vital} tables={tables}
          params={params} chosen={false} />)}</div></details>}
      {chosen !== '' && rest.map(({ vital, tables }) => <Card key={vital.name} vital={vital} tables={tables}
        params={params} chosen />)}
      <CoverageLine coverage={answer.coverage} name="this" />
      <CoverageLine coverage={answer.against_coverage} name="other" />
    </>
  );
}

export function CompareView(view: ViewProps) {
  const { route, range, world } = view;
  const { params } = route;
  const node = params.get('node') ?? '';
  const process = params.get('process') ?? '';
  const named = params.get('vital') ?? '';
  const vital = isKnownVital(named, world.vitals) ? named : '';
  const against = readAgainst(params, range);
  const selection = selectionOf(node, range);
  const other = selectionOf(against.node, against);
  const key = `${JSON.stringify([selection, other])} ${process} ${vital}`;
  const tables = useAnswer(`diff ${key}`, (signal) => ask('diff', {
    top: { selection, vital, process, limit: vital === '' ? kRows : kRowsChosen }, against: other }, signal));
  const flame = useAnswer(`flame diff ${key}`, async (signal) => vital === '' ? undefined
    : ask('flame', { stacks: { selection, vital, process }, against: other }, signal));
  return (
    <section class="selection">
      <div class="tools against">
        <span><b>this</b> {node || 'all nodes'}, <Span start={range.start_s} end={range.end_s} /></span>
        <span><b>other</b> {against.node || 'all nodes'}, <Span start={against.start_s} end={against.end_s} /></span>
        <AgainstControl {...view} against={against} />
        <Link to={address('/selection', params, { against: '', afrom: '', ato: '', anode: '' })}>without comparison</Link>
      </div>
      <VitalChips view="/compare" params={params} vitals={world.vitals} />
      {vital !== '' && <section>
        <h3>Flame graph of the difference <small>callers above what they call</small></h3>
        <Answered asked={flame}>{(answer) => answer === undefined ? null
          : <Flame answer={answer} params={params} />}</Answered>
      </section>}
      <Answered asked={tables}>{(answer) => <Tables route={route} world={world} answer={answer} />}</Answered>
    </section>
  );
}
