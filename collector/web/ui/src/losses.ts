// What was lost and why, in the words of the command line (collector/cli).
const kLosses: Record<string, string> = {
  tokens: 'samples refused by tokens',
  recursion: 'events inside the sensor itself',
  nested_add: 'adds hit by an interrupt',
  slot_evicted: 'stacks of wakers that others overwrote',
  ring_full: 'samples that found the ring full',
  stack_unreadable: 'stacks that could not be read',
  process_gone: 'processes gone before they were named',
  row_limit: "entries beyond a table's limit",
  duty: "events not looked at, to stay within the agent's budget",
  map_full: 'entries a full kernel map refused',
  too_old: 'records of an epoch already cut',
  byte_limit: 'entries cut to fit the size limit',
  stack_copy: 'user stacks that found no room to be copied',
  cut_failed: 'events of an earlier epoch whose cut failed',
  not_journalled: "seconds since the crash journal's last append",
};

// What is the matter with frames of an outcome; empty: they have names.
const kNameless: Record<string, string> = {
  named: '',
  generated: '',
  no_symbol: 'in stripped files',
  damaged: 'in files whose symbols are damaged',
  limit: 'in files with more symbols than the agent reads',
  no_file: 'in files gone or replaced since',
  gone: 'of processes gone before they were asked',
  no_perf_map: 'in generated code without a perf map',
  not_in_perf_map: 'in generated code that its perf map does not list',
  perf_map_refused: "in generated code whose perf map is another user's",
  no_answer: 'in files on file systems that do not answer',
};
const kMatters = 0.1;  // of user frames, without a name
const kShown = 0.01;

export function lossText(reason: string, events: number): string {
  const count = Math.round(events).toLocaleString('en');
  const text = kLosses[reason];
  if (text === undefined) return `${count} by ${reason.replaceAll('_', ' ')}`;
  return `${count} ${count === '1' ? text.replace(/^\w+/, singular) : text}`;
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word === 'processes' ? 'process' : word.slice(0, -1);
}

// "31 % of user frames have no name: 30 % in stripped files, 1 % ..."; empty: too few to matter.
export function namelessText(counts: { outcome: string; frames: number }[], percent: (share: number) => string): string {
  const all = counts.reduce((sum, { frames }) => sum + frames, 0);
  const nameless = counts.filter(({ outcome }) => kNameless[outcome] !== '').sort((a, b) => b.frames - a.frames);
  const share = nameless.reduce((sum, { frames }) => sum + frames, 0) / all;
  if (!(share > kMatters)) return '';
  const parts = nameless.filter(({ frames }) => frames >= kShown * all).map(({ outcome, frames }) =>
    `${percent(frames / all)} ${kNameless[outcome] ?? `by ${outcome.replaceAll('_', ' ')}`}`);
  return `${percent(share)} of user frames have no name: ${parts.join(', ')}`;
}
