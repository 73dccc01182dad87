// The answer as a file for other programs: a plain link that the collector answers with an attachment.
import type { Answers, Selection } from './messages';

interface Props {
  answer: keyof Answers | 'stacks';
  formats: string[];  // of collector/formats/export.h
  selection: Selection;
  vital: string;
  process: string;
}

export function Download({ answer, formats, selection, vital, process }: Props) {
  const link = (format: string) => {
    const drawn = format === 'svg';  // another answer of the same question
    const of = drawn ? 'stacks.' : '';
    const params = new URLSearchParams({ format });
    for (const node of selection.nodes ?? []) params.append(`${of}selection.nodes`, node);
    params.set(`${of}selection.start_s`, String(selection.start_s));
    params.set(`${of}selection.end_s`, String(selection.end_s));
    if (vital !== '') params.set(`${of}vital`, vital);
    if (process !== '') params.set(`${of}process`, process);
    return `/api/v1/${drawn ? 'flame' : answer}?${params.toString()}`;
  };
  return <small class="download">as {formats.map((format, i) =>
    <>{i > 0 && ', '}<a href={link(format)} download>{format}</a></>)}</small>;
}
