// Moments, in the reader's time zone with UTC at hand.
function two(value: number): string {
  return String(value).padStart(2, '0');
}

export function dateText(at_s: number): string {
  const at = new Date(at_s * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function clockText(at_s: number, seconds = true): string {
  const at = new Date(at_s * 1000);
  const text = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return seconds ? `${text}:${two(at.getSeconds())}` : text;
}

export function localText(at_s: number): string {
  return `${dateText(at_s)} ${clockText(at_s)}`;
}

export function utcText(at_s: number): string {
  return `${new Date(at_s * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

// "UTC", "UTC+05:30 (Asia/Calcutta)": of all moments that are shown, at `at_s`.
export function zoneText(at_s: number): string {
  const east_min = -new Date(at_s * 1000).getTimezoneOffset();
  const size = Math.abs(east_min);
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (east_min === 0 && /^(UTC|Etc\/.*)?$/.test(name)) return 'UTC';
  const offset = `UTC${east_min < 0 ? '−' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return name ? `${offset} (${name})` : offset;
}

// Said once, beside the times.
export function Zone({ at }: { at: number }) {
  return <abbr class="zone" title={`Time zone of this browser, for all times here. At the end of what is shown it is ${utcText(at)}`}>
    {zoneText(at)}</abbr>;
}

// `short`: without the date, beside others of one day.
export function Time({ at, short = false }: { at: number; short?: boolean }) {
  const text = short ? clockText(at) : localText(at);
  return <time dateTime={new Date(at * 1000).toISOString()} title={utcText(at)}>{text}</time>;
}

// "2026-11-18 17:00:00 to 17:05:00"
export function Span({ start, end }: { start: number; end: number }) {
  const short = dateText(start) === dateText(end);
  return (
    <>
      <Time at={start} /> to{' '}
      <Time at={end} short={short} />
    </>
  );
}
