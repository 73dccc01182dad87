// Where the frames of a flame graph lie, and how they are painted.
import type { FlameNode } from './flame_tree';
import { colour } from './theme';

export const kRow = 18;
const kNarrowest = 0.4;  // pixels; narrower frames are not drawn
const kCharacter = 7.3;

export interface Box {
  node: FlameNode;
  x: number;
  y: number;
  width: number;
  above: boolean;  // caller of what fills the width
}

// The frames within `width` pixels, with the last of `path` as wide as all of it and its callers over it.
export function layOut(path: FlameNode[], width: number): Box[] {
  const boxes: Box[] = path.slice(0, -1).map((node, row) => ({ node, x: 0, y: row, width, above: true }));
  const focus = path[path.length - 1]!;
  const place = (node: FlameNode, x: number, row: number, size: number) => {
    boxes.push({ node, x, y: row, width: size, above: false });
    let at = x;
    for (const child of node.children) {
      const part = node.size > 0 ? size * child.size / node.size : 0;
      if (part < kNarrowest) break;
      place(child, at, row + 1, part);
      at += part;
    }
  };
  place(focus, 0, path.length - 1, width);
  return boxes;
}

// A hue that tells kernel from user; the shade tells neighbours apart and stays the same for a name.
function ofName(node: FlameNode): string {
  let hash = 0;
  for (let i = 0; i < node.name.length; ++i) hash = (hash * 31 + node.name.charCodeAt(i)) | 0;
  return `flame-${node.kind}-${Math.abs(hash) % 4}`;
}

// A hue that tells more from less, the deeper the larger the part of both that the difference is.
function ofChange(node: FlameNode): string {
  const share = node.size > 0 ? (node.value - node.against) / node.size : 0;
  if (!node.certain || share === 0) return 'flame-same';
  return `flame-${share > 0 ? 'more' : 'less'}-${Math.min(2, Math.floor(Math.abs(share) * 3))}`;
}

interface Look {
  find: string;  // lower case; what matches is marked
  over: Box | undefined;
  compared: boolean;
}

export function drawFlame(canvas: HTMLCanvasElement, boxes: Box[], width: number, look: Look): void {
  const rows = boxes.reduce((most, box) => Math.max(most, box.y), 0) + 1;
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = rows * kRow * scale;
  canvas.style.height = `${rows * kRow}px`;
  const ink = canvas.getContext('2d')!;
  ink.scale(scale, scale);
  ink.font = '12px ui-monospace, monospace';
  ink.textBaseline = 'middle';
  const colours = new Map<string, string>();
  const of = (name: string) => {
    if (!colours.has(name)) colours.set(name, colour(name));
    return colours.get(name)!;
  };
  for (const box of boxes) {
    const { node } = box;
    const found = look.find !== '' && node.name.toLowerCase().includes(look.find);
    ink.globalAlpha = look.find !== '' && !found ? 0.35 : box.above ? 0.6 : 1;
    ink.fillStyle = found ? of('mark') : of(look.compared ? ofChange(node) : ofName(node));
    ink.fillRect(box.x, box.y * kRow, Math.max(box.width - 0.5, 0.5), kRow - 1);
    const fits = Math.floor((box.width - 6) / kCharacter);
    if (fits >= 3) {
      ink.fillStyle = of('flame-ink');
      ink.fillText(node.name.length > fits ? `${node.name.slice(0, fits - 1)}…` : node.name,
                   box.x + 3, box.y * kRow + kRow / 2);
    }
    ink.globalAlpha = 1;
    if (box === look.over) {
      ink.strokeStyle = of('ink');
      ink.strokeRect(box.x + 0.5, box.y * kRow + 0.5, box.width - 1, kRow - 2);
    }
  }
}
