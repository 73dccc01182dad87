// Which time is looked at: last 15 m ..., a moment typed in, or steps to either side.
import { useState } from 'preact/hooks';
import type { Feed } from './feed';
import { useKeys } from './keys';
import { address, go, type Route, type View } from './route';
import { fixedParams, kLive, lastParams, moved, zoomed, type TimeRange } from './time_range';
import { dateText, Span } from './times';
import { duration } from './units';

const kStep = 0.5;

// "17:03", "2026-11-18 17:03" or "2026-11-18T17:03:20Z"; local time without a zone.
export function readMoment(text: string, today_s: number): number | undefined {
  const trimmed = text.trim();
  const full = /^\d{1,2}:\d{2}(:\d{2})?$/.test(trimmed) ? `${dateText(today_s)} ${trimmed.padStart(5, '0')}` : trimmed;
  const at = Date.parse(full.replace(' ', 'T'));
  return Number.isNaN(at) ? undefined : at / 1000;
}

interface Props {
  route: Route;
  range: TimeRange;
  epoch_s: number;  // of the node that is looked at
  feed: Feed;
  every_s: number;  // how often it is asked where nobody tells
}

function LiveMark({ feed, every_s }: { feed: Feed; every_s: number }) {
  const every = `asked anew every ${every_s} s`;
  if (feed.state === 'told') return <b class="good" title="The collector tells when there is something new">● live</b>;
  if (feed.state === 'asked') return <b class="warn" role="status" title={feed.why}>○ {every}: {feed.why}</b>;
  return <b class="dim">○ {every}</b>;
}

export function TimeControl({ route, range, epoch_s, feed, every_s }: Props) {
  const [wrong, setWrong] = useState(false);
  const length = range.end_s - range.start_s;
  const to = (changes: Record<string, string>) => go(address(route.path as View, route.params, changes));
  const at = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('at') as HTMLInputElement;
    const moment = readMoment(field.value, range.end_s);
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
        <Span start={range.start_s} end={range.end_s} />
        {range.last_s === undefined ? <b>{duration(length)}</b> : <LiveMark feed={feed} every_s={every_s} />}
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
          aria-invalid={wrong}
          title={`${wrong ? 'Not a time; write' : 'Local time,'} 17:05 or 2026-11-18 17:05`} />
      </form>
    </div>
  );
}
