// Which time is looked at: last 15 m ..., a moment typed in, or steps to either side.
import { useState } from 'preact/hooks';
import { now } from './clock';
import type { Feed } from './feed';
import { useKeys } from './keys';
import { kMomentForms, readMoment } from './moment';
import { address, go, type Route, type View } from './route';
import { fixedParams, kLive, lastParams, moved, zoomed, type TimeRange } from './time_range';
import { Span, Zone } from './times';
import { duration } from './units';

const kStep = 0.5;

interface Props {
  route: Route;
  range: TimeRange;
  epoch_s: number;  // of the node that is looked at
  feed: Feed;
  every: string;    // how often it is asked where nobody tells
  gone: boolean;    // the collector does not answer
}

function LiveMark({ feed, every, gone }: Pick<Props, 'feed' | 'every' | 'gone'>) {
  if (gone) return <b class="bad">○ not reachable</b>;
  if (feed.state === 'told') return <b class="good" title="The collector tells when there is something new">● live</b>;
  return <b class={feed.state === 'asked' ? 'warn' : 'dim'} title={feed.why}>○ {every}</b>;
}

export function TimeControl({ route, range, epoch_s, feed, every, gone }: Props) {
  const [wrong, setWrong] = useState(false);
  const length = range.end_s - range.start_s;
  const to = (changes: Record<string, string>) => go(address(route.path as View, route.params, changes));
  const at = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('at') as HTMLInputElement;
    const moment = readMoment(field.value, now());
    setWrong(moment === undefined);
    if (moment !== undefined) to(fixedParams(moment - length / 2, moment + length / 2));
  };
  useKeys({
    ...Object.fromEntries(kLive.map(({ key, seconds }) => [key, () => to(lastParams(seconds))])),
    ArrowLeft: () => to(moved(range, -kStep)),
    ArrowRight: () => to(moved(range, kStep)),
    ',': () => to(moved(range, -epoch_s / length)),
    '.': () => to(moved(range, epoch_s / length)),
    '+': () => to(zoomed(range, 0.5)),
    '=': () => to(zoomed(range, 0.5)),
    '-': () => to(zoomed(range, 2)),
  });
  return (
    <div class="time" role="group" aria-label="Time">
      <span class="span">
        <Span start={range.start_s} end={range.end_s} /> <Zone at={range.end_s} />
        {range.last_s === undefined ? <b>{duration(length)}</b> : <LiveMark feed={feed} every={every} gone={gone} />}
      </span>
      <span class="buttons">
        <button type="button" title="Earlier (←)" onClick={() => to(moved(range, -kStep))}>‹</button>
        <button type="button" title="Wider (−)" onClick={() => to(zoomed(range, 2))}>−</button>
        <button type="button" title="Closer (+)" onClick={() => to(zoomed(range, 0.5))}>+</button>
        <button type="button" title="Later (→)" onClick={() => to(moved(range, kStep))}>›</button>
      </span>
      <span class="buttons">
        {kLive.map(({ key, label, seconds }) => (
          <button type="button" title={`Last ${label} (${key})`} aria-pressed={range.last_s === seconds}
            onClick={() => to(lastParams(seconds))}>{label}</button>
        ))}
      </span>
      <form onSubmit={at}>
        <input name="at" placeholder="go to 17:05" aria-label="At a time, local" autocomplete="off"
          aria-invalid={wrong} title={`In the zone beside the times: ${kMomentForms}`} />
        {wrong && <span class="wrong bad" role="alert">Not a time. Write {kMomentForms}</span>}
      </form>
    </div>
  );
}
