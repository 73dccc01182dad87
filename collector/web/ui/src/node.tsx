// One node: every vital over the same time, anomalies as marks. Drag zooms, a click explains the epoch under it, and
// "Explain" all that is on the screen.
import { useMemo } from 'preact/hooks';
import { AnomalyList } from './anomaly_list';
import { ask, askSeries } from './api';
import type { ViewProps } from './app';
import { CoverageLine } from './coverage_line';
import { Graph, Lines } from './graph';
import { graphData } from './graph_data';
import { useKeys } from './keys';
import { Link } from './link';
import type { Anomaly, Coverage, Node, Selection, Series, Vital } from './messages';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { useShownTheme } from './theme';
import { fixedParams, type TimeRange, withEdges } from './time_range';
import { Time } from './times';
import { plural } from './units';
import { useAnswer } from './use_answer';
import { useWidth } from './use_width';

const kMostAnomalies = 1000;

interface NodeAnswer {
  series: Series[];
  anomalies: Anomaly[];
  coverage: Coverage;
}

async function askNode(selection: Selection, drawn: Selection, split: string[], points: number,
                       signal: AbortSignal): Promise<NodeAnswer> {
  const totals = askSeries({ selection: drawn, vitals: [], max_points: points }, signal);
  const parts = split.length === 0 ? { series: [] }
    : askSeries({ selection: drawn, vitals: split, max_points: points }, signal);
  const [all, subs, anomalies, coverage] = await Promise.all([
    totals, parts, ask('anomalies', { selection, limit: kMostAnomalies }, signal),
    ask('coverage', { selection }, signal)]);
  return { series: [...all.series, ...subs.series], anomalies: anomalies.anomalies, coverage: coverage.coverage };
}

const kStates: Record<Node['state'], [string, string]> = {
  REPORTING: ['reporting', 'good'], SILENT: ['silent', 'bad'], STOPPED: ['stopped', 'dim'],
  NEVER: ['no epoch yet', 'warn'], CLONE_CONFLICT: ['two machines, one name', 'bad'],
  STATE_UNSPECIFIED: ['unknown', 'warn'],
};

function Facts({ node }: { node: Node }) {
  const [state, style] = kStates[node.state];
  return (
    <p class="facts">
      <b class={style}>{state}</b>
      {node.last_s > 0 && <span>last epoch <Time at={node.last_s} /></span>}
      {node.info && node.info.cpus_online > 0 && <span>
        {node.info.distribution} {node.info.kernel_release}, {plural(node.info.cpus_online, 'CPU')}</span>}
      {node.info?.labels.map((label) => <code>{label.key}={label.value}</code>)}
      {node.remarks.map((remark) => <span class="warn">{remark}</span>)}
    </p>
  );
}

// The epoch a moment lies in.
function epochAt(series: Series, at_s: number): [number, number] | undefined {
  for (let i = 0; i < series.start_s.length; ++i) {
    const start = series.start_s[i]!;
    const end = start + series.length_s[i]!;
    if (start <= at_s && at_s < end) return [start, end];
  }
  return undefined;
}

interface VitalProps extends ViewProps {
  vital: Vital;
  answer: NodeAnswer;
  width: number;
}

function VitalGraph({ vital, answer, range, route, world, width }: VitalProps) {
  const theme = useShownTheme();
  const split = (route.params.get('split') ?? '').split(',').filter((name) => name !== '');
  const open = split.includes(vital.name);
  const lines = answer.series.filter((series) => series.vital === vital.name && (series.sub !== '') === open);
  const now = world.nodes.find((node) => node.name === route.params.get('node'))?.info?.vitals
    .find((state) => state.id === vital.id)?.reason ?? '';
  // What is newer than the newest epoch is not yet known rather than unwatched.
  const end_s = Math.min(range.end_s, answer.coverage.data_end_s || range.end_s);
  const data = useMemo(() => lines.length > 0 ? graphData(lines, range.start_s, end_s) : undefined,
                       [answer, open, range]);
  if (data === undefined) {
    return <section class="vital off"><h3>{vital.name} <small>{vital.about}</small></h3>
      <p class="dim">Not counted on this node in this time{now && `; now: ${now}`}</p></section>;
  }
  const toggled = open ? split.filter((name) => name !== vital.name) : [...split, vital.name];
  const explain = (at_s: number) => {
    const epoch = epochAt(lines[0]!, at_s);
    if (epoch === undefined) return;
    go(address('/selection', route.params, { vital: vital.name, ...fixedParams(...epoch) }));
  };
  return (
    <section class="vital">
      <h3>{vital.name} <small>{vital.about}</small>{' '}
        {vital.subs.length > 1 && <Link class="quiet" to={address('/node', route.params, { split: toggled.join(',') })}>
          {open ? 'total' : 'by kind'}</Link>}
        {now !== '' && <small class="warn" title="The state of this vital at present">now: {now}</small>}
        {open && <Lines labels={data.labels} />}
      </h3>
      <Graph name={vital.name} data={data} start_s={range.start_s} end_s={range.end_s} width={width} theme={theme}
        anomalies={answer.anomalies.filter((found) => found.vital === vital.name)}
        zoom={(from, to) => go(address('/node', route.params, fixedParams(from, to)))} pick={explain} />
    </section>
  );
}

function splitSubs(vitals: Vital[], split: string): string[] {
  return vitals.filter((vital) => split.split(',').includes(vital.name))
    .flatMap((vital) => vital.subs.map((sub) => `${vital.name}/${sub.name}`));
}

function explainAll(route: ViewProps['route'], range: TimeRange): string {
  return address('/selection', route.params, { split: '', vital: '', ...fixedParams(range.start_s, range.end_s) });
}

export function NodeView({ route, range, world }: ViewProps) {
  const name = route.params.get('node') ?? '';
  const node = world.nodes.find((known) => known.name === name);
  const [width, measured] = useWidth();
  const split = route.params.get('split') ?? '';
  const subs = splitSubs(world.vitals, split);
  const points = Math.max(200, 2 * Math.ceil(width / 200) * 100);
  const selection = { nodes: [name], start_s: range.start_s, end_s: range.end_s };
  const answer = useAnswer(`node ${name} ${split} ${range.start_s} ${range.end_s} ${points} ${node !== undefined}`,
    (signal) => askNode(selection, { nodes: [name], ...withEdges(range) }, subs, points, signal));
  useKeys({ Enter: () => go(explainAll(route, range)) });
  if (node === undefined) {
    return <Empty><h2>No node “{name}”</h2><p><Link to={address('/', route.params, { node: '' })}>
      All {world.nodes.length} nodes</Link></p></Empty>;
  }
  return (
    <section>
      <div class="tools"><Facts node={node} />
        <Link class="main" to={explainAll(route, range)}>Explain this time ↵</Link></div>
      <p class="dim hint">Drag to zoom, click an epoch to explain it.</p>
      <div ref={measured}>
        <Answered asked={answer}>{(value) => <>
          <AnomalyList anomalies={value.anomalies} params={route.params} />
          <div class="graphs">{world.vitals.map((vital) => <VitalGraph key={vital.name} vital={vital} answer={value}
            route={route} range={range} world={world} width={width} />)}</div>
          <CoverageLine coverage={value.coverage} />
        </>}</Answered>
      </div>
    </section>
  );
}
