// Nodes together by the value of a label.
import type { Node } from './messages';

export interface Group {
  name: string;   // the label's value; empty: they do not have it
  first: number;  // row
}

export function labelKeys(nodes: Node[]): string[] {
  return [...new Set(nodes.flatMap((node) => (node.info?.labels ?? []).map(({ key }) => key)))].sort();
}

export function labelOf(node: Node, key: string): string {
  return node.info?.labels.find((label) => label.key === key)?.value ?? '';
}

// Of nodes that stand in the order of their groups.
export function groupsOf(nodes: string[], groupOf: Map<string, string>): Group[] {
  return nodes.map((node, first) => ({ name: groupOf.get(node) ?? '', first }))
    .filter(({ name }, row) => row === 0 || name !== (groupOf.get(nodes[row - 1]!) ?? ''));
}
