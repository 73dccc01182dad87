// Time nobody watched, on every canvas the same: slanted lines, never a value.
import { colour } from './theme';

const kTile = 6;

export function hatch(context: CanvasRenderingContext2D): CanvasPattern {
  const tile = document.createElement('canvas');
  tile.width = tile.height = kTile;
  const ink = tile.getContext('2d')!;
  ink.strokeStyle = colour('hatch');
  ink.lineWidth = 1;
  ink.beginPath();
  for (const shift of [-kTile, 0, kTile]) {
    ink.moveTo(shift, kTile);
    ink.lineTo(shift + kTile, 0);
  }
  ink.stroke();
  return context.createPattern(tile, 'repeat')!;
}
