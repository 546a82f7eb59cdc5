export interface AnswerLimits {
  /** Of the bodies that clients have not taken yet; beyond it the oldest of these answers is cut off. */
  readonly unfinishedAnswersBytes: number;
  /** A client has so long for its answer, and a second for each of so many bytes of the body. */
  readonly answerGraceMs: number;
  readonly leastAnswerBytesPerSecond: number;
}

interface Unfinished {
  readonly body: object;
  readonly bytes: number;
  readonly deadline: NodeJS.Timeout;
}

/** An answer whose connection can be closed. */
interface Cuttable {
  cut(): void;
}

/**
 * Answers that their clients have not taken yet. A client that reads slowly holds its answer in memory, and it may have
 * any number of connections: all of them share a budget, and each has a deadline.
 */
export class UnfinishedAnswers {
  readonly #limits: AnswerLimits;
  /** Oldest first. */
  readonly #answers = new Map<Cuttable, Unfinished>();
  /** Answers by their body: one that many share is in memory once. */
  readonly #readers = new Map<object, number>();
  #bytes = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** `body`: the object that is in memory until the last answer with it ends. */
  begin(answer: Cuttable, body: object, bytes: number): void {
    const { unfinishedAnswersBytes, answerGraceMs, leastAnswerBytesPerSecond } = this.#limits;
    const timeMs = answerGraceMs + (bytes / leastAnswerBytesPerSecond) * 1000;
    const deadline = setTimeout(() => answer.cut(), timeMs).unref();
    this.#answers.set(answer, { body, bytes, deadline });
    const readers = this.#readers.get(body) ?? 0;
    this.#readers.set(body, readers + 1);
    if (readers === 0) this.#bytes += bytes;
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= unfinishedAnswersBytes || oldest === answer) return;
      this.end(oldest);
      oldest.cut();
    }
  }

  /** It was taken, or its connection is gone. Nothing happens where it never began. */
  end(answer: Cuttable): void {
    const unfinished = this.#answers.get(answer);
    if (unfinished === undefined) return;
    clearTimeout(unfinished.deadline);
    this.#answers.delete(answer);
    const readers = (this.#readers.get(unfinished.body) ?? 0) - 1;
    if (readers > 0) this.#readers.set(unfinished.body, readers);
    else {
      this.#readers.delete(unfinished.body);
      this.#bytes -= unfinished.bytes;
    }
  }
}
