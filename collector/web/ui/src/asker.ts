// One question at a time, the newest in the end. Where only time moved on, a newer one waits until the one before is
// answered: an answer that takes longer than time takes to move on would never be seen otherwise.
export interface Question<T> {
  same: string;     // what is asked but for its moments
  address: string;  // of the view; people change it, time does not
  put: (signal: AbortSignal) => Promise<T>;
  answered: (value: T) => void;
  failed: (problem: unknown) => void;
}

function onlyMoved<T>(from: Question<T>, to: Question<T>): boolean {
  return from.same === to.same && from.address === to.address;
}

export class Asker<T> {
  private running: { question: Question<T>; abort: AbortController } | undefined;
  private next: Question<T> | undefined;

  ask(question: Question<T>): void {
    if (this.running !== undefined && onlyMoved(this.running.question, question)) {
      this.next = question;
      return;
    }
    this.stop();
    this.put(question);
  }

  stop(): void {
    this.running?.abort.abort();
    this.running = undefined;
    this.next = undefined;
  }

  private put(question: Question<T>): void {
    const abort = new AbortController();
    this.running = { question, abort };
    const done = (tell: () => void) => {
      if (abort.signal.aborted) return;
      const { next } = this;
      this.running = undefined;
      this.next = undefined;
      if (next !== undefined) this.put(next);
      tell();
    };
    question.put(abort.signal).then((value) => done(() => question.answered(value)),
                                    (problem: unknown) => done(() => question.failed(problem)));
  }
}
