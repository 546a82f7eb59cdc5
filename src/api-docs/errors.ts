/** One error: `{...}` in its message stands for what differs from case to case. */
export interface ErrorDoc {
  readonly message: string;
  readonly when: string;
}

const unexpected = 'A fault of the service; the log has it under the `x-request-id`.';
const again = 'Try again, as `Retry-After` says.';

/** Every `message` that an answer's body may have, by status. A schema error's words are those of JSON Schema. */
export const httpErrors: Readonly<Record<number, readonly ErrorDoc[]>> = {
  400: [
    { message: 'The query has more than {number} parameters', when: 'Every repetition counts.' },
    { message: 'The query has a malformed percent-encoding', when: 'Also where it gives no UTF-8.' },
    {
      message: 'Invalid expiration date: {what}',
      when: 'There is no such day, or no option may expire then: in the past, or more than a year ahead.',
    },
    { message: '{date} is not Friday!', when: 'GET /vaults/quote: 3 days ahead and more, options expire on Fridays.' },
    {
      message: '{date} is not the last Friday of the month!',
      when: "GET /vaults/quote: beyond 35 days, options expire on a month's last Friday.",
    },
    { message: 'depth is {number}, at most {number}', when: 'GET /events: more levels than ORDERBOOK shows.' },
    {
      message: 'Too many quotes for a snapshot: {number}, at most {number}. Name a pool',
      when: 'GET /events: the events asked for are gone, and what would take their place is too large.',
    },
    { message: 'spotPrice must be {what}', when: 'GET /pools/strikes, GET /oracles/iv: it is no price.' },
    { message: 'spotPrice must NOT have more than 18 decimals', when: 'The same.' },
    { message: 'Vault does not exist', when: 'The pair has no vault of that type.' },
    { message: '{library}__{error}', when: "GET /vaults/quote: the vault's or the factory's own name of its refusal." },
    { message: 'Content-Length is repeated', when: 'Two readers of the request could disagree on where it ends.' },
    { message: 'Transfer-Encoding is repeated', when: 'For the same reason.' },
    { message: 'Transfer-Encoding must be chunked', when: 'For the same reason.' },
    { message: 'Host is missing', when: 'HTTP/1.1 requires it.' },
    { message: 'Host is repeated', when: 'Two readers of the request could disagree on what it asks for.' },
    { message: 'x-apikey is repeated', when: 'Two readers of the request could disagree on whose it is.' },
    { message: 'The request target is malformed', when: 'It is no path and no URL of http or https.' },
  ],
  401: [
    { message: 'API key not provided', when: 'No `x-apikey`.' },
    { message: 'NOT_FOUND', when: 'The key is unknown or revoked.' },
  ],
  403: [
    {
      message: "This key may not act with the operator's wallet: it takes one with the scope operator",
      when: 'Create such a key with `quotebook keys create --scope operator`.',
    },
    {
      message: 'Pages of this origin may not connect',
      when: 'A WebSocket handshake of a page that `corsOrigins` does not name.',
    },
  ],
  404: [{ message: 'Not found', when: 'No such path.' }],
  405: [{ message: 'Method not allowed', when: '`Allow` names the methods that the path has.' }],
  408: [{ message: 'The body came too slowly', when: 'The connection is closed.' }],
  413: [{ message: 'The body is too large', when: 'The connection is closed.' }],
  414: [{ message: 'The query string is too long', when: 'Longer than `queryBytes`.' }],
  415: [{ message: 'A body with a Content-Encoding is not taken', when: 'Send it as it is, not packed.' }],
  426: [{ message: 'Sec-WebSocket-Version must be 13', when: 'A WebSocket handshake of another version.' }],
  429: [
    {
      message: "The operator's wallet has spent what {what} may in a day",
      when: `A route for keys with the scope operator has used \`operatorRouteGasPerDay\`, or all of them \`operatorGasPerDay\`. ${again}`,
    },
    { message: 'RATELIMITED', when: `Over a quota of the key, or too many unknown keys from this address. ${again}` },
    {
      message: 'The wallet {address} has spent what it may in a day',
      when: 'The cap that the operator set. Try again, as `Retry-After` says.',
    },
    {
      message: 'Too many connections: at most {number} from one address',
      when: 'A WebSocket handshake, or a request with a body: close another first.',
    },
  ],
  431: [{ message: 'More than {number} header fields', when: 'At most `headerFields`. The connection is closed.' }],
  500: [
    { message: 'Internal server error', when: unexpected },
    { message: 'Failed to get quote from vault', when: 'It reverted, and gave no name to why.' },
    {
      message: 'Failed to get spot price from oracle, try again or provide spot price',
      when: 'GET /pools/strikes, GET /oracles/iv: the oracle or the chain gave no price.',
    },
    { message: 'Failed to get spot prices from oracle', when: 'GET /oracles/spot: the same.' },
    {
      message: 'Failed to get spot prices from oracle: it has no price of {markets}',
      when: 'GET /oracles/spot: the oracle does not support these tokens.',
    },
    {
      message: 'Failed to get the fees of the quotes',
      when: 'GET /quotes/cover: the token or the pool contract gave no answer.',
    },
    {
      message: "Failed to get IV's from oracle",
      when: 'GET /oracles/iv: the oracle of volatilities or the chain gave none.',
    },
  ],
  501: [
    {
      message: 'No volatility oracle is configured: the profile has no contracts.volatilityOracle',
      when: 'GET /oracles/iv: the operator has to name it in the profile.',
    },
    {
      message: 'No wallet is configured to publish with: set walletKey or walletKeyFile',
      when: 'The operator has to.',
    },
    {
      message: "No wallet is configured: set walletKey or walletKeyFile to the operator's private key",
      when: 'The operator has to.',
    },
  ],
  503: [
    { message: '{chain}: {why}', when: `A chain does not show where it is; what is read may be old. ${again}` },
    { message: 'STORAGE_FULL', when: `The disk of the log has no room. ${again}` },
    {
      message: 'BUSY',
      when: `Too much waits to be written, to be read for GET /events, or in the bodies of requests. ${again}`,
    },
    { message: 'The wallet {address} has no money for gas', when: 'The operator has to fill it.' },
    { message: 'Too many quotes wait for their publication', when: again },
    { message: 'The chain does not answer', when: again },
    {
      message: 'the chains have not been read to their heads yet',
      when: `The service has started, and reads what happened meanwhile. ${again}`,
    },
    {
      message: 'The chains have not been reached yet: {why}',
      when: `The service has started and waits for them. ${again}`,
    },
    {
      message: 'Too many connections',
      when: 'A WebSocket handshake, or a request with a body: the server has as many as it may.',
    },
  ],
  504: [
    {
      message: 'Publication not confirmed yet',
      when: '`pending` lists the ids that may still enter the book; posting again is safe.',
    },
  ],
  505: [{ message: 'HTTP/1.1 is required', when: 'The request is of HTTP/1.0. The connection is closed.' }],
};

