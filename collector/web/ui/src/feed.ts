// What the collector tells by itself while a live view is seen: that an epoch is there, and each second of one node.
// One stream a page, closed while the page is hidden: browsers allow a site only a few. When it fails the views ask
// again and again instead, and say so.
import { useEffect, useState } from 'preact/hooks';
import type { LiveNews } from './messages';

const kKept = 60;  // seconds
const kAgain_ms = 15_000;
// Epochs are told this long after the first of them: those of a fleet come in hundreds.
const kQuiet_ms = 500;
const kQuietFleet_ms = 5000;

export interface Second {
  end_s: number;
  rates: Map<string, number>;
}

export interface Feed {
  state: 'off' | 'told' | 'asked';  // off: nothing is live, or it is not known yet
  why: string;       // of 'asked'; or why there are no seconds
  epochs: number;    // grows with each news of epochs
  seconds: Second[];  // oldest first
  dropped: number;   // news this page was too slow for
}

const kOff: Feed = { state: 'off', why: '', epochs: 0, seconds: [], dropped: 0 };

function withSecond(feed: Feed, news: LiveNews): Feed {
  const { end_s, vitals } = news.second!;
  const second = { end_s, rates: new Map(vitals.map(({ vital, rate }) => [vital, rate])) };
  const before = feed.seconds.filter((other) => other.end_s < end_s && other.end_s >= end_s - kKept);
  return { ...feed, why: '', seconds: [...before, second], dropped: news.dropped };
}

// `node`: whose seconds are wanted; empty: epochs of all nodes.
export function useFeed(live: boolean, node: string): Feed {
  const [feed, setFeed] = useState(kOff);
  useEffect(() => {
    if (!live) {
      setFeed((before) => ({ ...kOff, epochs: before.epochs }));
      return undefined;
    }
    let source: EventSource | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let told: ReturnType<typeof setTimeout> | undefined;
    const on = (name: string, take: (before: Feed, news: LiveNews) => Feed) =>
      source!.addEventListener(name, (event) => {
        const news = JSON.parse((event as MessageEvent<string>).data) as LiveNews;
        setFeed((before) => take(before, news));
      });
    const close = () => {
      clearTimeout(again);
      clearTimeout(told);
      told = undefined;
      source?.close();
      source = undefined;
    };
    const open = () => {
      close();
      if (document.hidden) return;
      source = new EventSource(`/api/v1/live${node === '' ? '' : `?node=${encodeURIComponent(node)}`}`);
      on('begin', (before) => ({ ...before, state: 'told', why: '' }));
      on('second', withSecond);
      on('trouble', (before, news) => ({ ...before, why: news.trouble!.text }));
      source.addEventListener('epoch', () => {
        told ??= setTimeout(() => {
          told = undefined;
          setFeed((before) => ({ ...before, epochs: before.epochs + 1 }));
        }, node === '' ? kQuietFleet_ms : kQuiet_ms);
      });
      source.onerror = () => {
        close();
        setFeed((before) => ({ ...before, state: 'asked', seconds: [],
                               why: 'the collector’s live stream broke off or was refused' }));
        again = setTimeout(open, kAgain_ms);
      };
    };
    setFeed((before) => ({ ...kOff, epochs: before.epochs }));
    open();
    document.addEventListener('visibilitychange', open);
    return () => {
      document.removeEventListener('visibilitychange', open);
      close();
    };
  }, [live, node]);
  return feed;
}
