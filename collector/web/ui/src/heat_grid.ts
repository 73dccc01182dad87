// Series and anomalies as a grid of node x time. A cell holds the largest rate that falls in it, so that a short
// peak is not averaged away; NaN where nothing was watched.
import type { Anomaly, Series } from './messages';

export interface HeatGrid {
  nodes: string[];
  columns: number;
  start_s: number;
  cell_s: number;
  values: Float32Array;  // [row * columns + column]
  marks: Uint8Array;     // 1: an anomaly was found there
  thin: Uint8Array;      // 1: watched, but for less than kThin of the time
  unit: string;
}

const kThin = 0.9;

interface Asked {
  nodes: string[];
  start_s: number;
  end_s: number;
  columns: number;
  series: Series[];
  anomalies: Anomaly[];
  bySeverity: boolean;  // cells hold the severity of anomalies instead of the series' rate
  unjudged: Map<string, number>;  // nodes whose anomalies cannot be found before this moment
  complete_s?: number;  // before this moment not all anomalies are known
}

export function heatGrid(asked: Asked): HeatGrid {
  const { nodes, columns, start_s } = asked;
  const cell_s = (asked.end_s - start_s) / columns;
  const values = new Float32Array(nodes.length * columns).fill(NaN);
  const marks = new Uint8Array(values.length);
  const thin = new Uint8Array(values.length);
  const rows = new Map(nodes.map((node, row) => [node, row]));
  const each = (node: string, from_s: number, to_s: number, visit: (cell: number) => void) => {
    const row = rows.get(node);
    if (row === undefined) return;
    const first = Math.max(0, Math.floor((from_s - start_s) / cell_s));
    const last = Math.min(columns - 1, Math.ceil((to_s - start_s) / cell_s) - 1);
    for (let column = first; column <= last; ++column) visit(row * columns + column);
  };
  const raise = (cell: number, value: number) => {
    const before = values[cell]!;
    if (!(before >= value)) values[cell] = value;
  };
  const knownFrom = (node: string) => Math.max(asked.unjudged.get(node) ?? 0, asked.complete_s ?? 0);
  for (const series of asked.series) {
    for (let i = 0; i < series.start_s.length; ++i) {
      if (series.watched[i] === 0) continue;
      const from = series.start_s[i]!;
      if (asked.bySeverity && from < knownFrom(series.node)) continue;
      const value = asked.bySeverity ? 0 : series.rate[i]!;
      const seldom = series.watched[i]! < kThin;
      each(series.node, from, from + series.length_s[i]!, (cell) => {
        raise(cell, value);
        if (seldom) thin[cell] = 1;
      });
    }
  }
  for (const found of asked.anomalies) {
    each(found.node, found.start_s, found.end_s, (cell) => {
      marks[cell] = 1;
      if (asked.bySeverity) raise(cell, Math.abs(found.severity));
    });
  }
  return { nodes, columns, start_s, cell_s, values, marks, thin, unit: asked.series[0]?.unit ?? '' };
}

// Largest value of each row; -1: nothing was watched.
export function rowPeaks(grid: HeatGrid): number[] {
  return grid.nodes.map((_, row) => {
    let peak = -1;
    for (let cell = row * grid.columns; cell < (row + 1) * grid.columns; ++cell) {
      if (grid.values[cell]! > peak) peak = grid.values[cell]!;
    }
    return peak;
  });
}

// The same grid with its rows in another order.
export function ordered(grid: HeatGrid, order: number[]): HeatGrid {
  const moved = <Cells extends Float32Array | Uint8Array>(cells: Cells): Cells => {
    const result = cells.slice() as Cells;
    order.forEach((from, to) => {
      const begin = from * grid.columns;
      result.set(cells.subarray(begin, begin + grid.columns), to * grid.columns);
    });
    return result;
  };
  return {
    ...grid, nodes: order.map((row) => grid.nodes[row]!), values: moved(grid.values), marks: moved(grid.marks),
    thin: moved(grid.thin),
  };
}
