// One vital over time: uPlot, with drag to zoom, Shift and drag to pan, and click for the epoch under the pointer.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { GraphData, Line } from './graph_data';
import { eventAt, marks } from './graph_marks';
import { pan } from './graph_pan';
import type { Anomaly, DiscreteEvent } from './messages';
import { colour, type Theme } from './theme';
import { clockText, dateText, localText } from './times';
import { digits, percent, rate } from './units';

const kHeight = 124;
const kAxis = 92;
// Axes of bytes are divided where KiB, MiB ... are whole.
const kBinarySteps = Array.from({ length: 50 }, (_, power) => 2 ** power);
const kSync = 'node';
// More values than this are drawn as hairlines, which browsers paint four times as fast: panning stays smooth.
const kDense = 1000;
const kClick = 4;  // pixels a click may move
const kLines = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'line-6', 'line-7', 'line-8'];

interface Props {
  name: string;
  data: GraphData;
  anomalies: Anomaly[];
  events: DiscreteEvent[];
  start_s: number;
  end_s: number;
  width: number;
  room: boolean;  // other graphs of the view have an axis to the right: what lies over each other is the same time
  theme: Theme;
  zoom: (start_s: number, end_s: number) => void;  // also after panning
  pick: (at_s: number) => void;
}

function lineText(line: Line, value: number | null | undefined, moment: number): string {
  if (value === null || value === undefined) return 'not watched';
  if (line.backlog) return `${digits(value)} waiting`;
  const shown = (amount: number) => rate(amount * line.whole, line.unit, line.vital);
  const [low, high] = line.between?.map((column) => column[moment] ?? value) ?? [value, value];
  return low === high ? shown(value) : `${shown(value)} (${shown(low!)} to ${shown(high!)})`;
}

const stepped = uPlot.paths.stepped!({ align: 1 });
const reduced = uPlot.paths.linear!();

// Steps, as long as there is a column of pixels for each; beyond, what each column holds from its lowest to its highest.
const paths: uPlot.Series.PathBuilder = (plot, series, from, to) =>
  (to - from > plot.bbox.width / devicePixelRatio ? reduced : stepped)(plot, series, from, to);

function options(props: Props, events: () => DiscreteEvent[], legend: (plot: uPlot) => void): uPlot.Options {
  const { data } = props;
  const first = data.lines[0]!;
  const whole = data.lines.some((line) => line.whole !== 1);
  const dense = data.lines.length * data.columns[0]!.length > kDense;
  const backlog = data.lines.some((line) => line.backlog);
  const fromZero = (_plot: uPlot, _low: number, high: number): [number, number] => [0, high > 0 ? high * 1.08 : 1];
  const stroke = colour('dim');
  const grid = { stroke: colour('line'), width: 1 };
  const tick = (_plot: uPlot, at: number[], _axis: number, _space: number, step: number) => at.map((moment) =>
    step >= 86400 ? dateText(moment).slice(5) : clockText(moment, step < 60));
  return {
    width: props.width,
    height: kHeight,
    padding: [null, props.room && !backlog ? kAxis : null, null, null],
    legend: { show: false },
    cursor: {
      sync: { key: kSync },
      // With Shift held a drag pans, which is not uPlot's.
      bind: { mousedown: (_plot, _target, handler) => (event) => event.shiftKey ? null : handler(event),
              dblclick: () => () => null },
      drag: { x: true, y: false, setScale: false, dist: kClick },
      points: { size: 5 },
    },
    scales: {
      x: { time: true, range: (_plot, min, max) => [min, max] },
      y: { range: fromZero },
      backlog: { range: fromZero },
    },
    axes: [
      { stroke, grid, ticks: grid, size: 30, gap: 2, font: '11px system-ui', values: tick },
      { stroke, grid, ticks: { show: false }, size: kAxis, font: '11px system-ui', space: 28,
        incrs: first.unit === 'bytes' && !whole ? kBinarySteps : undefined,
        values: (_plot, at) => at.map((value) => whole ? percent(value) : rate(value, first.unit, first.vital)) },
      ...(backlog ? [{ scale: 'backlog', side: 1 as const, stroke, grid: { show: false }, ticks: { show: false },
        size: kAxis, font: '11px system-ui', space: 28,
        values: (_plot: uPlot, at: number[]) => at.map((value) => `${digits(value)} waiting`) }] : []),
    ],
    series: [
      {},
      ...data.lines.map((line, i) => ({
        label: line.label,
        scale: line.backlog ? 'backlog' : 'y',
        stroke: colour(kLines[i % kLines.length]!),
        width: dense ? 1 : 1.5,
        dash: line.backlog || i >= kLines.length ? [4, 3] : undefined,
        fill: data.lines.length === 1 ? colour('fill') : undefined,
        paths,
        points: { show: false },
      })),
    ],
    plugins: [marks(data, props.anomalies, events)],
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < kClick) return;
        props.zoom(plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x'));
      }],
      setCursor: [legend],
    },
  };
}

export function Graph(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const read = useRef<HTMLSpanElement>(null);
  const drawn = useRef<uPlot>(undefined);
  // Events come later than the values: they are painted over what is there.
  const events = useRef(props.events);
  events.current = props.events;
  useEffect(() => drawn.current?.redraw(false), [props.events]);
  const { data, theme, width, room, start_s, end_s } = props;
  useEffect(() => {
    if (place.current === null || width === 0) return undefined;
    const legend = (plot: uPlot) => {
      if (read.current === null) return;
      const moment = plot.cursor.idx ?? undefined;
      const at = moment === undefined ? undefined : data.columns[0]![moment];
      const value = (line: Line, i: number) =>
        `${data.lines.length === 1 ? '' : `${line.label} `}${lineText(line, data.columns[i + 1]![moment!], moment!)}`;
      const event = eventAt(plot, events.current);
      read.current.textContent = at === null || at === undefined ? ''
        : `${localText(at)}  ${data.lines.map(value).join('  ')}${event === undefined ? '' : `  ▲ ${event.text}`}`;
    };
    const plot = new uPlot(options(props, () => events.current, legend), data.columns as uPlot.AlignedData,
                           place.current);
    drawn.current = plot;
    plot.setScale('x', { min: start_s, max: end_s });
    const unpan = pan(plot, uPlot.sync(kSync), props.zoom);
    let down = 0;
    plot.over.addEventListener('mousedown', (event) => (down = event.clientX));
    plot.over.addEventListener('click', (event) => {
      if (!event.shiftKey && Math.abs(event.clientX - down) < kClick) props.pick(plot.posToVal(plot.cursor.left ?? 0, 'x'));
    });
    return () => {
      drawn.current = undefined;
      unpan();
      plot.destroy();
    };
  }, [data, theme, width, room, start_s, end_s]);
  return (
    <div class="graph">
      <span class="read" ref={read} />
      <div class="plot" ref={place} role="img" aria-label={`${props.name} over time`} />
    </div>
  );
}

// Names of several lines with their colours.
export function Lines({ lines }: { lines: Line[] }) {
  return (
    <span class="lines">
      {lines.map((line, i) => (
        <span><i class={line.backlog || i >= kLines.length ? 'dashed' : undefined}
          style={{ '--stroke': `var(--${kLines[i % kLines.length]})` }} />{line.label}
          {line.whole !== 1 && ` (100 % = ${rate(line.whole, line.unit, line.vital)})`}</span>))}
    </span>
  );
}
