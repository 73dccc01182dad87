// Asking the collector. One function for all of /api/v1/, so that a new answer is one line in messages.ts.
import type { Answers, Orders, Selection, SeriesAnswer } from './messages';
import { answered, notAnswered } from './reach';
import { readJson } from './shown_text';
import { readSeriesAnswer } from './wire';

// Why there is no answer: the HTTP status (0: none came) and what it said. `lost`: the collector could not be reached.
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly lost = false) {
    super(message);
  }
}

const kTimeoutMs = 30_000;

async function post(name: string, question: object, accept: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/v1/${name}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: accept },
      body: JSON.stringify(question),
      signal: AbortSignal.any([signal, AbortSignal.timeout(kTimeoutMs)]),
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const late = error instanceof DOMException && error.name === 'TimeoutError';
    if (late) throw new Refusal(0, `The collector did not answer within ${kTimeoutMs / 1000} s.`);
    notAnswered();
    throw new Refusal(0, 'The collector cannot be reached, or your certificate is no longer accepted.', true);
  }
  answered();
  if (response.ok) return response;
  const text = await response.text();
  let message = text;
  try {
    message = readJson<{ error: string }>(text).error;
  } catch {
    // Not JSON: something between here and the collector answered; its words are better than none.
  }
  throw new Refusal(response.status, message || response.statusText);
}

export async function ask<Name extends keyof Answers>(
  name: Name, question: object, signal: AbortSignal): Promise<Answers[Name]> {
  return readJson<Answers[Name]>(await (await post(name, question, 'application/json', signal)).text());
}

// Changes something. Nothing takes it back on its way: who leaves the view has given it all the same. The collector
// takes it from a page of its own alone (`Origin` and `Sec-Fetch-Site`, which browsers set, and a body of JSON).
export async function give<Name extends keyof Orders>(name: Name, order: Orders[Name]): Promise<void> {
  await post(name, order, 'application/json', new AbortController().signal);
}

export interface SeriesQuestion {
  selection: Selection;
  vitals: string[];
  per_node?: boolean;
  max_points?: number;
  per_second?: boolean;
  backlog?: boolean;
  process?: string;
}

export async function askSeries(question: SeriesQuestion, signal: AbortSignal): Promise<SeriesAnswer> {
  const response = await post('series', question, 'application/x-protobuf', signal);
  return readSeriesAnswer(new Uint8Array(await response.arrayBuffer()));
}
