// All anomalies of a time, of one node or all; what each filter still has to learn before it can speak.
import { useMemo } from 'preact/hooks';
import { AnomalyList } from './anomaly_list';
import { ask } from './api';
import type { ViewProps } from './app';
import { selectionOf } from './against';
import { StillLearning } from './learning';
import { address, go } from './route';
import { Answered, Empty } from './states';
import { isKnownVital, UnknownVital } from './unknown_vital';
import { useAnswer } from './use_answer';

const kMost = 1000;

export function AnomaliesView({ route, range, world }: ViewProps) {
  const { params } = route;
  const node = params.get('node') ?? '';
  const named = params.get('vital') ?? '';
  const vital = isKnownVital(named, world.vitals) ? named : '';
  const newest = params.get('sort') !== 'heaviest';
  const answer = useAnswer(`anomalies ${node} ${vital} ${range.start_s} ${range.end_s}`, (signal) =>
    ask('anomalies', { selection: selectionOf(node, range), vital, limit: kMost }, signal));
  const vitals = useMemo(() => world.vitals.map(({ name }) => name), [world.vitals]);
  const to = (changes: Record<string, string>) => go(address('/anomalies', params, changes));
  return (
    <section>
      <div class="tools">
        <label>Node <select value={node} onChange={(event) => to({ node: event.currentTarget.value })}>
          <option value="">all</option>{world.nodes.map(({ name }) => <option value={name}>{name}</option>)}
        </select></label>
        <label>Vital <select value={vital} onChange={(event) => to({ vital: event.currentTarget.value })}>
          <option value="">all</option>{vitals.map((name) => <option value={name}>{name}</option>)}
        </select></label>
        <label>Sort <select value={newest ? '' : 'heaviest'}
          onChange={(event) => to({ sort: event.currentTarget.value })}>
          <option value="">newest first</option><option value="heaviest">heaviest first</option>
        </select></label>
      </div>
      <UnknownVital name={named} vitals={world.vitals} />
      <Answered asked={answer}>{(value) => <>
        <StillLearning learning={value.learning} />
        {value.anomalies.length === 0
          ? <Empty><h2>Nothing unusual was found in this time</h2>
            <p>Look further back with the time above, or at the values themselves in the fleet.</p></Empty>
          : <AnomalyList anomalies={value.anomalies} params={params} vitals={world.vitals} named most={kMost}
            order={newest ? 'newest' : 'heaviest'} />}
        {value.next_page !== '' && <p class="dim">More than {kMost} were found; narrow the time.</p>}
      </>}</Answered>
    </section>
  );
}
