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
