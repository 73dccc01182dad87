// Names of code and programs, as short as they need to be: whole when pointed at.
const kLongest = 90;
const kTail = 0.4;  // what is called stands at the end, before its arguments

// The name of a program's file; a kernel thread's, "[kworker/0:1]", is no path.
export function programName(exe: string): string {
  return exe.startsWith('[') ? exe : exe.split('/').pop() ?? '';
}

// Template arguments first, the innermost of all; what is still too long loses its middle.
export function shortName(name: string, most = kLongest): string {
  let short = name;
  for (let inner = short; short.length > most; short = inner) {
    inner = short.replace(/<[^<>…][^<>]*>/g, '‹…›');
    if (inner === short) break;
  }
  short = short.replaceAll('‹…›', '<…>');
  if (short.length <= most) return short;
  const tail = Math.floor(most * kTail);
  return `${short.slice(0, most - tail - 1)}…${short.slice(-tail)}`;
}

// Which process: "4711", "4711 on db-1" where what is looked at is of several nodes.
export function placeOf({ pid, node }: { pid: number; node: string }, several: boolean): string {
  return [pid > 0 ? String(pid) : '', several && node !== '' ? `on ${node}` : ''].filter((part) => part !== '').join(' ');
}

export function Code({ name, title = name }: { name: string; title?: string }) {
  const short = shortName(name);
  return <span title={title}>{short}</span>;
}
