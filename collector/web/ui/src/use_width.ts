// The width a drawing has, in CSS pixels, as it changes.
import { useCallback, useRef, useState } from 'preact/hooks';

export function useWidth(): [number, (element: HTMLElement | null) => void] {
  const [width, setWidth] = useState(0);
  const observer = useRef<ResizeObserver>(undefined);
  const measured = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.current.observe(element);
  }, []);
  return [width, measured];
}
