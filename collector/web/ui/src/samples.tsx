// Single events that were kept, with all that is known of each.
import { useState } from 'preact/hooks';
import { ask } from './api';
import type { Peer, Sample, Selection } from './messages';
import { placeOf } from './names';
import { Stack } from './stack';
import { Answered } from './states';
import { Time } from './times';
import { amount, duration, percent } from './units';
import { useAnswer } from './use_answer';

const kFirst = 12;
const kMore = 50;

function PeerOf({ what, peer }: { what: string; peer: Peer | null | undefined }) {
  if (!peer || (peer.comm === '' && peer.pid === 0)) return null;
  return <div><dt>{what}</dt><dd>{peer.comm} {peer.pid > 0 && <span class="dim">{peer.pid}
    {peer.process_age_s > 0 && `, ${duration(peer.process_age_s)} old`}</span>}
    {peer.stack.length > 0 && <Stack kernel={peer.stack} user={[]} />}</dd></div>;
}

function SampleRow({ sample, several }: { sample: Sample; several: boolean }) {
  return (
    <details class="sample">
      <summary>
        <b class="n">{amount(sample.weight, sample.unit)}</b>
        <span>{sample.comm || sample.exe} <span class="dim">{placeOf(sample, several)}</span></span>
        <span class="dim">{sample.sub}{sample.open && <b class="warn"> still going on</b>}</span>
        <span class="dim"><Time at={sample.time_s} /></span>
      </summary>
      <dl class="details">
        <div><dt>program</dt><dd>{sample.exe}</dd></div>
        <div><dt>thread, user, CPU</dt><dd>{sample.tid}, {sample.user}, {sample.cpu}</dd></div>
        <div><dt>its code in the epoch</dt>
          <dd>between {amount(sample.low, sample.unit)} and {amount(sample.high, sample.unit)}
            {sample.watched_share > 0 && `, an estimate: watched ${percent(sample.watched_share)} of the time`}</dd></div>
        {[...sample.label, ...sample.detail].map((field) =>
          <div><dt>{field.name.replaceAll('_', ' ')}</dt><dd>{field.value}</dd></div>)}
        {sample.cgroup && <div><dt>cgroup</dt><dd>{sample.cgroup}</dd></div>}
        <PeerOf what="ran instead" peer={sample.ran_instead} />
        <PeerOf what="woken by" peer={sample.waker} />
        <PeerOf what="held by" peer={sample.holder} />
      </dl>
      <Stack kernel={sample.kernel_stack} user={sample.user_stack} kernelEnd={sample.kernel_stack_end}
        userEnd={sample.user_stack_end} />
    </details>
  );
}

// `several`: of more nodes than one.
export function SampleRows({ samples, several }: { samples: Sample[]; several: boolean }) {
  // Told apart, so that one that is opened stays open when newer ones come.
  return <>{samples.map((sample) => <SampleRow key={`${sample.node} ${sample.time_s} ${sample.pid} ${sample.tid}`}
    sample={sample} several={several} />)}</>;
}

export function Samples({ selection, vital, process }: { selection: Selection; vital: string; process: string }) {
  const [limit, setLimit] = useState(kFirst);
  const answer = useAnswer(`samples ${JSON.stringify(selection)} ${vital} ${process} ${limit}`,
    (signal) => ask('samples', { selection, vital, process, limit }, signal));
  return (
    <section>
      <h3>Samples <small>single events that were kept</small></h3>
      <Answered asked={answer}>{(value) => value.samples.length === 0
        ? <p class="dim">None of this vital was kept in this time.</p>
        : <><SampleRows samples={value.samples} several={selection.nodes?.length !== 1} />
          {value.next_page !== '' && <button type="button" onClick={() => setLimit(limit + kMore)}>more</button>}</>}
      </Answered>
    </section>
  );
}