/** Every `message` of an ERROR on a socket. The socket stays open. */
export const socketErrors: readonly ErrorDoc[] = [
  { message: 'Not Authorized', when: 'Anything before a good AUTH, but for AUTH itself.' },
  { message: 'NOT_FOUND', when: 'AUTH with a key that is unknown or revoked.' },
  {
    message: 'RATELIMITED',
    when: 'More messages than the tier of the key allows, too many FILTERs that wait for their turn, or too many unknown keys from this address. Wait a second.',
  },
  { message: 'Message is not valid JSON', when: 'A text frame that cannot be parsed.' },
  { message: 'Message must be a JSON object', when: 'A list, a number, a text.' },
  { message: 'Binary messages are not accepted: send JSON text', when: 'A binary frame.' },
  { message: 'Unknown message type: must be AUTH, FILTER, UNSUBSCRIBE or RFQ', when: 'Its `type` is none of these.' },
  { message: 'Invalid {type}: {what}', when: 'A field is missing, unknown or wrong.' },
  { message: 'Chain {chainId} is not served here, only {chainId} is', when: 'FILTER or RFQ for another chain.' },
  { message: 'Too many connections: at most {number} with one key', when: 'AUTH: close another socket first.' },
  { message: 'Too many channels: at most {number} with one key', when: 'FILTER: unsubscribe from another first.' },
  { message: 'Too many FILTERs: at most {number} in {number} seconds', when: 'More than that on one connection.' },
  {
    message: 'Too many RFQs: {number} of them wait to be published',
    when: 'More than that at once on one connection.',
  },
  {
    message: 'Too many quotes for a snapshot: {number}, at most {number}. Name a pool',
    when: 'FILTER of QUOTES with `snapshot`.',
  },
  {
    message: 'Too many covers are followed: try again later',
    when: 'FILTER of COVER: the server has as many distinct covers as it may.',
  },
  { message: 'Failed to fetch pool address', when: "RFQ: no pool can have the request's `poolKey`." },
  { message: 'Failed to fetch pool address: the chain does not answer', when: 'RFQ: try again later.' },
  { message: 'RFQ not published: {why}', when: 'The log takes nothing now (`STORAGE_FULL`, `BUSY`), or a fault.' },
];

/** How the server closes sockets. On the subprotocols the reason ends in `, resume from seq {number}`. */
export const socketCloses: readonly (ErrorDoc & { readonly code: number })[] = [
  { code: 1008, message: 'No AUTH within {number} seconds', when: 'There was no good AUTH in time.' },
  { code: 1008, message: 'Too many bad messages', when: 'Too many were answered with ERROR.' },
  { code: 1008, message: 'API key revoked', when: "The socket's key is no longer in force." },
  {
    code: 1008,
    message: 'Over the quotas of its tier',
    when: "The key's tier, or what it allows, was changed: the newest sockets go.",
  },
  { code: 1008, message: 'No whole frame in time', when: 'Bytes came, but no whole frame.' },
  { code: 1008, message: 'Too many pings', when: 'More than `wsIdleFrames` pings and pongs within `wsIdleSeconds`.' },
  { code: 1009, message: 'Message too big', when: 'A message was larger than `wsMessageBytes`.' },
  { code: 1011, message: 'Internal server error', when: 'A fault of the service: connect again.' },
  { code: 1012, message: 'service restart', when: 'The server stops: connect again in a moment.' },
  { code: 1013, message: 'Too slow', when: 'More than `wsBufferedBytes` waited to be read: connect again.' },
  {
    code: 1013,
    message: 'Too slow, and too much to start anew',
    when: 'The events that a reader missed are not kept, and a snapshot would be too large: name a pool.',
  },
];
