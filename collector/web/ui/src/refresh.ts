// Live ranges move: `count` grows as often as something new can be seen.
import { useEffect, useState } from 'preact/hooks';

// Incidents, while nobody tells when one changes.
export const kIncidents_s = 10;
const kFastest_s = 5;
const kSlowest_s = 60;
const kSteps = 180;

export function refreshPeriod(last_s: number): number {
  return Math.min(kSlowest_s, Math.max(kFastest_s, Math.round(last_s / kSteps)));
}

// Grows every `period_s` while the page is seen; 0: never.
export function useRefresh(period_s: number): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (period_s === 0) return undefined;
    const timer = setInterval(() => !document.hidden && setCount((before) => before + 1), period_s * 1000);
    return () => clearInterval(timer);
  }, [period_s]);
  return count;
}
