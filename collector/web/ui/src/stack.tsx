// A stack, leaf first, and why it ends where it ends.
import type { Frame } from './messages';
import { Code, programName } from './names';

export function Stack({ kernel, user, kernelEnd, userEnd }:
  { kernel: Frame[]; user: Frame[]; kernelEnd?: string; userEnd?: string }) {
  const end = (text?: string) =>
    text && text !== 'complete' ? <li class="dim">… {text.replaceAll('_', ' ')}</li> : null;
  const row = (frame: Frame) => (
    <li class={frame.kernel ? 'kernel' : 'user'}><Code name={frame.name} /> <small>{programName(frame.binary)}</small></li>);
  if (kernel.length + user.length === 0) return <p class="dim">No stack.</p>;
  return <ol class="stack">{kernel.map(row)}{end(kernelEnd)}{user.map(row)}{end(userEnd)}</ol>;
}
