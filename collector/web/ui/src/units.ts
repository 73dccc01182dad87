// Numbers for people, in base units of the API (s, bytes, calls ...), always with their unit.
import type { FilterRecord } from './messages';

type Step = [number, string];
const kTime: Step[] = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];
const kBinary: Step[] = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const kDecimal: Step[] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];

// Three digits that mean something.
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1).replace(/\.0$/, '');
  return size >= 0.001 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

function scaled(value: number, steps: Step[]): string {
  const size = Math.abs(value);
  const step = steps.find(([from]) => size >= from * 0.9995) ?? steps[steps.length - 1]!;
  return `${digits(value / step[0])} ${step[1]}`.trim();
}

export function duration(seconds: number): string {
  if (seconds === 0) return '0 s';
  return scaled(seconds, kTime);
}

export function amount(value: number, unit: string): string {
  if (unit === 's') return duration(value);
  if (unit === 'bytes') return value === 0 ? '0 B' : scaled(value, kBinary);
  const count = scaled(value, kDecimal);
  return `${count} ${count === '1' ? unit.replace(/s$/, '') : unit}`.replace(/(\d) ([TGMk]) /, '$1$2 ');
}

// The same where the unit of counts stands above: "14.5k", "3.2 s".
export function cell(value: number, unit: string): string {
  if (value === 0) return '0';
  return unit === 's' || unit === 'bytes' ? amount(value, unit) : amount(value, '').trim();
}

// Seconds per second are how many at once: of CPUs that were busy, or of tasks that waited.
const kAtOnce: Record<string, string> = {
  cpu: 'CPUs', softirq: 'CPUs', sched_delay: 'waiting', blocking: 'waiting', lock: 'waiting', reclaim: 'waiting',
};

export function rate(value: number, unit: string, vital: string): string {
  if (unit === 's') return `${digits(value)} ${kAtOnce[vital.split('/')[0]!] ?? 's/s'}`;
  return `${amount(value, unit)}/s`;
}

// As the text of an anomaly has it: "108 ms/s".
export function perSecond(value: number, unit: string): string {
  return `${amount(value, unit)}/s`;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.001) return '<0.1 %';
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
}

export function plural(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

// "27 of 29 found (78 to 98 %) after 1 epoch (at most 3), 0 false alarms", as the command line has it.
export function recordText(record: FilterRecord): string {
  const planted = record.hits + record.misses;
  const found = planted === 0 ? 'no fault planted'
    : `${record.hits} of ${planted} found (${(100 * record.low).toFixed(0)} to ${(100 * record.high).toFixed(0)} %)`;
  const earlier = record.earlier_version ? `; measured of version ${record.earlier_version}, not of this one` : '';
  const most = (record.most_epochs ?? 0) > (record.epochs ?? 0) ? ` (at most ${record.most_epochs})` : '';
  const after = record.epochs ? ` after ${plural(record.epochs, 'epoch')}${most}` : '';
  const wrong = record.mute ? 'no innocent load to be wrong about' : plural(record.false_alarms, 'false alarm');
  const without = record.without_counters ? '; measured without hardware counters' : '';
  return `${found}${after}, ${wrong}${without}${earlier}`;
}

const kTimes = 2;  // from here on "3 ×" says more than "+200 %"

// From `then` to `now`, as people say it.
export function change(now: number, then: number): string {
  if (now === then) return 'the same';
  if (then === 0) return 'new';
  if (now === 0) return 'gone';
  if (now / then >= kTimes) return `${digits(now / then)} ×`;
  const share = (now / then - 1) * 100;
  return `${share > 0 ? '+' : '−'}${Math.abs(share) < 0.1 ? '<0.1' : digits(Number(Math.abs(share).toPrecision(2)))} %`;
}

// The unit of answers for the one a vital is counted in: "UNIT_NANOSECONDS" is told in seconds, "UNIT_BYTES" in bytes.
export function baseUnit(unit: string): string {
  return unit === 'UNIT_NANOSECONDS' ? 's' : unit.replace(/^UNIT_/, '').toLowerCase();
}
