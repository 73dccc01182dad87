// Whether the collector answers at all. What was seen before stays on the screen while it does not, and says since when.
import { useEffect, useState } from 'preact/hooks';

const kChanged = 'telltale:reach';
let since_s: number | undefined;

function set(value: number | undefined): void {
  if (since_s === value) return;
  since_s = value;
  dispatchEvent(new Event(kChanged));
}

export function answered(): void {
  set(undefined);
}

export function notAnswered(): void {
  set(since_s ?? Date.now() / 1000);
}

// Since when it is not reachable, by this browser's clock; undefined: it is.
export function useUnreachable(): number | undefined {
  const [shown, setShown] = useState(since_s);
  useEffect(() => {
    const changed = () => setShown(since_s);
    changed();
    addEventListener(kChanged, changed);
    return () => removeEventListener(kChanged, changed);
  }, []);
  return shown;
}
