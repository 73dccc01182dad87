// All nodes at a glance: node x time, by one vital or by anomalies.
import { useMemo } from 'preact/hooks';
import { AnomalyList, completeFrom, OlderLeftOut } from './anomaly_list';
import { ask, askSeries } from './api';
import type { ViewProps } from './app';
import { groupsOf, labelKeys, labelOf } from './groups';
import { StillLearning, unjudgedUntil } from './learning';
import { heatGrid, ordered, rowPeaks } from './heat_grid';
import { HeatLegend } from './heat_legend';
import { HeatMap } from './heat_map';
import { scaleTop } from './heat_scale';
import type { Anomaly, Learning, Node, Selection, Series } from './messages';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { useShownTheme } from './theme';
import { fixedParams, withEdges } from './time_range';
import { isKnownVital, kAnomalies, UnknownVital } from './unknown_vital';
import { useAnswer } from './use_answer';
import { digits, plural, rate } from './units';

const kColumns = 180;
const kMostAnomalies = 1000;
const kAround_s = 600;  // the node opens on at least this much time about a cell

interface FleetAnswer {
  series: Series[];
  anomalies: Anomaly[];
  next_page: string;  // of anomalies
  learning: Learning[];
}

async function askFleet(selection: Selection, drawn: Selection, vital: string,
                        signal: AbortSignal): Promise<FleetAnswer> {
  const [{ series }, { anomalies, next_page, learning }] = await Promise.all([
    askSeries({ selection: drawn, vitals: [vital], per_node: true, max_points: 2 * kColumns }, signal),
    ask('anomalies', { selection, limit: kMostAnomalies }, signal)]);
  return { series, anomalies, next_page, learning };
}

// Words that name a part of the node's name or a label, all of them.
function matches(node: Node, filter: string): boolean {
  const labels = (node.info?.labels ?? []).map((label) => `${label.key}=${label.value}`);
  return filter.toLowerCase().split(/\s+/).every((word) =>
    word === '' || [node.name, ...labels].some((text) => text.toLowerCase().includes(word)));
}

// Not every filter tells it in usual deviations.
function severityText(value: number): string {
  return value === 0 ? 'nothing found' : `severity ${digits(value)}`;
}

function blankText(bySeverity: boolean, olderLeftOut: boolean): string {
  if (!bySeverity) return 'not watched';
  return olderLeftOut ? 'not watched, not judged yet, or before the anomalies shown' : 'not watched, or not judged yet';
}

export function Fleet({ route, range, world }: ViewProps) {
  const theme = useShownTheme();
  const named = route.params.get('vital') ?? 'cpu';
  const known = named === kAnomalies || isKnownVital(named, world.vitals);
  const vital = known ? named : 'cpu';
  const filter = route.params.get('filter') ?? '';
  const group = route.params.get('group') ?? '';
  const keys = useMemo(() => labelKeys(world.nodes), [world.nodes]);
  const byName = route.params.get('sort') === 'name';
  const bySeverity = vital === kAnomalies;
  // A vital, "cpu/user" included, is asked as it is; anomalies need only to know what was watched.
  const asked = bySeverity ? 'cpu' : vital;
  const selection = { start_s: range.start_s, end_s: range.end_s };
  const answer = useAnswer(`fleet ${asked} ${range.start_s} ${range.end_s}`, (signal) =>
    askFleet(selection, withEdges(range), asked, signal));
  const nodes = useMemo(() => world.nodes.filter((node) => matches(node, filter)).map((node) => node.name),
                        [world.nodes, filter]);
  const groupOf = useMemo(() => new Map(world.nodes.map((node) => [node.name, labelOf(node, group)])),
                          [world.nodes, group]);
  const grid = useMemo(() => {
    if (answer.value === undefined) return undefined;
    const shown = bySeverity ? answer.value.anomalies
      : answer.value.anomalies.filter((found) => found.vital === vital.split('/')[0]);
    const made = heatGrid({ nodes, ...selection, columns: kColumns, series: answer.value.series, anomalies: shown,
                            bySeverity, complete_s: completeFrom(answer.value),
                            unjudged: unjudgedUntil(answer.value.learning, world.nodes) });
    const peaks = rowPeaks(made);
    const order = nodes.map((_, row) => row);
    const grouped = (row: number) => groupOf.get(nodes[row]!) ?? '';
    order.sort((a, b) => grouped(a).localeCompare(grouped(b)) || (byName ? 0 : peaks[b]! - peaks[a]!)
      || nodes[a]!.localeCompare(nodes[b]!));
    return ordered(made, order);
  }, [answer.value, nodes, groupOf, vital, byName]);
  const to = (changes: Record<string, string>, replace = false) =>
    go(address('/', route.params, changes), replace);
  const text = (value: number) => bySeverity ? severityText(value) : rate(value, grid?.unit ?? '', vital);
  const open = (node: string, start: number, end: number) => {
    const wider = Math.max(0, kAround_s - (end - start)) / 2;
    go(address('/node', route.params, { node, ...fixedParams(start - wider, end + wider) }));
  };
  return (
    <section>
      <div class="tools">
        <label>Show <select value={vital} onChange={(event) => to({ vital: event.currentTarget.value })}>
          <option value={kAnomalies}>anomalies</option>
          {world.vitals.map(({ name, about, subs }) => (
            <optgroup label={about}>
              <option value={name}>{name}</option>
              {subs.length > 1 && subs.map((sub) => <option value={`${name}/${sub.name}`}>{name}/{sub.name}</option>)}
            </optgroup>))}
        </select></label>
        <label>Sort <select value={byName ? 'name' : ''} onChange={(event) => to({ sort: event.currentTarget.value })}>
          <option value="">highest first</option><option value="name">name</option>
        </select></label>
        {keys.length > 0 && <label>Group <select value={group}
          onChange={(event) => to({ group: event.currentTarget.value })}>
          <option value="">not</option>{keys.map((key) => <option value={key}>by {key}</option>)}
        </select></label>}
        <input type="search" placeholder="Filter by name or label, e.g. role=db (/)" aria-label="Filter nodes"
          value={filter} onInput={(event) => to({ filter: event.currentTarget.value }, true)} />
        <span class="dim">{nodes.length < world.nodes.length ? `${nodes.length} of ` : ''}
          {plural(world.nodes.length, 'node')}, {world.status.nodes_reporting} reporting</span>
      </div>
      {!known && <UnknownVital name={named} vitals={world.vitals} />}
      <Answered asked={answer}>{() => grid === undefined || nodes.length === 0
        ? <Empty><p>No node matches “{filter}”.</p></Empty>
        : <>
          <OlderLeftOut found={answer.value!} />
          <HeatLegend top={scaleTop(grid.values)} theme={theme} text={text} bySeverity={bySeverity} />
          <HeatMap grid={grid} top={scaleTop(grid.values)} theme={theme} text={text} open={open}
            groups={group === '' ? [] : groupsOf(grid.nodes, groupOf)}
            blank={blankText(bySeverity, completeFrom(answer.value!) !== undefined)}
            linkOf={(node) => address('/node', route.params, { node })} />
          <StillLearning learning={answer.value!.learning.filter(({ node }) => nodes.includes(node))} />
          <AnomalyList anomalies={answer.value!.anomalies.filter((found) => nodes.includes(found.node))}
            params={route.params} vitals={world.vitals} named />
        </>}
      </Answered>
    </section>
  );
}
