// One or more series of a node as the columns a graph draws: steps over common moments, null where nothing was
// watched, and the stretches to hatch.
import type { Series } from './messages';

export interface Stretch {
  start_s: number;
  end_s: number;
}

export interface GraphData {
  labels: string[];
  columns: (number | null)[][];  // [0]: moments
  unwatched: Stretch[];
  thin: Stretch[];               // watched for less than kThin of the time
  unit: string;
}

const kThin = 0.9;
const kMoment_s = 0.001;
const kSlack_s = 0.5;  // epochs do not end on the second they should

// Where the first series has no value within [start_s, end_s).
function unwatchedOf(series: Series, start_s: number, end_s: number): Stretch[] {
  const found: Stretch[] = [];
  let until = start_s;
  for (let i = 0; i < series.start_s.length; ++i) {
    if (series.watched[i] === 0) continue;
    const from = series.start_s[i]!;
    if (from > until + kSlack_s) found.push({ start_s: until, end_s: from });
    until = Math.max(until, from + series.length_s[i]!);
  }
  if (end_s > until + kSlack_s) found.push({ start_s: until, end_s });
  return found;
}

function thinOf(series: Series): Stretch[] {
  const found: Stretch[] = [];
  series.watched.forEach((watched, i) => {
    if (watched === 0 || watched >= kThin) return;
    const start_s = series.start_s[i]!;
    found.push({ start_s, end_s: start_s + series.length_s[i]! });
  });
  return found;
}

export function graphData(all: Series[], start_s: number, end_s: number): GraphData {
  const first = all[0]!;
  const moments = new Set<number>();
  const steps = all.map((series) => {
    const at = new Map<number, number | null>();
    series.start_s.forEach((from, i) => {
      const value = series.watched[i] === 0 ? null : series.rate[i]!;
      at.set(from, value);
      const until = from + series.length_s[i]!;
      const next = series.start_s[i + 1];
      // A step lasts to the next one; with none close by it ends here. Its value is said again just before, because a
      // step is only drawn up to another value.
      if (next === undefined || next > until + kSlack_s) {
        at.set(until - kMoment_s, value);
        at.set(until, null);
      }
    });
    at.forEach((_, moment) => moments.add(moment));
    return at;
  });
  const x = [...moments].sort((a, b) => a - b);
  const columns: (number | null)[][] = [x];
  for (const at of steps) {
    // A moment only others have lies within this one's step: its value goes on.
    let value: number | null = null;
    columns.push(x.map((moment) => (value = at.has(moment) ? at.get(moment)! : value)));
  }
  return {
    labels: all.map((series) => series.sub || series.vital), columns,
    unwatched: unwatchedOf(first, start_s, end_s), thin: thinOf(first), unit: first.unit,
  };
}
