import type { NetRequest, NetResponse } from '../net/net.js';
import type { ErrorCode } from '../wire/error-codes.js';
import { ERROR_CODES } from '../wire/error-codes.js';
import type { SchemaError } from '../wire/validation.js';
import { CANCEL_ON_DISCONNECT } from './protection-routes.js';
import { noOperatorScope } from './responses.js';
import type { Caller, Route } from './router.js';

/** Calls that sockets make, too, and the routes that carry them out. */
const ROUTES = {
  POST_QUOTES: { method: 'POST', path: '/quotes', query: '' },
  DRY_RUN: { method: 'POST', path: '/quotes', query: 'dryRun=true' },
  CANCEL_QUOTES: { method: 'DELETE', path: '/orderbook/quotes', query: '' },
  WITHDRAW_QUOTES: { method: 'DELETE', path: '/quotes', query: '' },
  RESTORE_QUOTES: { method: 'POST', path: '/quotes/restore', query: '' },
  PROVIDER_HEARTBEAT: { method: 'POST', path: '/heartbeat', query: '' },
  SET_FILL_LIMIT: { method: 'POST', path: '/fill_limits', query: '' },
  CANCEL_ON_DISCONNECT: { method: 'POST', path: CANCEL_ON_DISCONNECT, query: '' },
} as const;

interface Call {
  readonly name: keyof typeof ROUTES;
  readonly body: unknown;
  /** The socket is closed. */
  readonly isGone: () => boolean;
}

/** `details`: what an error says beside code and text; null: nothing. */
type Outcome =
  | { readonly ok: true; readonly body: unknown }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly message: string;
      /** Milliseconds; absent: the HTTP answer has no `Retry-After`. */
      readonly retryAfterMs?: number;
      readonly errors: readonly SchemaError[] | null;
      readonly details: Readonly<Record<string, unknown>> | null;
    };

/**
 * Calls of sockets are carried out by the routes themselves, so that the same rules, quotas and limits hold. A message
 * counts among the messages of its key, not among its requests.
 */
export function socketCalls(routes: readonly Route[]) {
  return async (caller: Caller, { name, body, isGone }: Call): Promise<Outcome> => {
    const { method, path, query } = ROUTES[name];
    const route = routes.find((known) => known.method === method && known.path === path);
    if (route?.needsKey !== true) throw new Error(`there is no ${method} ${path}`);
    const request: NetRequest = {
      method,
      path,
      query,
      header: (header) => (header === 'accept' ? 'application/problem+json' : undefined),
      remoteAddress: '',
      body: Buffer.from(JSON.stringify(body)),
      get aborted() {
        return isGone();
      },
    };
    const isForbidden = route.scope !== undefined && caller.scopes?.includes(route.scope) !== true;
    return outcomeOf(isForbidden ? noOperatorScope(request) : await route.handle(request, caller));
  };
}

/** Members of problem details that say the same for each error of a code, and `param`, which is in the text. */
const KNOWN_BY_CODE: ReadonlySet<string> = new Set(['type', 'title', 'status', 'retryable', 'param']);

function outcomeOf({ status, headers, body }: NetResponse): Outcome {
  const answer: unknown = JSON.parse(Buffer.from(body).toString());
  if (status < 400) return { ok: true, body: answer };
  const { code, detail, errors, ...others } = answer as Readonly<Record<string, unknown>>;
  const details = Object.fromEntries(Object.entries(others).filter(([name]) => !KNOWN_BY_CODE.has(name)));
  const retryAfter = headers['retry-after'];
  if (!isErrorCode(code) || typeof detail !== 'string') throw new Error(`${status} without a code`);
  return {
    ok: false,
    code,
    message: detail,
    ...(retryAfter !== undefined && { retryAfterMs: Number(retryAfter) * 1000 }),
    errors: Array.isArray(errors) ? (errors as SchemaError[]) : null,
    details: Object.keys(details).length === 0 ? null : details,
  };
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}
