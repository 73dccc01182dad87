// Filters that still learn what is usual: until they know it, nothing found is no news.
import { useMemo } from 'preact/hooks';
import { ask } from './api';
import { now } from './clock';
import type { Learning, Node } from './messages';
import { plural } from './units';
import { useAnswer } from './use_answer';

// The filter that judges each vital by itself; the rules read what it finds.
const kFirst = 'ewma';
const kNamed = 3;  // filters of one line

function unitOf({ unit }: Learning): string {
  return unit === '' ? 'epochs' : unit;
}

// Filters that are as far, together: "ewma and 11 others 8 of 30 epochs; seasonal 0 of 3 weeks". Of several nodes, the one
// that lags the most.
export function learningText(learning: Learning[]): string {
  const least = new Map<string, Learning>();
  for (const told of learning) {
    const known = least.get(told.filter);
    if (known === undefined || Number(told.learned_epochs) < Number(known.learned_epochs)) least.set(told.filter, told);
  }
  const far = new Map<string, string[]>();
  for (const told of least.values()) {
    const key = `${told.learned_epochs} of ${told.needed_epochs} ${unitOf(told)}`;
    far.set(key, [...(far.get(key) ?? []), told.filter]);
  }
  return [...far].map(([key, filters]) => {
    const more = filters.length - kNamed;
    return `${filters.slice(0, kNamed).join(', ')}${more > 0 ? ` and ${plural(more, 'other')}` : ''} ${key}`;
  }).join('; ');
}

// Nodes on which nothing can be found yet, each with the moment from which on something can.
export function unjudgedUntil(learning: Learning[], nodes: Node[]): Map<string, number> {
  const first = learning.filter((told) => told.filter === kFirst && unitOf(told) === 'epochs');
  return new Map(first.map((told) => {
    const epoch_s = nodes.find(({ name }) => name === told.node)?.epoch_length_s || 60;
    return [told.node, now() + epoch_s * Math.max(1, Number(told.needed_epochs) - Number(told.learned_epochs))];
  }));
}

export function StillLearning({ learning }: { learning: Learning[] }) {
  const text = useMemo(() => learningText(learning), [learning]);
  if (learning.length === 0) return null;
  const nodes = [...new Set(learning.map(({ node }) => node))];
  const where = nodes.length === 1 ? nodes[0] : `${plural(nodes.length, 'node')}, the least far`;
  const early = learning.some(({ filter }) => filter === kFirst);
  return <p class={early ? 'warn learning' : 'dim learning'} role="status">Still learning what is usual on {where}: {text}.
    {' '}{early ? 'Until then little or nothing can be found.' : 'What the other filters find is shown.'}</p>;
}

// The same where no anomalies are asked for.
export function AskedLearning({ tick = '' }: { tick?: string }) {
  const asked = useAnswer('learning', (signal) =>
    ask('anomalies', { selection: { start_s: now() - 1, end_s: now() }, limit: 1 }, signal), tick);
  return <StillLearning learning={asked.value?.learning ?? []} />;
}
