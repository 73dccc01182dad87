// The time that is looked at: the last so many seconds (live), or from one moment to another. In the address it is
// last=900, or from= and to= in seconds since 1970.
import { now } from './clock';
import { refreshPeriod } from './refresh';

export interface TimeRange {
  start_s: number;
  end_s: number;
  last_s?: number;  // follows the clock
}

export const kLive: { key: string; label: string; seconds: number }[] = [
  { key: '1', label: '15 m', seconds: 900 },
  { key: '2', label: '1 h', seconds: 3600 },
  { key: '3', label: '6 h', seconds: 21600 },
  { key: '4', label: '1 d', seconds: 86400 },
  { key: '5', label: '7 d', seconds: 604800 },
];

const kDefault = 3600;
const kShortest = 1;
const kEdge = 0.05;
const kLongestEpoch_s = 60;

// `told`: it is read when there is something new, and not before.
export function readRange(params: URLSearchParams, told = false): TimeRange {
  const from = Number(params.get('from') ?? NaN);
  const to = Number(params.get('to') ?? NaN);
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) return { start_s: from, end_s: to };
  const last = Number(params.get('last') ?? NaN);
  const last_s = Number.isFinite(last) && last >= kShortest ? last : kDefault;
  // On whole periods, so that what is asked stays the same until there can be something new.
  const period = told ? 1 : refreshPeriod(last_s);
  const end_s = Math.ceil(now() / period) * period;
  return { start_s: end_s - last_s, end_s, last_s };
}

// Somewhat more, for what is drawn over time: an epoch or window whose middle lies outside is not in an answer, yet a
// part of it is in the picture.
export function withEdges(range: TimeRange): { start_s: number; end_s: number } {
  const edge_s = Math.max(kLongestEpoch_s, (range.end_s - range.start_s) * kEdge);
  return { start_s: range.start_s - edge_s, end_s: range.end_s + edge_s };
}

// As parameters of an address; what does not apply is emptied.
export function lastParams(seconds: number): Record<string, string> {
  return { last: String(seconds), from: '', to: '' };
}

export function fixedParams(start_s: number, end_s: number): Record<string, string> {
  const digits = end_s - start_s < 60 ? 2 : 0;
  return { last: '', from: start_s.toFixed(digits), to: Math.max(end_s, start_s + kShortest).toFixed(digits) };
}

// Half as long about its middle, or twice.
export function zoomed(range: TimeRange, factor: number): Record<string, string> {
  const middle = (range.start_s + range.end_s) / 2;
  const half = Math.max(kShortest, (range.end_s - range.start_s) * factor) / 2;
  const end = Math.min(middle + half, now());
  return fixedParams(end - 2 * half, end);
}

export function moved(range: TimeRange, share: number): Record<string, string> {
  const length = range.end_s - range.start_s;
  const end = Math.min(range.end_s + share * length, now());
  return fixedParams(end - length, end);
}
