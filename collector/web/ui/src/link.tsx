// A link within the interface: a real address, followed without loading the page again.
import type { ComponentChildren } from 'preact';
import { go } from './route';

interface Props {
  to: string;
  class?: string;
  title?: string;
  current?: boolean;
  children: ComponentChildren;
}

export function Link({ to, current, children, ...rest }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  };
  return <a href={to} onClick={follow} aria-current={current ? 'page' : undefined} {...rest}>{children}</a>;
}
