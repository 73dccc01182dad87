// What a selection is compared with: in the address against=before (the default), day or week, or afrom= and ato=;
// anode= where it is another node.
import type { Selection } from './messages';
import type { TimeRange } from './time_range';

const kDay_s = 86400;

export const kAgainst: { name: string; label: string; shift_s: (range: TimeRange) => number }[] = [
  { name: 'before', label: 'the time just before', shift_s: (range) => range.end_s - range.start_s },
  { name: 'day', label: 'the same time a day before', shift_s: () => kDay_s },
  { name: 'week', label: 'the same time a week before', shift_s: () => 7 * kDay_s },
  { name: 'same', label: 'the same time', shift_s: () => 0 },
];

export const kChosen = 'chosen';

export interface Against {
  name: string;  // of kAgainst, or kChosen
  node: string;  // empty: all
  start_s: number;
  end_s: number;
}

export function readAgainst(params: URLSearchParams, range: TimeRange): Against {
  const node = params.get('anode') ?? params.get('node') ?? '';
  const from = Number(params.get('afrom') ?? NaN);
  const to = Number(params.get('ato') ?? NaN);
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) {
    return { name: kChosen, node, start_s: from, end_s: to };
  }
  const known = kAgainst.find(({ name }) => name === params.get('against')) ?? kAgainst[0]!;
  const shift = known.shift_s(range);
  return { name: known.name, node, start_s: range.start_s - shift, end_s: range.end_s - shift };
}

export function selectionOf(node: string, times: { start_s: number; end_s: number }): Selection {
  return { nodes: node === '' ? [] : [node], start_s: times.start_s, end_s: times.end_s };
}
