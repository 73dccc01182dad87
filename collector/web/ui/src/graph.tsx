// One vital over time: uPlot, with drag to zoom and click for the epoch under the pointer.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { GraphData } from './graph_data';
import { marks } from './graph_marks';
import type { Anomaly } from './messages';
import { colour, type Theme } from './theme';
import { clockText, dateText, localText } from './times';
import { rate } from './units';

const kHeight = 124;
const kAxis = 92;
// Axes of bytes are divided where KiB, MiB ... are whole.
const kBinarySteps = Array.from({ length: 50 }, (_, power) => 2 ** power);
const kClick = 4;  // pixels a click may move
const kLines = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'line-6', 'line-7', 'line-8'];

interface Props {
  name: string;
  data: GraphData;
  anomalies: Anomaly[];
  start_s: number;
  end_s: number;
  width: number;
  theme: Theme;
  zoom: (start_s: number, end_s: number) => void;
  pick: (at_s: number) => void;
}

function options(props: Props, legend: (moment: number | undefined) => void): uPlot.Options {
  const { data } = props;
  const stroke = colour('dim');
  const grid = { stroke: colour('line'), width: 1 };
  const tick = (_plot: uPlot, at: number[], _axis: number, _space: number, step: number) => at.map((moment) =>
    step >= 86400 ? dateText(moment).slice(5) : clockText(moment, step < 60));
  return {
    width: props.width,
    height: kHeight,
    legend: { show: false },
    cursor: {
      sync: { key: 'node' },
      drag: { x: true, y: false, setScale: false, dist: kClick },
      points: { size: 5 },
    },
    scales: {
      x: { time: true, range: () => [props.start_s, props.end_s] },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      { stroke, grid, ticks: grid, size: 30, gap: 2, font: '11px system-ui', values: tick },
      { stroke, grid, ticks: { show: false }, size: kAxis, font: '11px system-ui', space: 28,
        incrs: data.unit === 'bytes' ? kBinarySteps : undefined,
        values: (_plot, at) => at.map((value) => rate(value, data.unit, props.name)) },
    ],
    series: [
      {},
      ...data.labels.map((label, i) => ({
        label,
        stroke: colour(kLines[i % kLines.length]!),
        width: 1.5,
        fill: data.labels.length === 1 ? colour('fill') : undefined,
        paths: uPlot.paths.stepped!({ align: 1 }),
        points: { show: false },
      })),
    ],
    plugins: [marks(data, props.anomalies)],
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < kClick) return;
        props.zoom(plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x'));
      }],
      setCursor: [(plot) => legend(plot.cursor.idx ?? undefined)],
    },
  };
}

export function Graph(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const read = useRef<HTMLSpanElement>(null);
  const { data, theme, width, start_s, end_s } = props;
  useEffect(() => {
    if (place.current === null || width === 0) return undefined;
    const legend = (moment: number | undefined) => {
      if (read.current === null) return;
      const at = moment === undefined ? undefined : data.columns[0]![moment];
      const value = (i: number) => {
        const shown = moment === undefined ? null : data.columns[i + 1]![moment];
        return shown === null || shown === undefined ? 'not watched' : rate(shown, data.unit, props.name);
      };
      read.current.textContent = at === null || at === undefined ? ''
        : `${localText(at)}  ${data.labels.map((label, i) =>
          data.labels.length === 1 ? value(i) : `${label} ${value(i)}`).join('  ')}`;
    };
    const plot = new uPlot(options(props, legend), data.columns as uPlot.AlignedData, place.current);
    let down = 0;
    plot.over.addEventListener('mousedown', (event) => (down = event.clientX));
    plot.over.addEventListener('click', (event) => {
      if (Math.abs(event.clientX - down) < kClick) props.pick(plot.posToVal(plot.cursor.left ?? 0, 'x'));
    });
    return () => plot.destroy();
  }, [data, theme, width, start_s, end_s]);
  return (
    <>
      <span class="read" ref={read} />
      <div class="plot" ref={place} role="img" aria-label={`${props.name} over time`} />
    </>
  );
}

// Names of several lines with their colours.
export function Lines({ labels }: { labels: string[] }) {
  return (
    <span class="lines">
      {labels.map((label, i) => (
        <span><i style={{ background: `var(--${kLines[i % kLines.length]})` }} />{label}</span>))}
    </span>
  );
}
