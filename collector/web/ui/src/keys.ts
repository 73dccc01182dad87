// Single keys, where the reader is not typing.
import { useEffect, useRef } from 'preact/hooks';

export type Keys = Record<string, () => void>;

export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target;
      if (target instanceof HTMLElement && target.matches('input, select, textarea')) return;
      // Enter is also how a link is followed and a button pressed.
      if (event.key === 'Enter' && target instanceof Element && target.closest('a, button, summary') !== null) return;
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

export const kHelp: [string, string][] = [
  ['1 … 5', 'last 15 m, 1 h, 6 h, 1 d, 7 d'],
  ['← →', 'earlier, later'],
  [', .', 'an epoch earlier, later'],
  ['+ −', 'closer, wider'],
  ['Enter', 'on a node: explain the range on the screen'],
  ['c', 'on a selection: compare it with the time before'],
  ['/', 'go to the filter or search field'],
  ['t', 'dark or light'],
  ['?', 'this list'],
];
