// The host itself over a time: memory with swap, pressure, load, processors.
import { useState } from 'preact/hooks';
import { ask } from './api';
import { CoverageLine } from './coverage_line';
import type { HostLevel, HostLevels, Selection } from './messages';
import { Answered } from './states';
import { dateText, Time } from './times';
import { amount, cell, percent, plural } from './units';
import { useAnswer } from './use_answer';

function text(value: number, unit: string): string {
  return unit === 'share' ? percent(value) : cell(value, unit === 'bytes' ? unit : '');
}

const kAtOnce_s = 86_400;  // every epoch is read: beyond a day only for who asks

// Of one day the clock is enough beside the value; the whole moment is in its title.
function Extreme({ value, at, level }: { value: number; at: number; level: HostLevel }) {
  const oneDay = dateText(level.low_s) === dateText(level.high_s);
  return (
    <td class="n tight">{text(value, level.unit)}
      {level.low !== level.high && <small class="dim"> <Time at={at} short={oneDay} /></small>}</td>
  );
}

function Levels({ host }: { host: HostLevels }) {
  return (
    <table class="rows">
      <thead>
        <tr><th /><th class="n">lowest</th><th class="n">mean</th><th class="n">highest</th><th class="n">last</th></tr>
      </thead>
      <tbody>{host.levels.map((level) => (
        <tr><td>{level.name}</td>
          <Extreme value={level.low} at={level.low_s} level={level} />
          <td class="n tight">{text(level.mean, level.unit)}</td>
          <Extreme value={level.high} at={level.high_s} level={level} />
          <td class="n tight">{text(level.last, level.unit)}</td></tr>))}
      </tbody>
    </table>
  );
}

// What an allocation of so many pages in a row could still take.
function FreeBlocks({ host }: { host: HostLevels }) {
  if (host.free_blocks.length === 0) return null;
  return (
    <details class="rest">
      <summary>Free blocks of pages when the least memory was available, <Time at={host.tightest_s} short /></summary>
      <table class="rows"><thead><tr><th>pages in a row</th>
        {host.free_blocks.map((_, order) => <th class="n">{cell(2 ** order, '')}</th>)}</tr></thead>
        <tbody><tr><td>free</td>{host.free_blocks.map((blocks) => <td class="n">{cell(blocks, '')}</td>)}</tr></tbody>
      </table>
    </details>
  );
}

function sizeOf(host: HostLevels): string {
  const cpus = host.cpus > 0 ? `${plural(host.cpus, 'CPU')}, ` : '';
  if (host.memory_bytes === 0) return `${cpus}memory not known`;
  const swap = host.swap_bytes > 0 ? `${amount(host.swap_bytes, 'bytes')} of swap` : 'no swap';
  return `${cpus}${amount(host.memory_bytes, 'bytes')} of memory, ${swap}`;
}

function Asked({ selection }: { selection: Selection }) {
  const answer = useAnswer(`host ${JSON.stringify(selection)}`,
    (signal) => ask('host', { selection, limit: 1 }, signal));
  return (
    <Answered asked={answer}>{({ hosts: [host], coverage }) => host === undefined
      ? <><h3>host</h3><p class="dim">No levels in this time: they are kept with epochs, not in windows.</p></>
      : <>
        <h3>host <small>{sizeOf(host)}</small></h3>
        <Levels host={host} />
        <FreeBlocks host={host} />
        <CoverageLine coverage={coverage} />
      </>}</Answered>
  );
}

export function HostCard({ selection }: { selection: Selection }) {
  const seconds = selection.end_s - selection.start_s;
  const [agreed_s, agree] = useState(kAtOnce_s);  // a longer time is asked about once
  return (
    <section class="card host">
      {seconds <= agreed_s ? <Asked selection={selection} />
        : <><h3>host</h3><button type="button" onClick={() => agree(seconds)}>Memory, pressure, load: read every epoch
          of this time</button></>}
    </section>
  );
}
