// One node: every vital over the same time, with anomalies and events as marks. Drag zooms, a click explains the step
// under it, and "Explain" all that is on the screen.
import { AnomalyList, OlderLeftOut } from './anomaly_list';
import { selectionOf } from './against';
import type { ViewProps } from './app';
import { CoverageLine } from './coverage_line';
import { EventList } from './event_list';
import { askEvents } from './events';
import { kBacklog } from './graph_data';
import { useKeys } from './keys';
import { StillLearning } from './learning';
import { Link } from './link';
import type { DiscreteEvent, Node } from './messages';
import { NowStrip } from './now_strip';
import { askNode, kSteps, listOf, subsOf } from './node_answer';
import { address, go } from './route';
import { Answered, Empty, unreached } from './states';
import { fixedParams, type TimeRange } from './time_range';
import { Time } from './times';
import { percent, plural } from './units';
import { useAnswer } from './use_answer';
import { useWidth } from './use_width';
import { Overlay, VitalGraph } from './vital_graph';

const kNone: DiscreteEvent[] = [];

const kStates: Record<Node['state'], [string, string]> = {
  REPORTING: ['reporting', 'good'], SILENT: ['silent', 'bad'], STOPPED: ['stopped', 'dim'],
  NEVER: ['no epoch yet', 'warn'], CLONE_CONFLICT: ['two machines, one name', 'bad'],
  STATE_UNSPECIFIED: ['unknown', 'warn'],
};

function overBudget(node: Node): boolean {
  return node.agent_limit > 0 && node.agent_cost > node.agent_limit;
}

function Facts({ node, unreachable }: { node: Node; unreachable: boolean }) {
  const [state, style] = unreachable ? [`was ${kStates[node.state][0]}`, 'dim'] : kStates[node.state];
  return (
    <p class="facts">
      <b class={style}>{state}</b>
      {node.last_s > 0 && <span>last epoch <Time at={node.last_s} /></span>}
      {node.info && node.info.cpus_online > 0 && <span>
        {node.info.distribution} {node.info.kernel_release}, {plural(node.info.cpus_online, 'CPU')}</span>}
      {node.agent_cost > 0 && <span class={overBudget(node) ? 'warn' : ''}>
        agent {percent(node.agent_cost)} of the host</span>}
      {node.info?.labels.map((label) => <code>{label.key}={label.value}</code>)}
      {node.remarks.map((remark) => <span class="warn">{remark}</span>)}
    </p>
  );
}

function explainAll(route: ViewProps['route'], range: TimeRange): string {
  return address('/selection', route.params, { split: '', vital: '', ...fixedParams(range.start_s, range.end_s) });
}

export function NodeView({ route, range, world, feed, unreachable }: ViewProps) {
  const { params } = route;
  const name = params.get('node') ?? '';
  const node = world.nodes.find((known) => known.name === name);
  const [width, measured] = useWidth();
  const split = listOf(params, 'split');
  const backlogs = listOf(params, kBacklog).filter((vital) =>
    world.vitals.some((known) => known.name === vital && known.has_backlog));
  const overlay = listOf(params, 'overlay');
  const step = params.get('step') ?? '';
  const process = params.get('process') ?? '';
  const drawn: TimeRange = { start_s: range.start_s, end_s: range.end_s };  // however it was chosen
  const question = { node: name, range: drawn, step, subs: subsOf(world.vitals, split), backlogs, process };
  const answer = useAnswer(`node ${JSON.stringify(question)} ${node !== undefined}`,
    (signal) => askNode(question, signal));
  const events = useAnswer(`events ${name} ${range.start_s} ${range.end_s}`,
    (signal) => askEvents(selectionOf(name, range), signal));
  useKeys({ Enter: () => go(explainAll(route, range)) });
  if (node === undefined) {
    return <Empty><h2>No node “{name}”</h2><p><Link to={address('/', params, { node: '' })}>
      {world.nodes.length === 1 ? 'The only node' : `All ${world.nodes.length} nodes`}</Link></p></Empty>;
  }
  return (
    <section aria-busy={events.loading}>
      <div class="tools"><Facts node={node} unreachable={unreachable} />
        <label>Step <select value={step}
          onChange={(event) => go(address('/node', params, { step: event.currentTarget.value }))}>
          {kSteps.map((known) => <option value={known.name}>{known.label}</option>)}
        </select></label>
        <Link class="main" to={explainAll(route, range)}>Explain this time ↵</Link></div>
      {range.last_s !== undefined && <NowStrip feed={feed} vitals={world.vitals} node={node} params={params} />}
      {process !== '' && <p class="chips">Totals, and of them <Link class="only" title="Totals alone"
        to={address('/node', params, { process: '' })}>{process} ✕</Link></p>}
      <p class="dim hint">Drag to zoom, Shift and drag to pan, click an epoch to explain it.</p>
      <div ref={measured}>
        <Answered asked={answer}>{(value) => {
          const shared = { route, range, world, feed, unreachable, width, answer: value, events: events.value?.events ?? kNone };
          return <>
            {value.withoutProcess !== '' && <p class="warn">Totals alone: {value.withoutProcess}</p>}
            <StillLearning learning={value.learning} />
            <OlderLeftOut found={value} />
            <AnomalyList anomalies={value.anomalies} params={params} vitals={world.vitals} />
            {events.value !== undefined && <EventList found={events.value} params={params} />}
            {events.problem !== undefined && !unreached(events) && <p class="warn">Events are not shown: {String(events.problem)}</p>}
            {value.series.length === 0 && <Empty><h2>Nothing is kept of this time in these steps</h2>
              <p>{step === '' ? value.coverage.notes.join('; ')
                : <Link to={address('/node', params, { step: '' })}>Let the collector choose the step</Link>}</p></Empty>}
            {value.series.length > 0 && <div class="graphs">
              {overlay.length > 0 && <Overlay {...shared} names={overlay} />}
              {world.vitals.map((vital) => <VitalGraph key={vital.name} {...shared} vital={vital} />)}
            </div>}
            <CoverageLine coverage={value.coverage} />
          </>;
        }}</Answered>
      </div>
    </section>
  );
}
