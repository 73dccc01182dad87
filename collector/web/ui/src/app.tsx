// The frame around every view: where one is, which time is looked at, and the view the address names.
import { useMemo, useState } from 'preact/hooks';
import { Fleet } from './fleet';
import { kHelp, useKeys } from './keys';
import { Link } from './link';
import { NodeView } from './node';
import { refreshPeriod, useRefresh } from './refresh';
import { address, type Route, useRoute } from './route';
import { SelectionView } from './selection';
import { Answered, Empty } from './states';
import { toggleTheme, useShownTheme } from './theme';
import { TimeControl } from './time_control';
import { readRange, type TimeRange } from './time_range';
import { useAnswer } from './use_answer';
import { askWorld, type World } from './world';

const kWorldPeriod_s = 30;

function Where({ route }: { route: Route }) {
  const node = route.params.get('node');
  const fleet = address('/', route.params, { node: '', process: '' });
  return (
    <nav aria-label="Where you are">
      <Link to={fleet} current={route.path === '/'}>Fleet</Link>
      {node !== null && <><i>›</i><Link to={address('/node', route.params, { process: '' })}
        current={route.path === '/node'}>{node}</Link></>}
      {route.path === '/selection' && <><i>›</i><Link to={address('/selection', route.params)} current>
        selection</Link></>}
    </nav>
  );
}

function ViewOf({ route, range, world }: { route: Route; range: TimeRange; world: World }) {
  if (world.nodes.length === 0) {
    return (
      <Empty>
        <h2>No agent has reported yet</h2>
        <p>Start one with this collector's address and a node's certificate; its first epoch shows here within
          seconds.</p>
        <pre>telltale-agent check</pre>
      </Empty>
    );
  }
  const view = { route, range, world };
  if (route.path === '/node') return <NodeView {...view} />;
  if (route.path === '/selection') return <SelectionView {...view} />;
  return <Fleet {...view} />;
}

export function App() {
  const route = useRoute();
  const theme = useShownTheme();
  const [help, setHelp] = useState(false);
  const worldTick = useRefresh(kWorldPeriod_s);
  const world = useAnswer(`world ${worldTick}`, askWorld);
  const last_s = readRange(route.params).last_s;
  const tick = useRefresh(last_s === undefined ? 0 : refreshPeriod(last_s));
  const known = world.value !== undefined;
  const range = useMemo(() => readRange(route.params), [route, tick, known]);
  useKeys({
    t: toggleTheme,
    '?': () => setHelp(!help),
    '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
  });
  return (
    <>
      <header>
        <b class="brand">Telltale</b>
        <Where route={route} />
        <TimeControl route={route} range={range} />
        <button type="button" title={`${theme === 'dark' ? 'Light' : 'Dark'} (t)`} onClick={toggleTheme}>◐</button>
        <button type="button" title="Keys (?)" aria-expanded={help} onClick={() => setHelp(!help)}>?</button>
      </header>
      {help && <dl class="help">{kHelp.map(([key, text]) => <div><dt>{key}</dt><dd>{text}</dd></div>)}</dl>}
      <main>
        {world.value?.status.not_storing
          && <p class="bad" role="alert">Not storing: {world.value.status.not_storing}</p>}
        {world.value !== undefined ? <ViewOf route={route} range={range} world={world.value} />
          : <Answered asked={world}>{() => null}</Answered>}
      </main>
    </>
  );
}

export interface ViewProps {
  route: Route;
  range: TimeRange;
  world: World;
}
