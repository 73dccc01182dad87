// A flame graph on a canvas: click a frame to fill the width with it, Escape or a click on the bottom row for all.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FlameNode } from './flame_tree';
import { colour, type Theme } from './theme';
import { amount, percent } from './units';
import { useWidth } from './use_width';

const kRow = 18;
const kNarrowest = 0.4;  // pixels; narrower frames are not drawn
const kCharacter = 6.3;

interface Box {
  node: FlameNode;
  x: number;
  y: number;
  width: number;
  above: boolean;  // caller of what fills the width
}

// The frames within `width` pixels, with `focus` as wide as all of it and its callers over it.
function layOut(path: FlameNode[], width: number): Box[] {
  const boxes: Box[] = path.slice(0, -1).map((node, row) => ({ node, x: 0, y: row, width, above: true }));
  const focus = path[path.length - 1]!;
  const place = (node: FlameNode, x: number, row: number, size: number) => {
    boxes.push({ node, x, y: row, width: size, above: false });
    let at = x;
    for (const child of node.children) {
      const part = node.value > 0 ? size * child.value / node.value : 0;
      if (part < kNarrowest) break;
      place(child, at, row + 1, part);
      at += part;
    }
  };
  place(focus, 0, path.length - 1, width);
  return boxes;
}

// A hue that tells kernel from user; the shade tells neighbours apart and stays the same for a name.
function shade(node: FlameNode): string {
  let hash = 0;
  for (let i = 0; i < node.name.length; ++i) hash = (hash * 31 + node.name.charCodeAt(i)) | 0;
  const step = Math.abs(hash) % 4;
  return colour(`flame-${node.kind}-${step}`);
}

function draw(canvas: HTMLCanvasElement, boxes: Box[], width: number, find: string, over?: Box) {
  const rows = Math.max(...boxes.map((box) => box.y)) + 1;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = rows * kRow * scale;
  canvas.style.height = `${rows * kRow}px`;
  const ink = canvas.getContext('2d')!;
  ink.scale(scale, scale);
  ink.font = '12px ui-monospace, monospace';
  ink.textBaseline = 'middle';
  const shades = new Map<string, string>();
  for (const box of boxes) {
    const { node } = box;
    const key = `${node.kind} ${node.name}`;
    if (!shades.has(key)) shades.set(key, shade(node));
    const found = find !== '' && node.name.toLowerCase().includes(find);
    ink.globalAlpha = find !== '' && !found ? 0.35 : box.above ? 0.6 : 1;
    ink.fillStyle = found ? colour('mark') : shades.get(key)!;
    ink.fillRect(box.x, box.y * kRow, Math.max(box.width - 0.5, 0.5), kRow - 1);
    const fits = Math.floor((box.width - 6) / kCharacter);
    if (fits >= 3) {
      ink.fillStyle = found ? '#000' : colour('flame-ink');
      const name = node.name.length > fits ? `${node.name.slice(0, fits - 1)}…` : node.name;
      ink.fillText(name, box.x + 3, box.y * kRow + kRow / 2);
    }
    ink.globalAlpha = 1;
    if (box === over) {
      ink.strokeStyle = colour('ink');
      ink.strokeRect(box.x + 0.5, box.y * kRow + 0.5, box.width - 1, kRow - 2);
    }
  }
}

interface Props {
  root: FlameNode;
  unit: string;
  theme: Theme;
}

export function FlameGraph({ root, unit, theme }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, measured] = useWidth();
  const [path, setPath] = useState<FlameNode[]>([root]);
  const [over, setOver] = useState<Box>();
  const [find, setFind] = useState('');
  const within = path[0] === root ? path : [root];
  const boxes = useMemo(() => width > 0 ? layOut(within, width) : [], [within[within.length - 1], width]);
  useEffect(() => {
    if (canvas.current !== null && boxes.length > 0) draw(canvas.current, boxes, width, find, over);
  }, [boxes, find, over, theme]);
  const boxAt = (event: MouseEvent) => boxes.find((box) =>
    box.y === Math.floor(event.offsetY / kRow) && box.x <= event.offsetX && event.offsetX < box.x + box.width);
  const pathTo = (from: FlameNode[], wanted: FlameNode): FlameNode[] | undefined => {
    const last = from[from.length - 1]!;
    if (last === wanted) return from;
    for (const child of last.children) {
      const found = pathTo([...from, child], wanted);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const enter = (event: MouseEvent) => {
    const box = boxAt(event);
    if (box !== undefined) setPath(pathTo([root], box.node) ?? [root]);
  };
  const said = over?.node ?? within[within.length - 1]!;
  return (
    <div class="flame">
      <div class="tools">
        <input type="search" placeholder="Find a function (/)" aria-label="Find a function" value={find}
          onInput={(event) => setFind(event.currentTarget.value.toLowerCase())} />
        {within.length > 1 && <button type="button" onClick={() => setPath([root])}>all</button>}
        <span class="dim"><i class="box user" /> user <i class="box kernel" /> kernel</span>
        <span class="read" role="status">
          <b>{said.name}</b> {amount(said.value, unit)}, {percent(said.value / root.value)}</span>
      </div>
      <div ref={measured}>
        <canvas ref={canvas} tabIndex={0} role="img"
          aria-label="Flame graph: callers above what they call; the tables list the same"
          onMouseMove={(event) => setOver(boxAt(event))} onMouseLeave={() => setOver(undefined)} onClick={enter}
          onKeyDown={(event) => { if (event.key === 'Escape') setPath([root]); }} />
      </div>
    </div>
  );
}
