import type { NetResponse } from '../net/net.js';

/**
 * Answers that were given since the book last changed. Pages and bots ask the same of a pool again and again, and most of the
 * time nothing has happened in between; then looking the answer up takes a tenth of making it. What was asked only once is not
 * kept: holding on to answers that nobody asks for again costs more than making some of them twice.
 */
export class RememberedAnswers {
  /** By target; null: asked for once. */
  readonly #answers = new Map<string, NetResponse | null>();
  readonly #maxBytes: number;
  #bytes = 0;
  #seq = -1;

  /** `maxBytes`: of all bodies and targets together; an answer that does not fit takes the place of all before. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `seq`: the engine's last event. What was answered at another is forgotten. */
  find(target: string, seq: number): NetResponse | undefined {
    if (seq !== this.#seq) {
      this.#clear();
      this.#seq = seq;
    }
    return this.#answers.get(target) ?? undefined;
  }

  /** After `find` of the same target and `seq`. */
  keep(target: string, answer: NetResponse): void {
    const isAskedAgain = this.#answers.has(target);
    const bytes = isAskedAgain ? answer.body.length : target.length;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#clear();
    this.#answers.set(target, isAskedAgain ? inBytes(answer) : null);
    this.#bytes += bytes;
  }

  #clear(): void {
    if (this.#bytes === 0) return;
    this.#answers.clear();
    this.#bytes = 0;
  }
}

/** As it goes out: a text is written as bytes each time. */
function inBytes(answer: NetResponse): NetResponse {
  return typeof answer.body === 'string' ? { ...answer, body: Buffer.from(answer.body) } : answer;
}
