/** Answers one socket's calls in the order in which they came, while they are carried out at the same time. */
export class AnswerQueue {
  #waiting = 0;
  #lastAnswer: Promise<void> = Promise.resolve();

  /** Calls without an answer. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Calls `answer` once the call and all before it have settled; `fail` where the call was rejected. */
  add<T>(call: Promise<T>, answer: (outcome: T) => void, fail: (fault: unknown) => void): void {
    this.#waiting += 1;
    const settled = call.then(
      (outcome) => () => answer(outcome),
      (fault: unknown) => () => fail(fault),
    );
    this.#lastAnswer = this.#lastAnswer.then(async () => {
      const send = await settled;
      this.#waiting -= 1;
      send();
    });
  }
}
