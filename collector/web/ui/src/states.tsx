// What a view shows when it has nothing to show: on its way, nothing there, refused.
import type { ComponentChildren } from 'preact';
import { Refusal } from './api';
import { localText } from './times';
import type { Asked } from './use_answer';

export function Loading() {
  return <p class="state" role="status">Asking the collector …</p>;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="state" role="status">{children}</div>;
}

function NoPermission({ message }: { message: string }) {
  return (
    <div class="state" role="alert">
      <h2>You may not read here</h2>
      <p>{message}</p>
      <p>If you could until now, your certificate expired or was revoked: you need a new one.</p>
      <p>Reading needs the certificate of a viewer or an operator, imported into this browser. On a machine with the
        authority's key:</p>
      <pre>{'telltale pki issue --dir PKI --role viewer --name you\n'
        + 'openssl pkcs12 -export -in PKI/viewer-you.crt -inkey PKI/viewer-you.key -out you.p12'}</pre>
      <p>Import <code>you.p12</code> in the browser's settings under certificates, then load this page again.</p>
    </div>
  );
}

export function Problem({ problem }: { problem: unknown }) {
  if (problem instanceof Refusal && (problem.status === 401 || problem.status === 403)) {
    return <NoPermission message={problem.message} />;
  }
  const message = problem instanceof Error ? problem.message : String(problem);
  const status = problem instanceof Refusal && problem.status > 0 ? ` (HTTP ${problem.status})` : '';
  return (
    <div class="state" role="alert">
      <h2>No answer{status}</h2>
      <p>{message}</p>
      <button type="button" onClick={() => location.reload()}>Ask again</button>
    </div>
  );
}

// Over a view that is kept although the collector no longer answers.
export function Behind({ problem }: { problem: unknown }) {
  return <p class="bad" role="alert">{problem instanceof Error ? problem.message : String(problem)} What you see is from
    before; it is asked again by itself.</p>;
}

// Over everything, while the collector does not answer at all.
export function Unreachable({ since }: { since: number }) {
  return <p class="bad" role="alert">Collector not reachable since {localText(since)}, or your certificate is no longer
    accepted. What you see is from before; it is asked again by itself.</p>;
}

export function unreached({ problem }: { problem?: unknown }): boolean {
  return problem instanceof Refusal && problem.lost;
}

// The value once it is there; dimmed while a newer one is on its way.
export function Answered<T>({ asked, children }: { asked: Asked<T>; children: (value: T) => ComponentChildren }) {
  // What was there before stays while the collector is gone, and is seen to be old.
  const kept = asked.value !== undefined && asked.same && unreached(asked);
  if (asked.problem !== undefined && !kept) return <Problem problem={asked.problem} />;
  if (asked.value === undefined) return <Loading />;
  return <div class={kept ? 'gone' : asked.loading ? 'stale' : undefined} aria-busy={asked.loading}>{children(asked.value)}</div>;
}
