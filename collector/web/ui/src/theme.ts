// Dark or light: the reader's choice, kept in this browser; without one, the system's. Drawings ask for the colours
// of the style sheet, and are drawn anew when the theme changes.
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'dark' | 'light';

const kStored = 'telltale:theme';
const kChanged = 'telltale:theme-changed';

function initial(): Theme {
  const stored = localStorage.getItem(kStored);
  if (stored === 'dark' || stored === 'light') return stored;
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

let shown = initial();
document.documentElement.dataset['theme'] = shown;

export function toggleTheme(): void {
  shown = shown === 'dark' ? 'light' : 'dark';
  localStorage.setItem(kStored, shown);
  document.documentElement.dataset['theme'] = shown;
  dispatchEvent(new Event(kChanged));
}

export function useShownTheme(): Theme {
  const [theme, setTheme] = useState(shown);
  useEffect(() => {
    const changed = () => setTheme(shown);
    addEventListener(kChanged, changed);
    return () => removeEventListener(kChanged, changed);
  }, []);
  return theme;
}

// A colour of the style sheet, for canvases.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
