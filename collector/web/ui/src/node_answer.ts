// All that a node's graphs show, asked at once.
import { ask, askSeries, Refusal } from './api';
import { backlogOf, withZeroSeconds } from './graph_data';
import type { Anomaly, Coverage, Learning, Selection, Series, Tier, Vital } from './messages';
import { type TimeRange, withEdges } from './time_range';

const kMostAnomalies = 1000;
// Reduced by the collector, extrema kept: about two a column of pixels. The same for every width, so that a window made
// wider asks nothing anew.
const kPoints = 2000;
// So short a time is looked at by single seconds, of which an epoch has a minute's worth.
const kBySeconds_s = 180;

export interface Step {
  name: string;
  label: string;
  tier: Tier;
  seconds?: boolean;
}

// In the address step=; the first is the collector's choice.
export const kSteps: Step[] = [
  { name: '', label: 'auto', tier: 'TIER_AUTO' },
  { name: '1s', label: '1 s', tier: 'TIER_AUTO', seconds: true },
  { name: 'epoch', label: 'epochs', tier: 'TIER_RAW' },
  { name: '5min', label: '5 min', tier: 'TIER_5MIN' },
  { name: '1h', label: '1 h', tier: 'TIER_1H' },
  { name: '1d', label: '1 d', tier: 'TIER_1D' },
];

export interface NodeQuestion {
  node: string;
  range: TimeRange;
  step: string;
  subs: string[];      // sub-series to draw, "blocking/disk"
  backlogs: string[];  // vitals whose backlog to draw
  process: string;     // to draw beside the totals; empty: none
}

export interface NodeAnswer {
  series: Series[];
  epochs: Series[];        // the totals by epochs, where `series` are by seconds
  withoutProcess: string;  // why there is no line of the process that was asked for
  anomalies: Anomaly[];
  next_page: string;       // of anomalies
  learning: Learning[];
  coverage: Coverage;
}

export function listOf(params: URLSearchParams, name: string): string[] {
  return (params.get(name) ?? '').split(',').filter((word) => word !== '');
}

// `list` with `word`, or without it if it was there; as it stands in an address.
export function toggled(list: string[], word: string): string {
  return (list.includes(word) ? list.filter((other) => other !== word) : [...list, word]).join(',');
}

export function subsOf(vitals: Vital[], split: string[]): string[] {
  return vitals.filter((vital) => split.includes(vital.name))
    .flatMap((vital) => vital.subs.map((sub) => `${vital.name}/${sub.name}`));
}

export async function askNode(question: NodeQuestion, signal: AbortSignal): Promise<NodeAnswer> {
  const { node, range, subs, backlogs, process } = question;
  const step = kSteps.find(({ name }) => name === question.step) ?? kSteps[0]!;
  const selection: Selection = { nodes: [node], start_s: range.start_s, end_s: range.end_s };
  const drawn: Selection = { nodes: [node], ...withEdges(range), tier: step.tier };
  const short = step.name === '' && range.end_s - range.start_s <= kBySeconds_s;
  const bySeconds = step.seconds === true || short;
  const series = async (vitals: string[]): Promise<{ series: Series[]; epochs: Series[] }> => {
    const whole = askSeries({ selection: drawn, vitals, max_points: kPoints }, signal);
    if (!bySeconds) return { series: (await whole).series, epochs: [] };
    const [{ series: epochs }, { series: seconds }] = await Promise.all([whole,
      askSeries({ selection: drawn, vitals, max_points: kPoints, per_second: true }, signal)]);
    if (seconds.length === 0) return { series: step.seconds ? [] : epochs, epochs: [] };
    return { series: withZeroSeconds(seconds, epochs), epochs };
  };
  const waiting = async (): Promise<Series[]> => {
    const raw: Selection = { ...drawn, tier: 'TIER_RAW' };
    const answer = await askSeries({ selection: raw, vitals: backlogs, max_points: kPoints, backlog: true }, signal);
    return answer.series.map(backlogOf);
  };
  // The totals are worth seeing where there is nobody of this name, or too much of him to add up.
  const ofProcess = async (): Promise<{ lines: Series[]; why: string }> => {
    try {
      const answer = await askSeries({ selection: drawn, vitals: [], max_points: kPoints, process }, signal);
      return { lines: answer.series.map((line) => ({ ...line, process })), why: '' };
    } catch (problem) {
      if (problem instanceof Refusal && problem.status !== 0) return { lines: [], why: problem.message };
      throw problem;
    }
  };
  const [totals, parts, queues, own, anomalies, coverage] = await Promise.all([
    series([]), subs.length > 0 ? series(subs) : { series: [], epochs: [] }, backlogs.length > 0 ? waiting() : [],
    process !== '' ? ofProcess() : { lines: [], why: '' },
    ask('anomalies', { selection, limit: kMostAnomalies }, signal), ask('coverage', { selection }, signal)]);
  return { series: [...totals.series, ...parts.series, ...queues, ...own.lines], epochs: totals.epochs, withoutProcess: own.why,
           anomalies: anomalies.anomalies, next_page: anomalies.next_page, learning: anomalies.learning, coverage: coverage.coverage };
}
