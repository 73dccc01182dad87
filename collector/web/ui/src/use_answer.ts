// An answer as a component sees it: loading, refused, or there. While a new one is on its way, and where the newest
// question failed, the old one stays: whether to show it then is for the view to say.
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Asked<T> {
  value?: T;
  problem?: unknown;
  loading: boolean;
}

// `key` says what is asked: the same key asks nothing new.
export function useAnswer<T>(key: string, question: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { key: string }>({ key, loading: true });
  const latest = useRef(question);
  latest.current = question;
  useEffect(() => {
    const abort = new AbortController();
    setAsked((before) => ({ ...before, key, loading: true }));
    latest.current(abort.signal).then(
      (value) => !abort.signal.aborted && setAsked({ key, value, loading: false }),
      (problem: unknown) => !abort.signal.aborted && setAsked((before) => ({ ...before, key, problem, loading: false })),
    );
    return () => abort.abort();
  }, [key]);
  // What another question was answered is old from the moment on that this one is put.
  return { ...asked, loading: asked.loading || asked.key !== key };
}
