// One vital of a selection in full: flame graph, histograms, samples.
import { useMemo } from 'preact/hooks';
import { ask } from './api';
import { Download } from './download';
import { FlameGraph } from './flame_graph';
import { flameTree } from './flame_tree';
import { Histogram } from './histogram';
import type { FlameAnswer, Selection } from './messages';
import { address } from './route';
import { Samples } from './samples';
import { Answered } from './states';
import { useShownTheme } from './theme';
import { percent } from './units';
import { useAnswer } from './use_answer';

// Which histograms belong to a vital: the part of their name before the slash.
const kLayers: Record<string, string> = { blocking: 'block', disk_io: 'disk', sched_delay: 'runqueue', lock: 'lock' };

interface Props {
  selection: Selection;
  vital: string;
  process: string;
  params: URLSearchParams;
}

function Flame({ answer, params }: { answer: FlameAnswer; params: URLSearchParams }) {
  const theme = useShownTheme();
  const root = useMemo(() => flameTree(answer), [answer]);
  if (root.value === 0) return <p class="dim">No stacks of this vital in this time.</p>;
  return (
    <>
      <p class="dim">From samples: shows {percent(Math.min(1, root.value / answer.total))} of the total.</p>
      <FlameGraph root={root} unit={answer.unit} theme={theme}
        across={(frame) => address('/selection', params, { frame })} />
    </>
  );
}

function Histograms({ selection, layer }: { selection: Selection; layer: string }) {
  const answer = useAnswer(`histogram ${JSON.stringify(selection)}`,
    (signal) => ask('histogram', { selection }, signal));
  return (
    <section>
      <h3>How long <small>of all events, whatever program</small></h3>
      <Answered asked={answer}>{(value) => {
        const shown = value.histograms.filter((values) =>
          values.name.startsWith(`${layer}/`) && values.count.length > 0);
        return shown.length === 0 ? <p class="dim">No histogram in this time.</p>
          : <div class="histograms">{shown.map((values) => <Histogram values={values} />)}</div>;
      }}</Answered>
    </section>
  );
}

export function VitalDetail({ selection, vital, process, params }: Props) {
  const flame = useAnswer(`flame ${JSON.stringify(selection)} ${vital} ${process}`,
    (signal) => ask('flame', { stacks: { selection, vital, process } }, signal));
  const layer = kLayers[vital.split('/')[0]!];
  return (
    <>
      <section>
        <h3>Flame graph <small>callers above what they call</small>
          <Download answer="stacks" formats={['svg', 'folded', 'pprof', 'csv']} selection={selection} vital={vital}
            process={process} /></h3>
        <Answered asked={flame}>{(value) => <Flame answer={value} params={params} />}</Answered>
      </section>
      {layer !== undefined && <Histograms selection={selection} layer={layer} />}
      <Samples selection={selection} vital={vital} process={process} />
    </>
  );
}
