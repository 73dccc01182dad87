// What the collector tells by itself while a live view is seen: that an epoch is there, and each second of one node; or,
// while incidents are, that one changed. One stream a page, closed while the page is hidden: browsers allow a site only a
// few. When it fails the views ask again and again instead, and say so.
import { useEffect, useState } from 'preact/hooks';
import type { LiveNews } from './messages';
import { readJson } from './shown_text';

const kKept = 60;  // seconds
const kAgain_ms = 15_000;
// Epochs are told this long after the first of them: those of a fleet come in hundreds.
const kQuiet_ms = 500;
const kQuietFleet_ms = 5000;

export interface Second {
  end_s: number;
  rates: Map<string, number>;
}

export type Told = 'nothing' | 'epochs' | 'incidents';

export interface Feed {
  state: 'off' | 'told' | 'asked';  // off: nothing is live, or it is not known yet
  why: string;       // of 'asked'; or why there are no seconds
  epochs: number;    // grows with each news of epochs
  incidents: number;  // grows with each news of incidents, and when the stream begins: what changed before is not told
  seconds: Second[];  // oldest first
  dropped: number;   // news this page was too slow for
}

const kOff: Feed = { state: 'off', why: '', epochs: 0, incidents: 0, seconds: [], dropped: 0 };

function off(before: Feed): Feed {
  return { ...kOff, epochs: before.epochs, incidents: before.incidents };
}

function addressOf(told: Told, node: string): string {
  if (told === 'incidents') return '/api/v1/incidents/follow';
  return `/api/v1/live${node === '' ? '' : `?node=${encodeURIComponent(node)}`}`;
}

function withSecond(feed: Feed, news: LiveNews): Feed {
  const { end_s, vitals } = news.second!;
  const second = { end_s, rates: new Map(vitals.map(({ vital, rate }) => [vital, rate])) };
  const before = feed.seconds.filter((other) => other.end_s < end_s && other.end_s >= end_s - kKept);
  return { ...feed, why: '', seconds: [...before, second], dropped: news.dropped };
}

// `node`: of epochs, whose and its seconds; empty: all nodes'.
export function useFeed(told: Told, node: string): Feed {
  const [feed, setFeed] = useState(kOff);
  const address = addressOf(told, node);
  useEffect(() => {
    if (told === 'nothing') {
      setFeed(off);
      return undefined;
    }
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let soon: ReturnType<typeof setTimeout> | undefined;
    const on = (name: string, take: (before: Feed, news: LiveNews) => Feed) =>
      source!.addEventListener(name, (event) => {
        const news = readJson<LiveNews>((event as MessageEvent<string>).data);
        setFeed((before) => take(before, news));
      });
    const close = () => {
      clearTimeout(again);
      clearTimeout(soon);
      soon = undefined;
      source?.close();
      source = undefined;
    };
    const open = () => {
      close();
      if (document.hidden) return;
      source = new EventSource(address);
      const together = (name: string, quiet_ms: number, take: (before: Feed) => Feed) =>
        source!.addEventListener(name, () => {
          soon ??= setTimeout(() => {
            soon = undefined;
            setFeed(take);
          }, quiet_ms);
        });
      on('begin', (before) => ({ ...before, state: 'told', why: '', incidents: before.incidents + 1 }));
      on('second', withSecond);
      on('trouble', (before, news) => ({ ...before, why: news.trouble!.text }));
      together('epoch', node === '' ? kQuietFleet_ms : kQuiet_ms,
               (before) => ({ ...before, epochs: before.epochs + 1 }));
      together('incident', kQuiet_ms,
               (before) => ({ ...before, state: 'told', why: '', incidents: before.incidents + 1 }));
      source.onerror = () => {
        close();
        setFeed((before) => ({ ...before, state: 'asked', seconds: [],
                               why: 'the collector’s live stream broke off or was refused' }));
        again = setTimeout(open, kAgain_ms);
      };
    };
    setFeed(off);
    open();
    document.addEventListener('visibilitychange', open);
    return () => {
      document.removeEventListener('visibilitychange', open);
      close();
    };
  }, [told, address]);
  return feed;
}
