import type { NetResponse } from '../net/net.js';
import { SharedHeaders } from '../net/shared-headers.js';

/** An answer that is ready to be given again. */
export interface Remembered {
  /** Undefined: it has none. */
  readonly etag: string | undefined;
  readonly answer: NetResponse;
}

/**
 * Answers that were given since the last record of the log. Pages and bots ask the same of a pool again and again, and
 * most of the time nothing has happened in between; then looking the answer up takes a tenth of making it. What was
 * asked only once is not kept: holding on to answers that nobody asks for again costs more than making some of them
 * twice.
 */
export class RememberedAnswers {
  /** By path and query; null: asked for once. */
  readonly #answers = new Map<string, Map<string, Remembered | null>>();
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;
  /** What was found last: to see that a query is the same takes a twentieth of looking it up, which hashes it. */
  #last: { readonly path: string; readonly query: string; readonly found: Remembered } | null = null;

  /**
   * `maxBytes`: of all bodies, paths and queries together; an answer that does not fit takes the place of all before.
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `path`: one of the service's own. `index`: of the last record. What was answered at another is forgotten. */
  find(path: string, query: string, index: number): Remembered | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    if (this.#last?.query === query && this.#last.path === path) return this.#last.found;
    const found = this.#answers.get(path)?.get(query) ?? undefined;
    if (found !== undefined) this.#last = { path, query, found };
    return found;
  }

  /** After `find` of the same and `index`. */
  keep(path: string, query: string, answer: NetResponse): void {
    const isAskedAgain = this.#answers.get(path)?.has(query) === true;
    const bytes = isAskedAgain ? answer.body.length : path.length + query.length;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#clear();
    this.#of(path).set(query, isAskedAgain ? readyAgain(answer) : null);
    this.#bytes += bytes;
  }

  #of(path: string): Map<string, Remembered | null> {
    let answers = this.#answers.get(path);
    if (answers === undefined) {
      answers = new Map();
      this.#answers.set(path, answers);
    }
    return answers;
  }

  #clear(): void {
    if (this.#bytes === 0) return;
    this.#last = null;
    for (const answers of this.#answers.values()) answers.clear();
    this.#bytes = 0;
  }
}

const NO_HEADERS = {};

/** As it goes out: a text would be written as bytes each time, and headers be joined. */
function readyAgain({ status, headers, body }: NetResponse): Remembered {
  const shared = [new SharedHeaders(headers)];
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { etag: headers.etag, answer: { status, headers: NO_HEADERS, shared, body: bytes } };
}
