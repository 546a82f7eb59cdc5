/** One kind of error, as programs tell it from others. */
interface ErrorKind {
  /** HTTP status of every answer with this code; null: it occurs on sockets alone. */
  readonly status: number | null;
  /** The same request may succeed later, with nothing changed by the client. */
  readonly retryable: boolean;
  /** Names the error in a few words. */
  readonly title: string;
  /** The client's next step. */
  readonly remedy: string;
}

const wait = 'Wait as long as `Retry-After` says, on a socket `retryAfterMs`. Then send it again.';
const operator = "The service's operator has to change its configuration.";

/**
 * Every error that the service answers with, on HTTP and on sockets. A code keeps its name and its meaning for ever:
 * clients branch on it. Each error names its code where it is made, so an error without one does not compile.
 */
export const ERROR_CODES = {
  invalid_parameter: {
    status: 400,
    retryable: false,
    title: 'A parameter is missing, unknown or wrong',
    remedy: '`param` names it, the text says what is expected.',
  },
  malformed_query: {
    status: 400,
    retryable: false,
    title: 'The query string cannot be read',
    remedy: 'Send fewer parameters, and percent-encode them as UTF-8.',
  },
  malformed_body: {
    status: 400,
    retryable: false,
    title: 'The body cannot be read',
    remedy: 'Send JSON in UTF-8, in smaller batches if there are too many parts.',
  },
  malformed_request: {
    status: 400,
    retryable: false,
    title: 'The head of the request is not HTTP/1.1',
    remedy: 'Correct the header or the target that the text names.',
  },
  invalid_expiration: {
    status: 400,
    retryable: false,
    title: 'No option expires then',
    remedy: 'Take a date of GET /pools/maturities.',
  },
  unsupported_chain: {
    status: 400,
    retryable: false,
    title: 'Another chain is served here',
    remedy: 'Send the chain id that the text allows.',
  },
  unknown_vault: {
    status: 400,
    retryable: false,
    title: 'The pair has no vault of that type',
    remedy: 'Take another pair or type.',
  },
  contract_refused: {
    status: 400,
    retryable: false,
    title: 'The contract refuses the trade',
    remedy: "The text is the contract's own name of its reason.",
  },
  invalid_pool_key: {
    status: 400,
    retryable: false,
    title: 'No pool can have this key',
    remedy: 'Correct `poolKey`: its strike, its date or its tokens.',
  },
  pool_not_deployed: {
    status: 400,
    retryable: false,
    title: 'The pool is not deployed',
    remedy: 'Deploy it by POST /pools.',
  },
  insufficient_balance: {
    status: 400,
    retryable: false,
    title: 'The wallet has too little for the trade',
    remedy: 'Trade less, or send the wallet more.',
  },
  insufficient_allowance: {
    status: 400,
    retryable: false,
    title: 'The contract may not take what the trade costs',
    remedy: 'Approve the contract that the text names, or the router by POST /account/collateral_approval.',
  },
  balance_unknown: {
    status: 400,
    retryable: true,
    title: 'A token does not say what the wallet has of it',
    remedy: 'Send it again, or trade options of other tokens.',
  },
  snapshot_too_large: {
    status: 400,
    retryable: false,
    title: 'Too many quotes for a snapshot',
    remedy: 'Name a pool.',
  },
  sign_in_rejected: {
    status: 400,
    retryable: false,
    title: 'The sign-in message or its signature does not hold',
    remedy: 'The text says what is wrong: sign another message.',
  },
  nonce_rejected: {
    status: 400,
    retryable: false,
    title: 'The nonce of the sign-in message does not hold',
    remedy: 'Ask for another by POST /auth/nonce with the same key, and sign a message with it.',
  },
  beyond_daily_quota: {
    status: 400,
    retryable: false,
    title: 'The request alone needs more than a whole day of the key',
    remedy: 'Send less at once: the text says how much fits. Or use a key of another tier.',
  },
  api_key_missing: { status: 401, retryable: false, title: 'No API key', remedy: 'Send the key in `x-apikey`.' },
  api_key_unknown: {
    status: 401,
    retryable: false,
    title: 'The API key is unknown or revoked',
    remedy: 'Use another key.',
  },
  missing_scope: {
    status: 403,
    retryable: false,
    title: 'The API key has no scope for this',
    remedy: 'Use a key with the scope that the text names.',
  },
  gas_not_paid: {
    status: 403,
    retryable: false,
    title: 'The operator pays no gas for the key',
    remedy: 'Use a key of another tier, or send the transaction with your own wallet.',
  },
  taker_not_proven: {
    status: 403,
    retryable: false,
    title: 'The key has not proven the address of the taker',
    remedy: 'Sign in with that address: POST /auth/nonce, then POST /auth/verify.',
  },
  too_many_takers: {
    status: 403,
    retryable: false,
    title: 'The key has proven as many addresses as it may',
    remedy: 'Sign in for a session (`keep`), or use another key.',
  },
  self_service_off: {
    status: 403,
    retryable: false,
    title: 'The service hands out no keys',
    remedy: "Ask the service's operator for a key.",
  },
  too_many_keys: {
    status: 403,
    retryable: false,
    title: 'Too many keys were created from the network',
    remedy: 'Use one of them, or sign in with an address that has one: that replaces it.',
  },
  origin_forbidden: {
    status: 403,
    retryable: false,
    title: 'Pages of this origin may not connect',
    remedy: 'The operator can name the origin in `corsOrigins`.',
  },
  invalid_signature: {
    status: 403,
    retryable: false,
    title: 'The provider did not sign this',
    remedy: 'Sign the EIP-712 message that the reference describes with the key of `provider`.',
  },
  provider_not_authorized: {
    status: 403,
    retryable: false,
    title: 'The provider has not authorised this key',
    remedy:
      "Sign in with the provider's address, or sign the body where the route takes a signature. For timers and fill limits POST /authorizations suffices, too.",
  },
  too_many_protections: {
    status: 429,
    retryable: false,
    title: 'Too many authorisations or fill limits are in force',
    remedy: 'Revoke or remove others first.',
  },
  nonce_spent: {
    status: 409,
    retryable: false,
    title: 'The nonce was used before',
    remedy: 'The message was carried out before, or sign it anew with another nonce.',
  },
  unknown_path: { status: 404, retryable: false, title: 'No such path', remedy: 'Take one of the documented paths.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: 'The path has no such method',
    remedy: '`Allow` names those that it has.',
  },
  no_longer_kept: {
    status: 410,
    retryable: false,
    title: 'What is asked for is no longer kept',
    remedy: 'Ask for what came later; the text says since when.',
  },
  body_timeout: { status: 408, retryable: true, title: 'The body came too slowly', remedy: 'Send it faster.' },
  body_too_large: {
    status: 413,
    retryable: false,
    title: 'The body is too large',
    remedy: 'Send smaller batches.',
  },
  query_too_long: {
    status: 414,
    retryable: false,
    title: 'The query string is too long',
    remedy: 'Use the form of the call that takes a body, such as POST /orders/query.',
  },
  unsupported_encoding: {
    status: 415,
    retryable: false,
    title: 'Bodies with a Content-Encoding are not accepted',
    remedy: 'Send the body uncompressed.',
  },
  unsupported_websocket_version: {
    status: 426,
    retryable: false,
    title: 'Another version of WebSocket is required',
    remedy: 'Send `Sec-WebSocket-Version: 13`.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: 'Over a quota of the key or of the address',
    remedy: wait,
  },
  spend_cap_reached: {
    status: 429,
    retryable: true,
    title: 'The wallet has spent what it may in a day',
    remedy: wait,
  },
  too_many_connections: {
    status: 429,
    retryable: true,
    title: 'Too many connections of one address or key',
    remedy: 'Close another connection first.',
  },
  too_many_headers: {
    status: 431,
    retryable: false,
    title: 'Too many header fields',
    remedy: 'Send fewer.',
  },
  internal_error: {
    status: 500,
    retryable: false,
    title: 'A fault of the service',
    remedy: 'Report it with the `x-request-id`, which finds it in the log.',
  },
  contract_call_failed: {
    status: 500,
    retryable: false,
    title: 'A contract gave no usable answer and no reason',
    remedy: 'Try another size or option.',
  },
  oracle_failed: {
    status: 500,
    retryable: true,
    title: 'The oracle gave no value',
    remedy: 'Send it again, or give the spot price.',
  },
  no_volatility_oracle: {
    status: 501,
    retryable: false,
    title: 'No volatility oracle is configured',
    remedy: operator,
  },
  no_wallet: { status: 501, retryable: false, title: 'No wallet is configured', remedy: operator },
  self_keys_exhausted: {
    status: 503,
    retryable: true,
    title: 'Too many keys of the self tier are in force',
    remedy: 'Ask the operator for a key, or try again on another day: keys that nobody uses expire.',
  },
  chain_unavailable: {
    status: 503,
    retryable: true,
    title: 'The chains do not answer or are not read up to now',
    remedy: wait,
  },
  event_not_reached: {
    status: 503,
    retryable: true,
    title: 'What is named has not been reached here yet',
    remedy: wait,
  },
  storage_full: { status: 503, retryable: true, title: 'The disk of the log is full', remedy: wait },
  busy: { status: 503, retryable: true, title: 'Too much waits to be written or read', remedy: wait },
  server_full: { status: 503, retryable: true, title: 'The server has as many connections as it may', remedy: wait },
  wallet_out_of_gas: {
    status: 503,
    retryable: true,
    title: 'The wallet has no money for gas',
    remedy: "The service's operator has to send it some.",
  },
  publish_queue_full: {
    status: 503,
    retryable: true,
    title: 'Too many quotes wait for their publication',
    remedy: wait,
  },
  publication_not_confirmed: {
    status: 504,
    retryable: true,
    title: 'The publication is not confirmed yet',
    remedy: 'Send the quotes again: that joins the publication under way.',
  },
  transaction_not_confirmed: {
    status: 504,
    retryable: false,
    title: 'The transaction is not confirmed yet',
    remedy: 'See on the feed or on the chain what becomes of it before you send the same again.',
  },
  unsupported_http_version: {
    status: 505,
    retryable: false,
    title: 'HTTP/1.1 is required',
    remedy: 'Send HTTP/1.1.',
  },
  not_authenticated: { status: null, retryable: false, title: 'No AUTH yet', remedy: 'Send AUTH first.' },
  malformed_message: {
    status: null,
    retryable: false,
    title: 'The message cannot be read',
    remedy: 'Send a JSON object in a text frame.',
  },
  unknown_message_type: {
    status: null,
    retryable: false,
    title: 'There is no such message',
    remedy: 'Send one of the types that the text names.',
  },
  too_many_channels: {
    status: null,
    retryable: true,
    title: 'The sockets of the key follow too many channels',
    remedy: 'Unsubscribe from another first.',
  },
  too_many_covers: {
    status: null,
    retryable: true,
    title: 'The server follows as many covers as it may',
    remedy: 'Send it again later.',
  },
  too_many_live_rfqs: {
    status: 429,
    retryable: true,
    title: 'Too many requests of the key are live',
    remedy: 'Cancel one by DELETE /rfqs/{rfqId}, or wait until one ends.',
  },
  unknown_rfq: {
    status: 404,
    retryable: false,
    title: 'There is no such request for quotes for this key',
    remedy: 'Take an id of GET /rfqs, or of the RFQ channel.',
  },
  client_id_used: {
    status: 409,
    retryable: false,
    title: 'Another live request has the client id',
    remedy: 'Send it with another `clientId`.',
  },
  too_many_rfqs: {
    status: null,
    retryable: true,
    title: 'Too many requests for quotes wait on the socket',
    remedy: 'Wait for the answers to those.',
  },
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Codes that an HTTP answer can have. */
export type HttpErrorCode = {
  [Code in ErrorCode]: (typeof ERROR_CODES)[Code]['status'] extends number ? Code : never;
}[ErrorCode];

export const ERROR_CODE_NAMES = Object.keys(ERROR_CODES) as readonly ErrorCode[];

export const HTTP_ERROR_CODES = ERROR_CODE_NAMES.filter(isHttpErrorCode);

function isHttpErrorCode(code: ErrorCode): code is HttpErrorCode {
  return ERROR_CODES[code].status !== null;
}

/** Where the service's own page explains the code (RFC 9457, 3.1.1: a reference relative to the server). */
export function errorType(code: ErrorCode): string {
  return `/docs#${errorAnchor(code)}`;
}

export function errorAnchor(code: ErrorCode): string {
  return `error-${code}`;
}

/** Of a reason why nothing can be written just now: the journal's, or else that of a chain or of the cluster's leader. */
export function delayCode(reason: string): 'storage_full' | 'busy' | 'chain_unavailable' {
  if (reason === 'STORAGE_FULL') return 'storage_full';
  return reason === 'BUSY' ? 'busy' : 'chain_unavailable';
}

/** For failures that may pass at any moment, milliseconds. */
export const RETRY_SOON_MS = 1000;

/**
 * The least time after which an error of the code is answered with when to try again; null: it is not. An answer may
 * name a longer one.
 */
export function leastRetryMs(code: ErrorCode): number | null {
  const { status } = ERROR_CODES[code];
  return status === 503 || code === 'rate_limited' ? RETRY_SOON_MS : null;
}
