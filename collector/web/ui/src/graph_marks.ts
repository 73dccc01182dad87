// What a graph shows besides its lines: time not watched, below them; anomalies, above; events, at the foot; what
// people did, as flags.
import type uPlot from 'uplot';
import type { GraphData } from './graph_data';
import { hatch } from './hatch';
import { isBad, isMark } from './events';
import type { Anomaly, DiscreteEvent } from './messages';
import { colour } from './theme';

const kMark = 5;
const kFewEvents = 20;  // more of them stand at the foot only
const kNear = 5;  // pixels between the pointer and an event it reads

// The event under the pointer.
export function eventAt(plot: uPlot, events: DiscreteEvent[]): DiscreteEvent | undefined {
  const { left } = plot.cursor;
  if (left === undefined || left < 0) return undefined;
  return events.find((event) => Math.abs(plot.valToPos(event.time_s, 'x') - left) <= kNear);
}

// `events` are asked for at each drawing.
export function marks(data: GraphData, anomalies: Anomaly[], events: () => DiscreteEvent[]): uPlot.Plugin {
  const across = (plot: uPlot, start_s: number, end_s: number): [number, number] => {
    const { left, width } = plot.bbox;
    const inside = (at_s: number) =>
      Math.min(left + width, Math.max(left, plot.valToPos(at_s, 'x', true)));
    return [inside(start_s), inside(end_s)];
  };
  const below = (plot: uPlot) => {
    const { top, height } = plot.bbox;
    plot.ctx.save();
    plot.ctx.fillStyle = hatch(plot.ctx);
    for (const stretch of [...data.unwatched, ...data.thin]) {
      const [from, to] = across(plot, stretch.start_s, stretch.end_s);
      plot.ctx.fillRect(from, top, to - from, height);
    }
    plot.ctx.restore();
  };
  const above = (plot: uPlot) => {
    const { left, top, width, height } = plot.bbox;
    const size = kMark * devicePixelRatio;
    plot.ctx.save();
    const few = events().length <= kFewEvents;
    for (const event of events()) {
      const x = plot.valToPos(event.time_s, 'x', true);
      if (x < left || x > left + width) continue;
      const said = isMark(event);
      plot.ctx.fillStyle = colour(said ? 'accent' : isBad(event) ? 'bad' : 'ink');
      plot.ctx.globalAlpha = said ? 0.8 : 0.35;
      if (few || said) plot.ctx.fillRect(x, top, devicePixelRatio, height);
      plot.ctx.globalAlpha = 1;
      if (said) {  // a flag, at the head
        plot.ctx.fillRect(x, top, 1.6 * size, size);
        continue;
      }
      plot.ctx.beginPath();
      plot.ctx.moveTo(x - size, top + height);
      plot.ctx.lineTo(x + size, top + height);
      plot.ctx.lineTo(x, top + height - 1.5 * size);
      plot.ctx.fill();
    }
    plot.ctx.fillStyle = colour('mark');
    for (const found of anomalies) {
      const [from, to] = across(plot, found.start_s, found.end_s);
      if (to === from) continue;
      plot.ctx.fillRect(from, top, Math.max(to - from, 2), 2 * devicePixelRatio);
      const x = (from + to) / 2;
      plot.ctx.beginPath();
      plot.ctx.moveTo(x, top);
      plot.ctx.lineTo(x + size, top + size);
      plot.ctx.lineTo(x, top + 2 * size);
      plot.ctx.lineTo(x - size, top + size);
      plot.ctx.fill();
    }
    plot.ctx.restore();
  };
  return { hooks: { drawClear: below, draw: above } };
}
