// Stacks with weights as a tree, callers above what they call: what a flame graph draws.
import type { StackWeight } from './messages';

export interface FlameNode {
  name: string;
  kind: 'base' | 'user' | 'kernel';  // base: no code, but whose it is
  value: number;
  depth: number;
  children: FlameNode[];
}

// Outermost first, below the program. A sample whose stack could not be kept says so: its weight is not its callees'.
function frames(stack: StackWeight): Pick<FlameNode, 'name' | 'kind'>[] {
  const code = stack.frames.map((frame) =>
    ({ name: frame.name, kind: frame.kernel ? 'kernel' as const : 'user' as const })).reverse();
  return [{ name: stack.exe.split('/').pop() || '(unknown)', kind: 'base' },
          ...(code.length > 0 ? code : [{ name: '(no stack kept)', kind: 'base' as const }])];
}

export function flameTree(stacks: StackWeight[]): FlameNode {
  const root: FlameNode = { name: 'all', kind: 'base', value: 0, depth: 0, children: [] };
  const index = new Map<FlameNode, Map<string, FlameNode>>([[root, new Map()]]);
  for (const stack of stacks) {
    let at = root;
    at.value += stack.value;
    for (const frame of frames(stack)) {
      const known = index.get(at)!;
      const key = `${frame.kind} ${frame.name}`;
      let next = known.get(key);
      if (next === undefined) {
        next = { ...frame, value: 0, depth: at.depth + 1, children: [] };
        known.set(key, next);
        at.children.push(next);
        index.set(next, new Map());
      }
      next.value += stack.value;
      at = next;
    }
  }
  for (const node of index.keys()) node.children.sort((a, b) => b.value - a.value);
  return root;
}
