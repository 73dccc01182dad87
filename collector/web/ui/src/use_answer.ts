// An answer as a component sees it: loading, refused, or there. While a new one is on its way, and where the newest
// question failed, the old one stays: whether to show it then is for the view to say.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Refusal } from './api';
import { Asker } from './asker';

export interface Asked<T> {
  value?: T;
  problem?: unknown;
  loading: boolean;
  same: boolean;  // `value` answers this question, if perhaps of another time
}

const kAgain_ms = 5000;  // where the collector was not reached

// The same question about another time is the same but for moments, which are seconds since 1970.
export function withoutMoments(key: string): string {
  return key.replace(/\b\d{9,}(\.\d+)?\b/g, '');
}

// `subject` says what is asked, `tick` that it is asked anew: the same two ask nothing new.
export function useAnswer<T>(subject: string, question: (signal: AbortSignal) => Promise<T>,
                             tick: string | number = ''): Asked<T> {
  const key = `${subject} ${tick}`;
  const same = withoutMoments(subject);
  const [asked, setAsked] = useState<Omit<Asked<T>, 'same'> & { key: string; of?: string }>({ key, loading: true });
  const [attempt, setAttempt] = useState(0);
  const asker = useMemo(() => new Asker<T>(), []);
  useEffect(() => {
    setAsked((before) => ({ ...before, key, loading: true }));
    asker.ask({
      same, address: location.href, put: question,
      answered: (value) => setAsked({ key, value, of: same, loading: false }),
      failed: (problem) => setAsked((before) => ({ ...before, key, problem, loading: false })),
    });
  }, [key, attempt]);
  useEffect(() => () => asker.stop(), []);
  // What another question was answered is old from the moment on that this one is put.
  const loading = asked.loading || asked.key !== key;
  useEffect(() => {
    if (loading || !(asked.problem instanceof Refusal && asked.problem.lost)) return undefined;
    const again = setTimeout(() => setAttempt((count) => count + 1), kAgain_ms);
    return () => clearTimeout(again);
  }, [asked, loading]);
  return { ...asked, loading, same: asked.of === same };
}
