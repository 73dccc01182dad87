// Moments as people write them, as the command line takes them (collector/cli/human_time.cc): "17:05", "-1h",
// "10 minutes ago", "yesterday 17:00", "last wednesday 5pm", "nov 18 noon", "2026-11-18 17:05", RFC 3339, seconds since
// 1970. Local time without a zone; what would lie ahead is of the day or week before.
export const kMomentForms = '17:05, -1h, 10 min ago, yesterday 17:00, last wednesday 5pm or 2026-11-18 17:05';

const kDays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const kMonths = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october',
                 'november', 'december'];
const kShortName = 3;
const kUnits: [RegExp, number][] = [
  [/^(s|sec|second)s?$/, 1], [/^(m|min|minute)s?$/, 60], [/^(h|hr|hour)s?$/, 3600], [/^(d|day)s?$/, 86_400],
  [/^(w|wk|week)s?$/, 604_800]];

function unitOf(word: string): number | undefined {
  return kUnits.find(([names]) => names.test(word))?.[1];
}

// Position of a name, whole or its first letters.
function nameIn(names: string[], word = ''): number | undefined {
  const at = word.length < kShortName ? -1 : names.findIndex((name) => name.startsWith(word));
  return at < 0 ? undefined : at;
}

// Seconds into the day.
function timeOfDay(word: string): number | undefined {
  if (word === 'noon') return 43_200;
  if (word === 'midnight') return 0;
  const parts = /^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(am|pm)?$/.exec(word);
  if (parts === null) return undefined;
  const [, hours = '', minutes, seconds = '0', half] = parts;
  const hour = Number(hours);
  if (half === undefined && minutes === undefined) return undefined;  // a bare number may be anything
  if (Number(minutes ?? 0) > 59 || Number(seconds) > 59) return undefined;
  if (half === undefined ? hour > 23 : hour < 1 || hour > 12) return undefined;
  const of24 = half === undefined ? hour : hour % 12 + (half === 'pm' ? 12 : 0);
  return of24 * 3600 + Number(minutes ?? 0) * 60 + Number(seconds);
}

// "-1h", "-1h30m", "now", "2 hours ago", "1h ago".
function ago(words: string[], now_s: number): number | undefined {
  if (words.length === 1 && words[0] === 'now') return now_s;
  const text = words.join('');
  const before = /^-(?:\d+(?:\.\d+)?[a-z]+)+$/.test(text) ? text.slice(1)
    : /^(?:an?|\d+(?:\.\d+)?)[a-z]+ago$/.test(text) ? text.slice(0, -3).replace(/^an?(?=[a-z]{2})/, '1') : undefined;
  if (before === undefined) return undefined;
  let sum = 0;
  for (const [, count, unit] of before.matchAll(/(\d+(?:\.\d+)?)([a-z]+)/g)) {
    const seconds = unitOf(unit!);
    if (seconds === undefined) return undefined;
    sum += Number(count) * seconds;
  }
  return sum > 0 ? now_s - sum : undefined;
}

interface Day {
  at: Date;
  weekday?: boolean;
  last?: boolean;
  used: number;  // words
}

// A date of `year` that exists.
function dateOf(year: number, month: number, day: number): Date | undefined {
  const at = new Date(year, month, day);
  return at.getMonth() === month && at.getDate() === day ? at : undefined;
}

function dayIn(words: string[], today: Date): Day | undefined {
  const [word = '', next = ''] = words;
  const shifted = (days: number) => new Date(today.getFullYear(), today.getMonth(), today.getDate() + days);
  if (word === 'today' || word === 'yesterday') return { at: shifted(word === 'today' ? 0 : -1), used: 1 };
  const last = word === 'last';
  const weekday = nameIn(kDays, last ? next : word);
  if (weekday !== undefined) {
    const back = (today.getDay() - weekday + 7) % 7;
    return { at: shifted(-(last && back === 0 ? 7 : back)), weekday: true, last, used: last ? 2 : 1 };
  }
  const full = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(word);
  const month = nameIn(kMonths, next) ?? nameIn(kMonths, word);
  const number = Number(nameIn(kMonths, next) === undefined ? next : word);
  const at = full !== null ? dateOf(Number(full[1]), Number(full[2]) - 1, Number(full[3]))
    : month !== undefined && Number.isInteger(number) ? dateOf(today.getFullYear(), month, number) : undefined;
  if (at === undefined) return undefined;
  if (full === null && at > today) at.setFullYear(at.getFullYear() - 1);
  return { at, used: full !== null ? 1 : 2 };
}

// `now_s`: what "ago" and "today" are told by.
export function readMoment(text: string, now_s: number): number | undefined {
  const trimmed = text.trim();
  if (/^\d{9,}(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/i.test(trimmed)) {
    const at = Date.parse(trimmed.replace(' ', 'T'));
    return Number.isNaN(at) ? undefined : at / 1000;
  }
  let words = trimmed.toLowerCase().replace(/(\d)t(\d)/, '$1 $2').split(/[ ,\t]+/).filter((word) => word !== '');
  const before = ago(words, now_s);
  if (before !== undefined) return before;
  const today = new Date(now_s * 1000);
  let day: Day | undefined;
  let time_s: number | undefined;
  words = words.join(' ').replace(/ (am|pm)\b/, '$1').split(' ');
  while (words.length > 0) {
    const word = words[0]!;
    if (['at', 'on', 'around'].includes(word)) {
      if (words.length === 1) return undefined;
      words.shift();
      continue;
    }
    const found = day === undefined ? dayIn(words, today) : undefined;
    if (found !== undefined) {
      day = found;
      words.splice(0, found.used);
      continue;
    }
    if (time_s !== undefined) return undefined;
    time_s = timeOfDay(word);
    if (time_s === undefined) return undefined;
    words.shift();
  }
  if (day === undefined && time_s === undefined) return undefined;
  const { at, weekday = false, last = false } = day ?? { at: today };
  const moment = (back: number) => new Date(at.getFullYear(), at.getMonth(), at.getDate() - back, 0, 0, time_s ?? 0)
    .getTime() / 1000;
  const ahead = moment(0) > now_s;
  return moment(ahead && day === undefined ? 1 : ahead && weekday && !last ? 7 : 0);
}
