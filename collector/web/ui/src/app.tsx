// The frame around every view: where one is, which time is looked at, and the view the address names.
import { useMemo, useState } from 'preact/hooks';
import { AnomaliesView } from './anomalies';
import { CompareView } from './compare';
import { FiltersView } from './filters';
import { Fleet } from './fleet';
import { type Feed, type Told, useFeed } from './feed';
import { IncidentsView } from './incidents';
import { kHelp, useKeys } from './keys';
import { Link } from './link';
import { NodeView } from './node';
import { kIncidents_s, refreshPeriod, useRefresh } from './refresh';
import { address, type Route, useRoute } from './route';
import { SelectionView } from './selection';
import { Answered, Behind, Empty, Unreachable, unreached } from './states';
import { useUnreachable } from './reach';
import { toggleTheme, useShownTheme } from './theme';
import { TimeControl } from './time_control';
import { readRange, type TimeRange } from './time_range';
import { Zone } from './times';
import { useAnswer } from './use_answer';
import { askWorld, type World } from './world';

const kWorldPeriod_s = 30;

const kViews = ['/node', '/selection', '/compare', '/anomalies', '/incidents', '/filters'];
// Of the fleet as it is now, or of no time at all.
const kTimeless = ['/incidents', '/filters'];
const kOfAllNodes = ['/anomalies', ...kTimeless];
// Of a comparison and of a selection, which other views do not know.
const kAlone = { against: '', afrom: '', ato: '', anode: '' };
const kElsewhere = { ...kAlone, process: '', frame: '', incident: '', resolved: '', silenced: '' };
// While the collector tells what is new, live times move at least so often.
const kMoves_s = 30;
const kUsualEpoch_s = 60;

function Where({ route }: { route: Route }) {
  const node = kOfAllNodes.includes(route.path) ? null : route.params.get('node');
  const fleet = address('/', route.params, { ...kElsewhere, node: '' });
  return (
    <nav aria-label="Where you are">
      <Link to={fleet} current={route.path === '/'}>Fleet</Link>
      <Link to={address('/anomalies', route.params, { ...kElsewhere, node: '' })}
        current={route.path === '/anomalies'}>Anomalies</Link>
      <Link to={address('/incidents', route.params, { ...kElsewhere, node: '' })}
        current={route.path === '/incidents'}>Incidents</Link>
      <Link to={address('/filters', route.params, { ...kElsewhere, node: '' })}
        current={route.path === '/filters'}>Filters</Link>
      {node !== null && <><i>›</i><Link to={address('/node', route.params, kElsewhere)}
        current={route.path === '/node'}>{node}</Link></>}
      {(route.path === '/selection' || route.path === '/compare') && <><i>›</i>
        <Link to={address('/selection', route.params, kAlone)} current={route.path === '/selection'}>selection</Link></>}
      {route.path === '/compare' && <><i>›</i><Link to={address('/compare', route.params)} current>comparison</Link></>}
    </nav>
  );
}

function ViewOf(view: ViewProps) {
  const { route, world } = view;
  if (route.path !== '/' && !kViews.includes(route.path)) {
    return <Empty><h2>There is no page “{route.path}”</h2><p><Link to="/">The fleet</Link></p></Empty>;
  }
  if (route.path === '/filters') return <FiltersView {...view} />;
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
  if (route.path === '/node') return <NodeView {...view} />;
  if (route.path === '/selection') return <SelectionView {...view} />;
  if (route.path === '/compare') return <CompareView {...view} />;
  if (route.path === '/anomalies') return <AnomaliesView {...view} />;
  if (route.path === '/incidents') return <IncidentsView {...view} />;
  return <Fleet {...view} />;
}

export function App() {
  const route = useRoute();
  const theme = useShownTheme();
  const [help, setHelp] = useState(false);
  const unreachable = useUnreachable();
  const worldTick = useRefresh(kWorldPeriod_s);
  const world = useAnswer('world', askWorld, worldTick);
  const node = route.params.get('node') ?? '';
  const last_s = readRange(route.params).last_s;
  const incidents = route.path === '/incidents';
  const timeless = kTimeless.includes(route.path);
  const wanted: Told = incidents ? 'incidents' : timeless || last_s === undefined ? 'nothing' : 'epochs';
  const feed = useFeed(wanted, node);
  const told = feed.state === 'told';
  const tick = useRefresh(last_s === undefined ? 0 : told ? kMoves_s : refreshPeriod(last_s));
  const known = world.value !== undefined;
  // Of a fleet there is something new all the time: it is asked for no more often than it can be seen.
  const range = useMemo(() => readRange(route.params, told && node !== ''), [route, tick, known, told, feed.epochs]);
  const epoch_s = world.value?.nodes.find(({ name }) => name === node)?.epoch_length_s || kUsualEpoch_s;
  const every = `asked anew every ${incidents ? kIncidents_s : refreshPeriod(last_s ?? 0)} s`;
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
        <span class="buttons page">
          <button type="button" title={`${theme === 'dark' ? 'Light' : 'Dark'} (t)`} onClick={toggleTheme}>◐</button>
          <button type="button" title="Keys (?)" aria-expanded={help} onClick={() => setHelp(!help)}>?</button>
        </span>
        {timeless ? <span class="time">all times are <Zone at={range.end_s} /></span>
          : <TimeControl route={route} range={range} epoch_s={epoch_s} feed={feed} every={every} gone={unreachable !== undefined} />}
      </header>
      {help && <dl class="help">{kHelp.map(([key, text]) => <div><dt>{key}</dt><dd>{text}</dd></div>)}</dl>}
      <main>
        {world.value?.status.not_storing
          && <p class="bad" role="alert">Not storing: {world.value.status.not_storing}</p>}
        {world.value !== undefined && unreachable !== undefined && <Unreachable since={unreachable} />}
        {world.value !== undefined && world.problem !== undefined && !unreached(world) && <Behind problem={world.problem} />}
        {feed.state === 'asked' && !timeless && unreachable === undefined && <p class="warn" role="status">○ {every}: {feed.why}</p>}
        {world.value !== undefined ? <ViewOf route={route} range={range} world={world.value} feed={feed}
          unreachable={unreachable !== undefined} />
          : <Answered asked={world}>{() => null}</Answered>}
      </main>
    </>
  );
}

export interface ViewProps {
  route: Route;
  range: TimeRange;
  world: World;
  feed: Feed;
  unreachable: boolean;  // what is known is from before
}
