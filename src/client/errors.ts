/** The server answered a message with ERROR; the text is its own. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  /** In how long to try again, where the server says so; else null. */
  readonly retryAfterMs: number | null;

  /**
   * `code`: the stable name of the error, as docs/reference/errors.md lists them; null: an older server sent none.
   * `details`: what the answer of the HTTP call would say besides, such as `pending`; null: nothing.
   */
  constructor(
    message: string,
    readonly code: string | null = null,
    readonly details: object | null = null,
  ) {
    super(message);
    const { retryAfterMs } = isObject(details) ? details : {};
    this.retryAfterMs = typeof retryAfterMs === 'number' ? retryAfterMs : null;
  }
}

/** The server refused what takes a key with a scope. Not by class: a bundle may have two copies of it. */
export function lacksScope(error: unknown): boolean {
  return isObject(error) && error.code === 'missing_scope';
}

/** The connection, or the time for the answer, ended before it came: what was asked may or may not have been done. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';

  constructor(message = 'The connection ended before the answer came') {
    super(message);
  }
}

/** One thing wrong with a query or a body, in AJV's words. */
export interface SchemaProblem {
  readonly instancePath: string;
  readonly message: string;
}

/** A call was answered with a status other than 2xx, or with a body that is not JSON. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** The stable name of the error, as docs/reference/errors.md lists them; null: a proxy or an older server answered. */
  readonly code: string | null;
  /** Whether the same call may succeed later; null: as of `code`. */
  readonly retryable: boolean | null;
  /** The one input at fault: its name, or its place in the body, parted by dots; null: none, or not said. */
  readonly param: string | null;
  /** Of a 400: what is wrong with the query or the body, the first first; else empty. */
  readonly problems: readonly SchemaProblem[];
  /** Of a 504 of `postQuotes`: ids that may still enter; else empty. */
  readonly pending: readonly `0x${string}`[];
  /** In how long to try again, where the server says so in seconds; else null. */
  readonly retryAfterMs: number | null;
  /** Of a 410: the oldest event that the server still answers about; else null. */
  readonly oldestSeq: number | null;
  /** Finds the call in the server's log; null: it did not come that far. */
  readonly requestId: string | null;

  constructor(status: number, body: unknown, header: (name: string) => string | null) {
    const fields = isObject(body) ? body : {};
    const { code, retryable, param, pending, oldest } = fields;
    // Problem details (RFC 9457) have the list in a member; an older server sends the list alone.
    const list = fields.errors ?? body;
    const problems = Array.isArray(list) ? (list as SchemaProblem[]) : [];
    const text = fields.detail ?? fields.message;
    const [first] = problems;
    super(
      first !== undefined ? `${place(first)} ${first.message}` : typeof text === 'string' ? text : `HTTP ${status}`,
    );
    this.status = status;
    this.code = typeof code === 'string' ? code : null;
    this.retryable = typeof retryable === 'boolean' ? retryable : null;
    this.param = typeof param === 'string' ? param : null;
    this.problems = problems;
    this.pending = Array.isArray(pending) ? (pending as `0x${string}`[]) : [];
    this.oldestSeq = isObject(oldest) && typeof oldest.seq === 'number' ? oldest.seq : null;
    const retryAfter = header('retry-after');
    // A proxy may say it as a date (RFC 9110, 10.2.3), of a clock that nobody here knows.
    this.retryAfterMs = retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : null;
    this.requestId = header('x-request-id');
  }
}

function place({ instancePath }: SchemaProblem): string {
  return instancePath === '' ? 'the request' : instancePath;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
