// Shift and drag moves the time under all graphs of a view at once, as far as their data goes; what is let go of becomes
// the time that is looked at, and is asked for.
import type uPlot from 'uplot';

const kLeast = 4;  // pixels

// Watches `plot`; what it returns ends that.
export function pan(plot: uPlot, group: uPlot.SyncPubSub, moved: (start_s: number, end_s: number) => void): () => void {
  let from: { x: number; min: number; max: number } | undefined;
  let frame = 0;
  let latest = 0;
  const shift = () => (from === undefined ? 0 : (from.x - latest) / plot.over.clientWidth * (from.max - from.min));
  const show = () => {
    frame = 0;
    if (from === undefined) return;
    const by = shift();
    for (const each of group.plots) each.setScale('x', { min: from.min + by, max: from.max + by });
  };
  const down = (event: MouseEvent) => {
    const { min, max } = plot.scales['x']!;
    if (!event.shiftKey || event.button !== 0 || min === undefined || max === undefined) return;
    event.preventDefault();
    from = { x: event.clientX, min, max };
    latest = event.clientX;
  };
  const move = (event: MouseEvent) => {
    if (from === undefined) return;
    latest = event.clientX;
    if (frame === 0) frame = requestAnimationFrame(show);
  };
  const up = (event: MouseEvent) => {
    if (from === undefined) return;
    latest = event.clientX;
    const { x, min, max } = from;
    const by = shift();
    from = undefined;
    if (Math.abs(latest - x) >= kLeast) moved(min + by, max + by);
  };
  plot.over.addEventListener('mousedown', down);
  addEventListener('mousemove', move);
  addEventListener('mouseup', up);
  return () => {
    cancelAnimationFrame(frame);
    removeEventListener('mousemove', move);
    removeEventListener('mouseup', up);
  };
}
