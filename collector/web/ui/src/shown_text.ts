// Text of an answer as it is to be seen. Characters that reorder or hide their neighbours, and controls, would make a name
// look like another: they stand as \x1b or \u{202e}. The collector takes none from agents; the page does not rely on it.
const kHidden = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f'
  + '\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]', 'gu');
// In JSON they may also be escaped; most answers have none, and are read without looking at each text. The collector
// escapes < and > in every answer that has them.
const kEscaped = /\\u(?!003[ce])|\\[bfr]/i;

function shown(text: string): string {
  return text.replace(kHidden, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
  });
}

export function readJson<T>(text: string): T {
  if (text.search(kHidden) < 0 && !kEscaped.test(text)) return JSON.parse(text) as T;
  return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? shown(value) : value)) as T;
}
