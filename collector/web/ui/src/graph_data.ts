// One or more series of a node as the columns a graph draws: steps over common moments, null where nothing was
// watched, and the stretches to hatch.
import type { Series } from './messages';

export interface Stretch {
  start_s: number;
  end_s: number;
}

export interface Line {
  label: string;
  vital: string;
  unit: string;
  whole: number;     // the column holds values as parts of this: 1, or in an overlay the highest
  backlog: boolean;  // how many wait, on a scale of its own
  between?: (number | null)[][];  // of a process: the two figures a value lies between, as columns
}

export interface GraphData {
  lines: Line[];
  columns: (number | null)[][];  // [0]: moments, then one of each line
  unwatched: Stretch[];
  thin: Stretch[];               // watched for less than kThin of the time
  length_s: number;              // of the longest step
}

export const kBacklog = 'backlog';
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

type Steps = Map<number, number | null>;

function stepsOf(series: Series, values: Float64Array): Steps {
  const at: Steps = new Map();
  series.start_s.forEach((from, i) => {
    const value = series.watched[i] === 0 ? null : values[i]!;
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
  return at;
}

// A moment only others have lies within this one's step: its value goes on.
function columnOf(at: Steps, moments: number[]): (number | null)[] {
  let value: number | null = null;
  return moments.map((moment) => (value = at.has(moment) ? at.get(moment)! : value));
}

function labelOf({ process, sub, vital }: Series): string {
  if (process === undefined) return sub || vital;
  return /^\d+$/.test(process) ? `pid ${process}` : process;
}

export function graphData(all: Series[], start_s: number, end_s: number): GraphData {
  const first = all[0]!;
  const moments = new Set<number>();
  const steps = all.map((series) => {
    const at = stepsOf(series, series.rate);
    at.forEach((_, moment) => moments.add(moment));
    return at;
  });
  const x = [...moments].sort((a, b) => a - b);
  const columns: (number | null)[][] = [x, ...steps.map((at) => columnOf(at, x))];
  const betweenOf = (series: Series) => series.process === undefined ? undefined
    : [series.low, series.high].map((values) => columnOf(stepsOf(series, values), x));
  return {
    lines: all.map((series) => ({ label: labelOf(series), vital: series.vital, unit: series.unit, whole: 1,
                                  backlog: series.sub === kBacklog, between: betweenOf(series) })),
    columns, unwatched: unwatchedOf(first, start_s, end_s), thin: thinOf(first),
    length_s: first.length_s.reduce((most, length) => Math.max(most, length), 0),
  };
}

// Seconds of what was watched and did not happen: an answer by seconds may leave out an epoch that had none of a vital.
// `epochs` are the same series by epochs, which say that it was watched and came to nothing.
export function withZeroSeconds(seconds: Series[], epochs: Series[]): Series[] {
  const same = (a: Series, b: Series) => a.vital === b.vital && a.sub === b.sub && a.node === b.node;
  const told = [...new Set(seconds.flatMap(({ start_s }) => [...start_s]))].sort((a, b) => a - b);
  const filled = (whole: Series): Series | undefined => {
    const known = seconds.find((series) => same(series, whole));
    const points = new Map<number, [number, number, number]>();  // start: length, rate, watched
    known?.start_s.forEach((at, i) => points.set(at, [known.length_s[i]!, known.rate[i]!, known.watched[i]!]));
    whole.start_s.forEach((from, i) => {
      const until = from + whole.length_s[i]!;
      if (whole.watched[i] === 0 || whole.rate[i] !== 0) return;
      const within = (at: number) => at > from - kSlack_s && at < until - kSlack_s;
      if ([...points.keys()].some(within)) return;
      const others = told.filter(within);  // on the steps of the others, so that what lies over each other is the same time
      const steps = others.length > 0 ? others
        : Array.from({ length: Math.max(1, Math.round(until - from)) }, (_, second) => from + second);
      for (const at of steps) points.set(at, [1, 0, whole.watched[i]!]);
    });
    if (points.size === 0) return undefined;
    const sorted = [...points].sort(([a], [b]) => a - b);
    const column = (of: (point: [number, [number, number, number]]) => number) => Float64Array.from(sorted.map(of));
    return { ...(known ?? whole), start_s: column(([at]) => at), length_s: column(([, [length]]) => length),
             rate: column(([, [, rate]]) => rate), watched: column(([, [, , watched]]) => watched) };
  };
  const all = epochs.map(filled).filter((series) => series !== undefined);
  return [...all, ...seconds.filter((series) => !all.some((other) => same(other, series)))];
}

// The epoch or window a moment lies in, of the longest steps there are: figures of who and where are of whole ones.
export function wholeStepAt(epochs: Series[], drawn: Series, at_s: number): [number, number] | undefined {
  for (const series of [...epochs, drawn]) {
    for (let i = 0; i < series.start_s.length; ++i) {
      const start = series.start_s[i]!;
      const end = start + series.length_s[i]!;
      if (start <= at_s && at_s < end) return [start, end];
    }
  }
  return undefined;
}

// The backlog of an answer as a line of its own.
export function backlogOf(series: Series): Series {
  return { ...series, sub: kBacklog, unit: kBacklog, rate: series.backlog };
}

// Lines of different units over each other: each as a part of its own highest value.
export function normalised(data: GraphData): GraphData {
  const wholes = data.columns.slice(1).map((column) => column.reduce<number>((most, value) =>
    Math.max(most, value ?? 0), 0) || 1);
  return {
    ...data,
    lines: data.lines.map((line, i) => ({ ...line, label: line.vital, whole: wholes[i]! })),
    columns: data.columns.map((column, i) => i === 0 ? column
      : column.map((value) => value === null ? null : value / wholes[i - 1]!)),
  };
}
