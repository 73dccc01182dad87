// The grid on a canvas: one row a node, time to the right, the value under the pointer in words below it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { hatch } from './hatch';
import type { Group } from './groups';
import type { HeatGrid } from './heat_grid';
import { heatColours } from './heat_scale';
import { Link } from './link';
import { colour, type Theme } from './theme';
import { clockText, dateText, Span } from './times';
import { useWidth } from './use_width';

const kNamed = 13;  // rows at least this high carry their name
const kAxis = 20;

interface Props {
  grid: HeatGrid;
  top: number;  // value of the brightest colour
  theme: Theme;
  text: (value: number) => string;
  blank: string;  // what a hatched cell says
  groups: Group[];
  linkOf: (node: string) => string;
  open: (node: string, start_s: number, end_s: number) => void;
}

function rowHeight(rows: number): number {
  const room = Math.max(200, innerHeight - 260);
  return Math.min(22, Math.max(3, Math.floor(room / rows)));
}

// A canvas of this size in CSS pixels, cleared.
function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  canvas.style.height = `${height}px`;
  const ink = canvas.getContext('2d')!;
  ink.scale(devicePixelRatio, devicePixelRatio);
  return ink;
}

function draw(canvas: HTMLCanvasElement, width: number, height: number, props: Props) {
  const { grid, top, theme } = props;
  const total = grid.nodes.length * height;
  const ink = sized(canvas, width, total);
  const unwatched = hatch(ink);
  ink.fillStyle = unwatched;
  ink.fillRect(0, 0, width, total);
  const colours = heatColours(theme === 'light');
  const gap = height > 6 ? 1 : 0;
  const column = width / grid.columns;
  for (let row = 0; row < grid.nodes.length; ++row) {
    for (let i = 0; i < grid.columns; ++i) {
      const cell = row * grid.columns + i;
      const value = grid.values[cell]!;
      if (Number.isNaN(value)) continue;
      const x = Math.floor(i * column);
      ink.fillStyle = colours[top > 0 ? Math.min(colours.length - 1, Math.floor(value / top * colours.length)) : 0]!;
      const size = Math.floor((i + 1) * column) - x;
      ink.fillRect(x, row * height, size, height - gap);
      if (grid.thin[cell] === 0) continue;
      ink.fillStyle = unwatched;
      ink.fillRect(x, row * height, size, height - gap);
    }
  }
  ink.fillStyle = colour('ink');
  for (const { first } of props.groups) {
    if (first > 0) ink.fillRect(0, first * height - 1, width, 1);
  }
  ink.fillStyle = colour('mark');
  for (let cell = 0; cell < grid.marks.length; ++cell) {
    if (grid.marks[cell] === 0 || (cell % grid.columns > 0 && grid.marks[cell - 1] === 1)) continue;
    const x = ((cell % grid.columns) + 0.5) * column;
    const y = (Math.floor(cell / grid.columns) + 0.5) * height;
    const size = Math.min(4, height / 2.5);
    ink.beginPath();
    ink.moveTo(x, y - size);
    ink.lineTo(x + size, y);
    ink.lineTo(x, y + size);
    ink.lineTo(x - size, y);
    ink.closePath();
    ink.fill();
  }
}

function drawAxis(canvas: HTMLCanvasElement, grid: HeatGrid, width: number) {
  const ink = sized(canvas, width, kAxis);
  const length_s = grid.cell_s * grid.columns;
  const steps = [10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400];
  const step = steps.find((seconds) => length_s / seconds <= width / 90) ?? 86400 * Math.ceil(length_s / 86400 / 8);
  const zone = new Date(grid.start_s * 1000).getTimezoneOffset() * 60;
  ink.fillStyle = colour('dim');
  ink.font = '11px system-ui, sans-serif';
  ink.textAlign = 'center';
  for (let at = Math.ceil((grid.start_s - zone) / step) * step + zone; at < grid.start_s + length_s; at += step) {
    const x = (at - grid.start_s) / length_s * width;
    const text = step >= 86400 ? dateText(at).slice(5) : clockText(at, step < 60);
    if (x > 20 && x < width - 20) ink.fillText(text, x, kAxis - 5);
    ink.fillRect(Math.round(x), 0, 1, 4);
  }
}

export function HeatMap(props: Props) {
  const { grid } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const axis = useRef<HTMLCanvasElement>(null);
  const [width, measured] = useWidth();
  const [at, setAt] = useState<{ row: number; column: number }>();
  const height = rowHeight(grid.nodes.length);
  useEffect(() => {
    if (canvas.current === null || axis.current === null || width === 0) return;
    draw(canvas.current, width, height, props);
    drawAxis(axis.current, grid, width);
  }, [grid, props.top, props.groups.length, props.theme, width, height]);
  const cellAt = (event: MouseEvent) => ({
    row: Math.min(grid.nodes.length - 1, Math.floor(event.offsetY / height)),
    column: Math.min(grid.columns - 1, Math.max(0, Math.floor(event.offsetX / (width / grid.columns)))),
  });
  const openAt = (cell: { row: number; column: number }) => {
    const start = grid.start_s + cell.column * grid.cell_s;
    props.open(grid.nodes[cell.row]!, start, start + grid.cell_s);
  };
  const step = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const from = at ?? { row: 0, column: grid.columns - 1 };
    const move = moves[event.key];
    if (event.key === 'Enter') openAt(from);
    else if (move === undefined) return;
    else {
      setAt({ row: Math.min(grid.nodes.length - 1, Math.max(0, from.row + move[0])),
              column: Math.min(grid.columns - 1, Math.max(0, from.column + move[1])) });
    }
    event.preventDefault();
  };
  const shown = at !== undefined && at.row < grid.nodes.length ? at : undefined;
  const value = shown === undefined ? NaN : grid.values[shown.row * grid.columns + shown.column]!;
  const start = shown === undefined ? 0 : grid.start_s + shown.column * grid.cell_s;
  return (
    <div class="heat">
      {height >= kNamed && <div class="names">
        {grid.nodes.map((node) => <Link to={props.linkOf(node)} title={node}>{node}</Link>)}
      </div>}
      <div class="map" ref={measured}>
        <canvas ref={canvas} tabIndex={0} role="application"
          aria-label={`${grid.nodes.length} nodes by time; arrow keys move, Enter opens the node`}
          onMouseMove={(event) => setAt(cellAt(event))} onMouseLeave={() => setAt(undefined)}
          onClick={(event) => openAt(cellAt(event))} onKeyDown={step} />
        {props.groups.map(({ name, first }) =>
          <span class="group" style={{ top: `${first * height}px` }}>{name || 'without'}</span>)}
        {shown !== undefined && <i class="cursor" style={{ left: `${shown.column * width / grid.columns}px`,
          top: `${shown.row * height}px`, width: `${width / grid.columns}px`, height: `${height}px` }} />}
      </div>
      <canvas class="axis" ref={axis} aria-hidden="true" />
      <p class="read" role="status">
        {shown === undefined ? 'Point at a cell to read it; click to open the node around that time.' : <>
          <b>{grid.nodes[shown.row]}</b> <Span start={start} end={start + grid.cell_s} />{' '}
          <b>{Number.isNaN(value) ? props.blank : props.text(value)}</b></>}
      </p>
    </div>
  );
}
