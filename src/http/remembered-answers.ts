import { readyAgain, type TaggedAnswer } from './tagged-answer.js';

/**
 * Answers that were given since the last record of the log. Pages and bots ask the same of a pool again and again, and
 * most of the time nothing has happened in between; then looking the answer up takes a tenth of making it. What was
 * asked only once is not kept: holding on to answers that nobody asks for again costs more than making some of them
 * twice.
 */
export class RememberedAnswers {
  /** By path and query. */
  readonly #answers = new Map<string, Map<string, TaggedAnswer>>();
  /** Queries of whatever path. */
  readonly #askedOnce = new Set<string>();
  #askedOnceBytes = 0;
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;
  /** What was found last: to see that a query is the same takes a twentieth of looking it up, which hashes it. */
  #last: { readonly path: string; readonly query: string; readonly found: TaggedAnswer } | null = null;

  /**
   * `maxBytes`: of all answers with their paths and queries; one that does not fit takes the place of all before.
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `path`: one of the service's own. `index`: of the last record. What was answered at another is forgotten. */
  find(path: string, query: string, index: number): TaggedAnswer | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    if (this.#last?.query === query && this.#last.path === path) return this.#last.found;
    const found = this.#answers.get(path)?.get(query);
    if (found !== undefined) this.#last = { path, query, found };
    return found;
  }

  /** After `find` of the same and `index`. */
  keep(path: string, query: string, made: TaggedAnswer): void {
    if (!this.#askedOnce.has(query)) {
      this.#note(query);
      return;
    }
    const bytes = path.length + query.length + made.answer.body.length;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#forgetAnswers();
    this.#of(path).set(query, readyAgain(made));
    this.#bytes += bytes;
  }

  /**
   * Takes no more than a share of the room: what outlives a collection of garbage or two costs more than it is worth.
   */
  #note(query: string): void {
    const maxBytes = this.#maxBytes / ASKED_ONCE_SHARE;
    if (this.#askedOnceBytes + query.length > maxBytes) this.#forgetAskedOnce();
    if (query.length > maxBytes) return;
    this.#askedOnce.add(query);
    this.#askedOnceBytes += query.length;
  }

  #of(path: string): Map<string, TaggedAnswer> {
    let answers = this.#answers.get(path);
    if (answers === undefined) {
      answers = new Map();
      this.#answers.set(path, answers);
    }
    return answers;
  }

  #clear(): void {
    if (this.#askedOnce.size > 0) this.#forgetAskedOnce();
    if (this.#bytes > 0) this.#forgetAnswers();
  }

  #forgetAskedOnce(): void {
    this.#askedOnce.clear();
    this.#askedOnceBytes = 0;
  }

  #forgetAnswers(): void {
    this.#last = null;
    for (const answers of this.#answers.values()) answers.clear();
    this.#bytes = 0;
  }
}

/** How many times as much room answers have as the queries that were asked once. */
const ASKED_ONCE_SHARE = 16;
