// How long things took: log buckets as bars, with the middle, the slowest tenth and hundredth.
import type { HistogramValues } from './messages';
import { amount, plural } from './units';

const kBars = 40;

interface Bar {
  low: number;
  high: number;
  count: number;
}

// Neighbouring buckets joined until the bars fit; buckets are even in the logarithm.
function bars(values: HistogramValues): Bar[] {
  const low = Math.log2(Math.max(values.low.find((bound) => bound > 0) ?? 1, 1e-9));
  const high = Math.log2(Math.max(values.high[values.high.length - 1] ?? 1, 2e-9));
  const step = Math.max(0.25, Math.ceil((high - low) / kBars * 4) / 4);
  const count = Math.max(1, Math.ceil((high - low) / step - 1e-6));
  const made = Array.from({ length: count }, (_, i) =>
    ({ low: 2 ** (low + i * step), high: 2 ** (low + (i + 1) * step), count: 0 }));
  values.count.forEach((entries, i) => {
    const middle = (Math.log2(Math.max(values.low[i]!, 1e-9)) + Math.log2(Math.max(values.high[i]!, 1e-9))) / 2;
    const at = Math.min(count - 1, Math.max(0, Math.floor((middle - low) / step)));
    made[at]!.count += entries;
  });
  return made;
}

export function Histogram({ values }: { values: HistogramValues }) {
  const made = bars(values);
  const most = Math.max(...made.map((bar) => bar.count));
  const all = values.count.reduce((sum, count) => sum + count, 0);
  return (
    <figure class="histogram">
      <figcaption><b>{values.name}</b> {plural(Math.round(all), 'event')}<br />
        half below {amount(values.p50, values.unit)}, 90 % below {amount(values.p90, values.unit)},
        99 % below {amount(values.p99, values.unit)}</figcaption>
      <div class="bars">{made.map((bar) => (
        <i title={`${amount(bar.low, values.unit)} to ${amount(bar.high, values.unit)}: `
          + plural(Math.round(bar.count), 'event')}
          style={{ height: `${bar.count > 0 ? Math.max(2, 100 * bar.count / most) : 0}%` }} />))}
      </div>
      <div class="ends"><span>{amount(made[0]!.low, values.unit)}</span>
        <span>{amount(made[made.length - 1]!.high, values.unit)}</span></div>
    </figure>
  );
}
