// What an answer rests on, as the command line says it: time watched, epochs and their tier, what was lost.
import { lossText, namelessText } from './losses';
import type { Coverage, Tier } from './messages';
import { localText } from './times';
import { duration, percent, plural } from './units';

const kTiers: Record<Tier, string> = {
  TIER_AUTO: 'any tier', TIER_RAW: 'raw epochs', TIER_5MIN: '5 min windows', TIER_1H: '1 h windows',
  TIER_1D: '1 d windows',
};

function partsOf(coverage: Coverage): string[] {
  const nodes = coverage.nodes_selected;
  const parts = [`covers ${duration(coverage.watched_s)} of ${duration(coverage.selected_s)}`
    + `${nodes > 1 ? ' of node time' : ''} on ${coverage.nodes < nodes ? `${coverage.nodes} of ` : ''}`
    + plural(nodes, 'node')];
  const used = coverage.used.map((use) => kTiers[use.tier]).join(', ') || 'nothing read';
  parts.push(plural(coverage.epochs_received, 'epoch') + ` (${used})`
    + (coverage.epochs_partial > 0 ? `, ${coverage.epochs_partial} partial` : '')
    + (coverage.epochs_lost > 0 ? `, ${coverage.epochs_lost} declared lost` : ''));
  const values_s = coverage.values_end_s - coverage.values_start_s;
  if (coverage.used.length > 0 && values_s > 1.1 * coverage.selected_s / Math.max(1, nodes) + 2) {
    parts.push(`figures are of ${localText(coverage.values_start_s)} to ${localText(coverage.values_end_s)}`);
  }
  parts.push(...coverage.notes);
  const lost = new Map<string, number>();
  for (const { reason, events } of coverage.lost_events) lost.set(reason, (lost.get(reason) ?? 0) + events);
  if (lost.size > 0) {
    const named = [...lost].sort((a, b) => b[1] - a[1]).map(([reason, events]) => lossText(reason, events));
    parts.push(`lost: ${named.join(', ')}`);
  } else if (coverage.values_end_s > 0) {
    parts.push('no events lost');
  }
  const nameless = namelessText(coverage.user_frames, percent);
  if (nameless !== '') parts.push(nameless);
  if (coverage.miss_probability_1pct >= 0.001) {
    const chance = percent(coverage.miss_probability_1pct);
    parts.push(`code with 1 % of a vital in one epoch is missed with a chance of ${chance}`);
  }
  return parts;
}

// `name`: of the selection, where there are two.
export function CoverageLine({ coverage, name = '' }: { coverage: Coverage; name?: string }) {
  return <p class="coverage">{name !== '' && <b>{name} </b>}{partsOf(coverage).join('; ')}</p>;
}
