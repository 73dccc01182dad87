// The answer's list of frames as the tree a flame graph draws, callers above what they call.
import type { FlameAnswer } from './messages';
import { programName } from './names';

export interface FlameNode {
  name: string;
  kind: 'base' | 'user' | 'kernel';  // base: no code, but whose it is
  value: number;
  low: number;
  high: number;
  against: number;  // of the selection it is compared with; 0 without one
  certain: boolean;
  size: number;     // what the width stands for: both selections together, so that what is gone is seen, too
  parent?: FlameNode;
  children: FlameNode[];
}

const kProgram = 1;  // depth: the root, below it the programs, below them their code

export function flameTree(answer: FlameAnswer): FlameNode {
  const nodes: FlameNode[] = [];
  const depths: number[] = [];
  answer.nodes.forEach((node, i) => {
    const parent = i === 0 ? undefined : nodes[node.parent];
    const depth = i === 0 ? 0 : depths[node.parent]! + 1;
    const name = depth === 0 ? 'all' : depth === kProgram ? programName(node.name) || '(unknown)' : node.name;
    const made: FlameNode = {
      name, kind: depth <= kProgram ? 'base' : node.kernel ? 'kernel' : 'user', value: node.value, low: node.low,
      high: node.high, against: node.against, certain: node.certain, size: node.value + node.against, children: [],
      ...(parent !== undefined && { parent }),
    };
    nodes.push(made);
    depths.push(depth);
    parent?.children.push(made);
  });
  for (const node of nodes) node.children.sort((a, b) => b.size - a.size);
  return nodes[0] ?? { name: 'all', kind: 'base', value: 0, low: 0, high: 0, against: 0, certain: false, size: 0,
                       children: [] };
}

// From the root to `node`.
export function pathTo(node: FlameNode): FlameNode[] {
  const path = [node];
  while (path[0]!.parent !== undefined) path.unshift(path[0]!.parent);
  return path;
}

// What goes through code called `name`, each stack once however often it is in it.
export interface Through {
  value: number;
  low: number;
  high: number;
  programs: Map<string, number>;
}

export function through(root: FlameNode, name: string): Through {
  const sum: Through = { value: 0, low: 0, high: 0, programs: new Map() };
  const visit = (node: FlameNode, program: string) => {
    if (node.kind !== 'base' && node.name === name) {
      sum.value += node.value;
      sum.low += node.low;
      sum.high += node.high;
      sum.programs.set(program, (sum.programs.get(program) ?? 0) + node.value);
      return;
    }
    for (const child of node.children) visit(child, node === root ? child.name : program);
  };
  visit(root, '');
  return sum;
}
