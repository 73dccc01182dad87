// The address is the state: each view is a path and its parameters, and what is on the screen is a function of
// them. The paths are known to collector/web/ui_files.cc too.
import { useEffect, useState } from 'preact/hooks';

export type View = '/' | '/anomalies' | '/incidents' | '/filters' | '/node' | '/selection' | '/compare';

export interface Route {
  path: string;
  params: URLSearchParams;
}

const kChanged = 'telltale:route';

function current(): Route {
  return { path: location.pathname, params: new URLSearchParams(location.search) };
}

// `changes` are laid over `base`; empty values are left out.
export function address(path: View, base: URLSearchParams, changes: Record<string, string> = {}): string {
  const params = new URLSearchParams(base);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  return query ? `${path}?${query}` : path;
}

export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  dispatchEvent(new Event(kChanged));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const read = () => setRoute(current());
    addEventListener('popstate', read);
    addEventListener(kChanged, read);
    return () => {
      removeEventListener('popstate', read);
      removeEventListener(kChanged, read);
    };
  }, []);
  return route;
}
