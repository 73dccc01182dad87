// The graph of one vital of a node, or of several over each other.
import { useMemo } from 'preact/hooks';
import type { ViewProps } from './app';
import { Graph, Lines } from './graph';
import { graphData, kBacklog, normalised, wholeStepAt } from './graph_data';
import { Link } from './link';
import type { DiscreteEvent, Vital } from './messages';
import { listOf, toggled, type NodeAnswer } from './node_answer';
import { address, go } from './route';
import { useShownTheme } from './theme';
import { fixedParams } from './time_range';

export interface GraphProps extends ViewProps {
  answer: NodeAnswer;
  events: DiscreteEvent[];
  width: number;
}

// What is newer than the newest epoch is not yet known rather than unwatched.
function knownUntil({ range, answer }: GraphProps): number {
  return Math.min(range.end_s, answer.coverage.data_end_s || range.end_s);
}

function Unwatched({ vital, now }: { vital: Vital; now: string }) {
  return <section class="vital off"><h3>{vital.name} <small>{vital.about}</small></h3>
    <p class="dim">Not counted on this node in this time{now && `; now: ${now}`}</p></section>;
}

export function VitalGraph(props: GraphProps & { vital: Vital }) {
  const { vital, answer, events, range, route, world, width } = props;
  const theme = useShownTheme();
  const split = listOf(route.params, 'split');
  const overlay = listOf(route.params, 'overlay');
  const backlogs = listOf(route.params, kBacklog);
  const open = split.includes(vital.name);
  const mine = answer.series.filter((series) => series.vital === vital.name);
  const all = mine.filter((series) => series.process === undefined);
  const lines = [...all.filter((series) => series.sub !== kBacklog && (series.sub !== '') === open),
                 ...mine.filter((series) => series.process !== undefined),
                 ...all.filter((series) => series.sub === kBacklog)];
  const now = world.nodes.find((node) => node.name === route.params.get('node'))?.info?.vitals
    .find((state) => state.id === vital.id)?.reason ?? '';
  const anomalies = useMemo(() => answer.anomalies.filter((found) => found.vital === vital.name), [answer]);
  const data = useMemo(() => lines.length > 0 ? graphData(lines, range.start_s, knownUntil(props)) : undefined,
                       [answer, open, range]);
  if (data === undefined) return <Unwatched vital={vital} now={now} />;
  const choice = (name: string, list: string[], off: string, on: string, title: string) => (
    <Link class="quiet" title={title} to={address('/node', route.params, { [name]: toggled(list, vital.name) })}>
      {list.includes(vital.name) ? on : off}</Link>);
  const explain = (at_s: number) => {
    const step = wholeStepAt(answer.epochs, lines[0]!, at_s);
    if (step !== undefined) go(address('/selection', route.params, { vital: vital.name, ...fixedParams(...step) }));
  };
  return (
    <section class="vital">
      <h3>{vital.name} <small>{vital.about}</small>
        {vital.subs.length > 1 && choice('split', split, 'by kind', 'total', 'What it is made of')}
        {vital.has_backlog && choice(kBacklog, backlogs, 'backlog', 'no backlog', 'How many wait at once')}
        {choice('overlay', overlay, 'overlay', 'no overlay', 'Over others, each as a part of its highest value')}
        {now !== '' && <small class="warn" title="The state of this vital at present">now: {now}</small>}
        {data.lines.length > 1 && <Lines lines={data.lines} />}
      </h3>
      <Graph name={vital.name} data={data} start_s={range.start_s} end_s={range.end_s} width={width} theme={theme}
        room={listOf(route.params, kBacklog).length > 0}
        anomalies={anomalies} events={events}
        zoom={(from, to) => go(address('/node', route.params, fixedParams(from, to)))} pick={explain} />
    </section>
  );
}

export function Overlay(props: GraphProps & { names: string[] }) {
  const { names, answer, events, range, route, width } = props;
  const theme = useShownTheme();
  const lines = names.flatMap((name) =>
    answer.series.filter((series) => series.vital === name && series.sub === '').slice(0, 1));
  const anomalies = useMemo(() => answer.anomalies.filter((found) => names.includes(found.vital)),
                            [answer, names.join()]);
  const data = useMemo(() => lines.length > 0
    ? normalised(graphData(lines, range.start_s, knownUntil(props))) : undefined, [answer, names.join(), range]);
  if (data === undefined) return null;
  const explain = (at_s: number) => {
    const step = wholeStepAt(answer.epochs, lines[0]!, at_s);
    if (step !== undefined) go(address('/selection', route.params, { vital: '', ...fixedParams(...step) }));
  };
  return (
    <section class="vital overlaid">
      <h3>overlay <small>each as a part of its highest value</small>
        <Link class="quiet" to={address('/node', route.params, { overlay: '' })}>none</Link>
        <Lines lines={data.lines} /></h3>
      <Graph name="overlay" data={data} start_s={range.start_s} end_s={range.end_s} width={width} theme={theme}
        room={listOf(route.params, kBacklog).length > 0}
        anomalies={anomalies} events={events}
        zoom={(from, to) => go(address('/node', route.params, fixedParams(from, to)))} pick={explain} />
    </section>
  );
}
