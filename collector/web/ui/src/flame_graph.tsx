// A flame graph on a canvas, of one selection or of two: click a frame to fill the width with it, Escape for all; arrow
// keys go to the caller, the heaviest callee and their neighbours.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { drawFlame, kRow, layOut, type Box } from './flame_drawing';
import { pathTo, type FlameNode } from './flame_tree';
import { Link } from './link';
import { Code } from './names';
import type { Theme } from './theme';
import { amount, change, percent } from './units';
import { useWidth } from './use_width';

interface Props {
  root: FlameNode;
  unit: string;
  theme: Theme;
  compared?: boolean;  // widths are of both selections, colours of their difference
  across: (frame: string) => string;  // where a frame is shown in all vitals
}

function neighbour(node: FlameNode, by: number): FlameNode {
  const siblings = node.parent?.children ?? [node];
  return siblings[siblings.indexOf(node) + by] ?? node;
}

function Reading({ node, root, unit, compared }: { node: FlameNode; root: FlameNode; unit: string; compared: boolean }) {
  if (compared) {
    return <><b><Code name={node.name} /></b> this {amount(node.value, unit)}, other {amount(node.against, unit)}:{' '}
      <b>{change(node.value, node.against)}</b>{!node.certain && ', within the bounds'}</>;
  }
  return <><b><Code name={node.name} /></b> {amount(node.value, unit)}, {percent(node.value / root.value)}
    {node.parent !== undefined && <>, between {amount(node.low, unit)} and {amount(node.high, unit)}</>}</>;
}

function Key({ compared }: { compared: boolean }) {
  return compared
    ? <span class="dim"><i class="box more" /> more in this <i class="box less" /> less <i class="box same" /> the bounds
      leave it open; as wide as both times together</span>
    : <span class="dim"><i class="box user" /> user <i class="box kernel" /> kernel</span>;
}

export function FlameGraph({ root, unit, theme, compared = false, across }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, measured] = useWidth();
  const [chosen, setChosen] = useState(root);
  const [over, setOver] = useState<Box>();
  const [find, setFind] = useState('');
  const path = useMemo(() => pathTo(chosen), [chosen]);
  const within = path[0] === root ? path : [root];  // a newer answer begins anew
  const focus = within[within.length - 1]!;
  const boxes = useMemo(() => width > 0 ? layOut(within, width) : [], [focus, width]);
  useEffect(() => {
    if (canvas.current !== null && boxes.length > 0) drawFlame(canvas.current, boxes, width, { find, over, compared });
  }, [boxes, find, over, theme]);
  const boxAt = (event: MouseEvent) => boxes.find((box) =>
    box.y === Math.floor(event.offsetY / kRow) && box.x <= event.offsetX && event.offsetX < box.x + box.width);
  const keys: Record<string, () => FlameNode | undefined> = {
    Escape: () => root,
    ArrowUp: () => focus.parent,
    ArrowDown: () => focus.children[0],
    ArrowLeft: () => neighbour(focus, -1),
    ArrowRight: () => neighbour(focus, 1),
  };
  const key = (event: KeyboardEvent) => {
    const action = keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setOver(undefined);
    setChosen(action() ?? focus);
  };
  const said = over?.node ?? focus;
  return (
    <div class="flame">
      <div class="tools">
        <input type="search" placeholder="Find a function (/)" aria-label="Find a function" value={find}
          onInput={(event) => setFind(event.currentTarget.value.toLowerCase())} />
        {focus !== root && <button type="button" onClick={() => setChosen(root)}>all</button>}
        {focus.kind !== 'base' && <Link title={focus.name} to={across(focus.name)}>in all vitals</Link>}
        <Key compared={compared} />
      </div>
      <p class="read" role="status"><Reading node={said} root={root} unit={unit} compared={compared} /></p>
      <div ref={measured}>
        <canvas ref={canvas} tabIndex={0} role="application"
          aria-label="Flame graph: callers above what they call; arrow keys move through it, Escape shows all"
          onMouseMove={(event) => setOver(boxAt(event))} onMouseLeave={() => setOver(undefined)}
          onClick={(event) => setChosen(boxAt(event)?.node ?? focus)} onKeyDown={key} />
      </div>
    </div>
  );
}
