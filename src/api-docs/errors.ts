import type { ErrorCode, HttpErrorCode } from '../wire/error-codes.js';

/** One error: `{...}` in its message stands for what differs from case to case. */
export interface ErrorDoc<Code extends ErrorCode = ErrorCode> {
  readonly message: string;
  readonly code: Code;
  readonly when: string;
}

const unexpected = 'A fault of the service; the log has it under the `x-request-id`.';
const again = 'Try again, as `Retry-After` says.';

/** Every `message` that an answer's body may have, by status. A schema error's words are those of JSON Schema. */
export const httpErrors: Readonly<Record<number, readonly ErrorDoc<HttpErrorCode>[]>> = {
  400: [
    {
      message: 'The query has more than {number} parameters',
      code: 'malformed_query',
      when: 'Every repetition counts.',
    },
    {
      message: 'The query has a malformed percent-encoding',
      code: 'malformed_query',
      when: 'Also where it gives no UTF-8.',
    },
    {
      message: 'Invalid expiration date: {what}',
      code: 'invalid_expiration',
      when: 'There is no such day, or no option may expire then: in the past, or more than a year ahead.',
    },
    {
      message: '{date} is not Friday!',
      code: 'invalid_expiration',
      when: '3 days ahead and more, options expire on Fridays.',
    },
    {
      message: '{date} is not the last Friday of the month!',
      code: 'invalid_expiration',
      when: "Beyond 35 days, options expire on a month's last Friday.",
    },
    {
      message: 'depth is {number}, at most {number}',
      code: 'invalid_parameter',
      when: 'GET /events, GET /book: more levels than ORDERBOOK shows.',
    },
    {
      message: 'Too many quotes for a snapshot: {number}, at most {number}. Name a pool',
      code: 'snapshot_too_large',
      when: 'GET /events: the events asked for are gone, and what would take their place is too large.',
    },
    {
      message: 'Too many quotes for a gateway of a cluster. Name a pool or a limit',
      code: 'snapshot_too_large',
      when: 'An answer about the past is larger than what the leader may send to a gateway.',
    },
    {
      message: 'Valuations are of the present alone',
      code: 'invalid_parameter',
      when: 'GET /tickers: `fields=valuation` together with asOfSeq, asOfBlock or asOfTime.',
    },
    {
      message: 'asOfSeq, asOfBlock and asOfTime exclude each other',
      code: 'invalid_parameter',
      when: 'More than one of them is given.',
    },
    {
      message: 'spotPrice must be {what}',
      code: 'invalid_parameter',
      when: 'GET /pools/strikes, GET /oracles/iv: it is no price.',
    },
    { message: 'spotPrice must NOT have more than 18 decimals', code: 'invalid_parameter', when: 'The same.' },
    {
      message: 'taker must not be the zero address',
      code: 'invalid_parameter',
      when: 'POST /rfqs: a hidden taker is `anonymous`.',
    },
    {
      message: 'legs/{number} must have either poolKey or poolAddress',
      code: 'invalid_parameter',
      when: 'POST /rfqs: it has both or none.',
    },
    { message: 'legs/{number}/size must be > 0', code: 'invalid_parameter', when: 'POST /rfqs.' },
    {
      message: 'legs/{number}: no pool can have this key',
      code: 'invalid_pool_key',
      when: 'POST /rfqs.',
    },
    {
      message: 'validUntil is past, or too far ahead',
      code: 'invalid_parameter',
      when: 'POST /rfqs: by the time of the newest block; at most `rfqMaxSeconds` ahead.',
    },
    {
      message: 'nonce, deadline and signature come together',
      code: 'invalid_parameter',
      when: 'DELETE /quotes, POST /quotes/restore, POST and DELETE /authorizations, POST /fill_limits: send all three, or none with a key or session that has proven the address.',
    },
    {
      message: 'The deadline has passed',
      code: 'invalid_parameter',
      when: 'DELETE /quotes, POST /quotes/restore, POST and DELETE /authorizations, POST /fill_limits: by the time of the settlement chain.',
    },
    {
      message: 'The deadline is more than {number} seconds ahead',
      code: 'invalid_parameter',
      when: 'DELETE /quotes, POST /quotes/restore: sign with a nearer one.',
    },
    {
      message: 'The deadline is too far ahead',
      code: 'invalid_parameter',
      when: 'POST /authorizations: `authorizationSeconds`; DELETE /authorizations, POST /fill_limits: `signedAheadSeconds`.',
    },
    {
      message: 'Timers are 0, or {number} to {number} seconds; windows 1 to {number}',
      code: 'invalid_parameter',
      when: 'POST /heartbeat, CANCEL_ON_DISCONNECT, POST /fill_limits.',
    },
    { message: 'Vault does not exist', code: 'unknown_vault', when: 'The pair has no vault of that type.' },
    {
      message: '{library}__{error}',
      code: 'contract_refused',
      when: "GET /vaults/quote, POST /vaults/trade: the vault's or the factory's own name of its refusal.",
    },
    {
      message: 'Quote deadline is invalid (cannot be less than {number} sec)',
      code: 'invalid_parameter',
      when: 'POST /orderbook/quotes: `quote` is the first that lives too short. Nothing was signed.',
    },
    {
      message: 'Can not get pool address',
      code: 'invalid_pool_key',
      when: 'POST /orderbook/quotes: no pool can have `poolKey`. GET /orderbook/quotes: none can have the option of `quotesRequest`.',
    },
    {
      message: 'Pool is not deployed',
      code: 'pool_not_deployed',
      when: 'POST /orderbook/quotes: deploy the pool of `poolKey` by POST /pools.',
    },
    {
      message: 'No deployed pool is named {instrument}',
      code: 'pool_not_deployed',
      when: 'GET /book, /quotes/cover, /trades, /candles, /events: GET /instruments lists the names.',
    },
    {
      message: 'Name the pool by either poolAddress or instrument',
      code: 'invalid_parameter',
      when: 'GET /quotes/cover, /candles: both are given, or neither. GET /trades: both.',
    },
    {
      message: 'failed to get tokens balances',
      code: 'balance_unknown',
      when: 'PATCH /orderbook/quotes: the tokens in `rejectedTokenBalances` do not answer. Nothing was sent.',
    },
    {
      message: 'Not enough {symbol} collateral to fill orders',
      code: 'insufficient_balance',
      when: "PATCH /orderbook/quotes: the operator's wallet can pay for none of the orders. Nothing was sent.",
    },
    {
      message: 'Not enough {symbol} allowance to fill orders',
      code: 'insufficient_allowance',
      when: 'PATCH /orderbook/quotes: the router may not take what they cost: POST /account/collateral_approval.',
    },
    {
      message: 'premiumLimit must {what}',
      code: 'invalid_parameter',
      when: "POST /vaults/trade: it has more than 18 decimals, or is too large for the vault's asset.",
    },
    {
      message: 'Not enough {symbol} to trade with vault',
      code: 'insufficient_balance',
      when: "POST /vaults/trade: the operator's wallet has too little.",
    },
    {
      message: 'Not enough options to sell to vault',
      code: 'insufficient_balance',
      when: "POST /vaults/trade: the operator's wallet has too few.",
    },
    {
      message: 'The vault {address} may not take enough {symbol}: approve it',
      code: 'insufficient_allowance',
      when: 'POST /vaults/trade: a buy pays the vault itself, which needs an allowance of its own.',
    },
    {
      message: 'The vault {address} may not take options of {pool}: approve it for all',
      code: 'insufficient_allowance',
      when: 'POST /vaults/trade: a sell needs `setApprovalForAll` of the pool for the vault.',
    },
    {
      message: 'The message is no sign-in message of EIP-4361',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify: a line is missing or wrong.',
    },
    {
      message: 'The domain {domain} is none of signInDomains',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify: the operator has to name the host that people sign in at.',
    },
    {
      message: 'The URI of the message is of another host than its domain',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify.',
    },
    {
      message: 'The message is for chain {number}, not for {number}',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify: sign for the settlement chain.',
    },
    {
      message: 'The message has expired, or does not hold yet',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify: by its own times.',
    },
    {
      message: 'The signature is not of {address}',
      code: 'sign_in_rejected',
      when: 'POST /auth/verify: neither the key of the address nor a contract there (EIP-1271) accepts it.',
    },
    {
      message: 'The nonce is unknown, spent or expired',
      code: 'nonce_rejected',
      when: 'POST /auth/verify: it was issued to another key, more than `nonceMs` ago, or used before.',
    },
    {
      message: 'Content-Length is repeated',
      code: 'malformed_request',
      when: 'Two readers of the request could disagree on where it ends.',
    },
    { message: 'Transfer-Encoding is repeated', code: 'malformed_request', when: 'For the same reason.' },
    { message: 'Transfer-Encoding must be chunked', code: 'malformed_request', when: 'For the same reason.' },
    { message: 'Host is missing', code: 'malformed_request', when: 'HTTP/1.1 requires it.' },
    {
      message: 'Host is repeated',
      code: 'malformed_request',
      when: 'Two readers of the request could disagree on what it asks for.',
    },
    {
      message: 'x-apikey is repeated',
      code: 'malformed_request',
      when: 'Two readers of the request could disagree on whose it is.',
    },
    {
      message: 'The request target is malformed',
      code: 'malformed_request',
      when: 'It is no path and no URL of http or https.',
    },
    {
      message: 'x-min-seq is the number of an event',
      code: 'invalid_parameter',
      when: 'A gateway of a cluster: the header is no number.',
    },
    {
      message: 'The request needs {number} {unit}, and a day of the key has {number}',
      code: 'beyond_daily_quota',
      when: 'Quotes or gas: more than `quotesPerDay` or `gasPerDay` of the tier of the key. Nothing of it was done.',
    },
  ],
  401: [
    { message: 'API key not provided', code: 'api_key_missing', when: 'No `x-apikey`.' },
    { message: 'NOT_FOUND', code: 'api_key_unknown', when: 'The key is unknown or revoked.' },
  ],
  403: [
    {
      message: 'The operator pays no gas for this key',
      code: 'gas_not_paid',
      when: '`gasPerDay` of the tier of the key is 0, as it is of self-service keys.',
    },
    {
      message: "This key may not act with the operator's wallet: it takes one with the scope operator",
      code: 'missing_scope',
      when: 'Create such a key with `quotebook keys create --scope operator`.',
    },
    {
      message: 'The provider has not authorised key {id}',
      code: 'provider_not_authorized',
      when: 'POST /heartbeat, CANCEL_ON_DISCONNECT, GET /fill_limits; POST and DELETE /authorizations and POST /fill_limits without a signature.',
    },
    {
      message: 'The provider signed nothing, and key {id} has not proven its address',
      code: 'provider_not_authorized',
      when: 'DELETE /quotes, POST /quotes/restore: sign the body, or sign in with the address of the provider.',
    },
    {
      message: 'The provider did not sign this',
      code: 'invalid_signature',
      when: 'DELETE /quotes, POST /quotes/restore, POST and DELETE /authorizations, POST /fill_limits: the signature is of another account, message or chain.',
    },
    {
      message: "Every taker's quotes and requests take a key with the scope takers:all",
      code: 'missing_scope',
      when: 'With `privacy` proven: `taker=*`, or GET /events of RFQ without a taker. Create such a key with `quotebook keys create --scope takers:all`. In GET /orders a `provider` that the key has proven will do.',
    },
    {
      message: 'This key has not proven the address of the taker: sign in with it',
      code: 'taker_not_proven',
      when: 'With `privacy` proven: `taker` is an address that neither the key nor the session was signed in with.',
    },
    {
      message: 'This key has not proven the address of the provider: sign in with it',
      code: 'taker_not_proven',
      when: 'With `privacy` proven: GET /rfqs/{rfqId}/competition for an address that neither the key nor the session was signed in with.',
    },
    {
      message: 'Too many addresses: one key proves at most {number}',
      code: 'too_many_takers',
      when: 'POST /auth/verify with `keep` key: more than `provenPerKey`.',
    },
    {
      message: 'This service hands out no keys: ask its operator for one',
      code: 'self_service_off',
      when: 'POST /auth/keys and POST /auth/keys/nonce: the setting `selfService` is no.',
    },
    {
      message: 'Too many keys: {number} were created from this network',
      code: 'too_many_keys',
      when: 'POST /auth/keys: more than `selfKeysPerNetwork`.',
    },
    {
      message: 'Pages of this origin may not connect',
      code: 'origin_forbidden',
      when: 'A WebSocket handshake of a page that `corsOrigins` does not name.',
    },
  ],
  404: [
    { message: 'Not found', code: 'unknown_path', when: 'No such path.' },
    {
      message: 'There is no request {id} for this key',
      code: 'unknown_rfq',
      when: 'DELETE /rfqs/{rfqId}, GET /rfqs/{rfqId}/cover: the key sent none, or it is no longer kept. GET /rfqs/{rfqId}/competition: there is none, or it is for other makers.',
    },
  ],
  405: [
    { message: 'Method not allowed', code: 'method_not_allowed', when: '`Allow` names the methods that the path has.' },
  ],
  408: [{ message: 'The body came too slowly', code: 'body_timeout', when: 'The connection is closed.' }],
  409: [
    {
      message: 'Another live request of this key has the same clientId',
      code: 'client_id_used',
      when: 'POST /rfqs: it has other legs or another taker.',
    },
    {
      message: 'The nonce was used before',
      code: 'nonce_spent',
      when: 'DELETE /quotes, POST /quotes/restore, POST and DELETE /authorizations, POST /fill_limits: the provider has signed with it before.',
    },
  ],
  410: [
    {
      message: 'Trades before {number} are not kept',
      code: 'no_longer_kept',
      when: 'GET /trades, GET /candles: `from` is earlier, in Unix seconds.',
    },
    {
      message: 'Events up to {number} are not kept',
      code: 'no_longer_kept',
      when: 'GET /quotes/{quoteId}/history: some of the events are older. `oldest.seq` repeats the number: events after it are kept.',
    },
    {
      message: 'States before event {number} are not kept',
      code: 'no_longer_kept',
      when: 'asOfSeq, asOfBlock or asOfTime is before the oldest snapshot. `oldest` has the event, block and time of the oldest state that is kept.',
    },
    {
      message: 'This service keeps no log',
      code: 'no_longer_kept',
      when: 'Questions about the past: the log is in memory alone.',
    },
  ],
  413: [{ message: 'The body is too large', code: 'body_too_large', when: 'The connection is closed.' }],
  414: [{ message: 'The query string is too long', code: 'query_too_long', when: 'Longer than `queryBytes`.' }],
  415: [
    {
      message: 'A body with a Content-Encoding is not taken',
      code: 'unsupported_encoding',
      when: 'Send it as it is, not packed.',
    },
  ],
  426: [
    {
      message: 'Sec-WebSocket-Version must be 13',
      code: 'unsupported_websocket_version',
      when: 'A WebSocket handshake of another version.',
    },
  ],
  429: [
    {
      message: 'Too many are in force',
      code: 'too_many_protections',
      when: 'POST /authorizations: `authorizationsPerProvider`, `authorizationsPerKey`, `authorizationsKept`; POST /fill_limits: `fillLimitsPerProvider`, `fillLimitsPerKey`, `fillLimitsKept`.',
    },
    {
      message: 'Too many requests of this key are live',
      code: 'too_many_live_rfqs',
      when: 'POST /rfqs: `liveRfqsPerKey`; each leg counts.',
    },
    {
      message: "The operator's wallet has spent what {what} may in a day",
      code: 'spend_cap_reached',
      when: `A route for keys with the scope operator has used \`operatorRouteGasPerDay\`, or all of them \`operatorGasPerDay\`. ${again}`,
    },
    {
      message: "The operator's wallet may not pay so much {symbol} in a day",
      code: 'spend_cap_reached',
      when: `\`operatorTokensPerDay\`: fills and trades with vaults would pay more of the token. ${again}`,
    },
    {
      message: 'RATELIMITED',
      code: 'rate_limited',
      when: `Over a quota of the key, or too many unknown keys of this address, sign-ins or nonces (\`noncesPerKey\`, \`noncesPerProvider\`, \`noncesKept\`). ${again}`,
    },
    {
      message: 'The wallet {address} has spent what it may in a day',
      code: 'spend_cap_reached',
      when: 'The cap that the operator set. Try again, as `Retry-After` says.',
    },
    {
      message: 'Too many connections: at most {number} from one address',
      code: 'too_many_connections',
      when: 'A WebSocket handshake, or a request with a body: close another first.',
    },
  ],
  431: [
    {
      message: 'More than {number} header fields',
      code: 'too_many_headers',
      when: 'At most `headerFields`. The connection is closed.',
    },
  ],
  500: [
    { message: 'Internal server error', code: 'internal_error', when: unexpected },
    {
      message: 'Failed to trade with vault',
      code: 'contract_call_failed',
      when: 'It rejected the trade, and gave no name to why.',
    },
    {
      message: 'Failed to get quote from vault',
      code: 'contract_call_failed',
      when: 'It reverted, and gave no name to why.',
    },
    {
      message: 'Failed to get spot price from oracle, try again or provide spot price',
      code: 'oracle_failed',
      when: 'GET /pools/strikes, GET /oracles/iv: the oracle or the chain gave no price.',
    },
    { message: 'Failed to get spot prices from oracle', code: 'oracle_failed', when: 'GET /oracles/spot: the same.' },
    {
      message: 'Failed to get spot prices from oracle: it has no price of {markets}',
      code: 'oracle_failed',
      when: 'GET /oracles/spot: the oracle does not support these tokens.',
    },
    {
      message: 'Failed to get the fees of the quotes',
      code: 'contract_call_failed',
      when: 'GET /quotes/cover: the token or the pool contract gave no answer.',
    },
    {
      message: "Failed to get IV's from oracle",
      code: 'oracle_failed',
      when: 'GET /oracles/iv: the oracle of volatilities or the chain gave none.',
    },
  ],
  501: [
    {
      message: 'No volatility oracle is configured: the profile has no contracts.volatilityOracle',
      code: 'no_volatility_oracle',
      when: 'GET /oracles/iv: the operator has to name it in the profile.',
    },
    {
      message: 'No wallet is configured to publish with: set walletKey or walletKeyFile',
      code: 'no_wallet',
      when: 'The operator has to.',
    },
    {
      message: "No wallet is configured: set walletKey or walletKeyFile to the operator's private key",
      code: 'no_wallet',
      when: 'The operator has to.',
    },
  ],
  503: [
    {
      message: 'Too many keys are in force',
      code: 'self_keys_exhausted',
      when: 'POST /auth/keys: more than `selfKeys`. Keys that nobody uses expire after `selfKeyUnusedDays`.',
    },
    { message: 'legs/{number}: the chain does not answer', code: 'chain_unavailable', when: `POST /rfqs. ${again}` },
    {
      message: '{chain}: {why}',
      code: 'chain_unavailable',
      when: `A chain does not show where it is; what is read may be old. ${again}`,
    },
    {
      message: 'That point has not been reached yet',
      code: 'event_not_reached',
      when: `asOfSeq, asOfBlock or asOfTime is ahead of the log. ${again}`,
    },
    { message: 'STORAGE_FULL', code: 'storage_full', when: `The disk of the log has no room. ${again}` },
    {
      message: 'Earlier transactions are not confirmed yet: nothing was sent',
      code: 'busy',
      when: `POST /vaults/trade: those about the same token take turns. ${again}`,
    },
    {
      message: 'BUSY',
      code: 'busy',
      when: `Too much waits to be written, to be read for GET /events, for questions about the past or for older trades, or in the bodies of requests. ${again}`,
    },
    {
      message: 'The wallet {address} has no money for gas',
      code: 'wallet_out_of_gas',
      when: 'The operator has to fill it.',
    },
    { message: 'Too many quotes wait for their publication', code: 'publish_queue_full', when: again },
    {
      message: 'The trades are being read from the log',
      code: 'busy',
      when: `GET /trades, GET /candles: the service has just started. ${again}`,
    },
    { message: 'The chain does not answer', code: 'chain_unavailable', when: again },
    {
      message: 'the chains have not been read to their heads yet',
      code: 'chain_unavailable',
      when: `The service has started, and reads what happened meanwhile. ${again}`,
    },
    {
      message: 'The chains have not been reached yet: {why}',
      code: 'chain_unavailable',
      when: `The service has started and waits for them. ${again}`,
    },
    {
      message: 'the cluster has {what}',
      code: 'chain_unavailable',
      when: `A gateway of a cluster hears of no leader. ${again}`,
    },
    {
      message: 'Event {number} is not known here yet',
      code: 'event_not_reached',
      when: `A gateway of a cluster has not read as far as \`x-min-seq\` asks. ${again}`,
    },
    {
      message: 'Too many connections',
      code: 'server_full',
      when: 'A WebSocket handshake, or a request with a body: the server has as many as it may.',
    },
  ],
  504: [
    {
      message: 'Publication not confirmed yet',
      code: 'publication_not_confirmed',
      when: '`pending` lists the ids that may still enter the book; posting again is safe.',
    },
    {
      message: 'Transaction not confirmed yet',
      code: 'transaction_not_confirmed',
      when: 'A fill, cancellation or trade with a vault was sent, or may have been by a leader that fell silent, and may still be mined; `pending` lists the ids of quotes.',
    },
  ],
  505: [
    {
      message: 'HTTP/1.1 is required',
      code: 'unsupported_http_version',
      when: 'The request is of HTTP/1.0. The connection is closed.',
    },
  ],
};

/** Every `message` of an ERROR on a socket but those of calls, which are HTTP's. The socket stays open. */
export const socketErrors: readonly ErrorDoc[] = [
  { message: 'Not Authorized', code: 'not_authenticated', when: 'Anything before a good AUTH, but for AUTH itself.' },
  { message: 'NOT_FOUND', code: 'api_key_unknown', when: 'AUTH with a key that is unknown or revoked.' },
  {
    message: 'RATELIMITED',
    code: 'rate_limited',
    when: 'More messages or requests for quotes than the tier of the key allows, too many FILTERs that wait for their turn, or too many unknown keys from this address. Wait a second.',
  },
  { message: 'Message is not valid JSON', code: 'malformed_message', when: 'A text frame that cannot be parsed.' },
  { message: 'Message must be a JSON object', code: 'malformed_message', when: 'A list, a number, a text.' },
  { message: 'Binary messages are not accepted: send JSON text', code: 'malformed_message', when: 'A binary frame.' },
  {
    message: 'Unknown message type: must be {what}',
    code: 'unknown_message_type',
    when: 'Its `type` is none of those that the text names.',
  },
  { message: 'Invalid {type}: {what}', code: 'invalid_parameter', when: 'A field is missing, unknown or wrong.' },
  {
    message: 'Invalid {type}: {what}.chainId must be equal to one of the allowed values',
    code: 'unsupported_chain',
    when: 'A call for another chain.',
  },
  {
    message: 'This key has not proven the address of the taker: sign in with it',
    code: 'taker_not_proven',
    when: 'With `privacy` proven: FILTER of a taker whose address neither the key nor the session was signed in with; AUTH with such a key on a socket that follows one.',
  },
  {
    message: "Every taker's quotes and requests take a key with the scope takers:all",
    code: 'missing_scope',
    when: 'With `privacy` proven: FILTER of taker `*`, or of RFQ without a taker.',
  },
  {
    message: 'Chain {chainId} is not served here, only {chainId} is',
    code: 'unsupported_chain',
    when: 'FILTER or RFQ for another chain.',
  },
  {
    message: 'Too many connections: at most {number} with one key',
    code: 'too_many_connections',
    when: 'AUTH: close another socket first.',
  },
  {
    message: 'Too many channels: at most {number} with one key',
    code: 'too_many_channels',
    when: 'FILTER: unsubscribe from another first.',
  },
  {
    message: 'Too many FILTERs: at most {number} in {number} seconds',
    code: 'rate_limited',
    when: 'More than that on one connection.',
  },
  {
    message: 'Too many RFQs: {number} of them wait to be published',
    code: 'too_many_rfqs',
    when: 'More than that at once on one connection.',
  },
  {
    message: 'Too many calls: {number} of them wait for their answers',
    code: 'rate_limited',
    when: 'More calls, such as POST_QUOTES, than that at once on one connection.',
  },
  {
    message: 'Too many quotes for a snapshot: {number}, at most {number}. Name a pool',
    code: 'snapshot_too_large',
    when: 'FILTER of QUOTES with `snapshot`.',
  },
  {
    message: 'No deployed pool is named {instrument}',
    code: 'pool_not_deployed',
    when: 'FILTER of COVER or TRADES: GET /instruments lists the names.',
  },
  {
    message: 'Too many covers are followed: try again later',
    code: 'too_many_covers',
    when: 'FILTER of COVER: the server has as many distinct covers as it may.',
  },
  {
    message: 'Failed to fetch pool address',
    code: 'invalid_pool_key',
    when: "RFQ: no pool can have the request's `poolKey`.",
  },
  {
    message: 'Failed to fetch pool address: the chain does not answer',
    code: 'chain_unavailable',
    when: 'RFQ: try again later.',
  },
  { message: 'RFQ not published: STORAGE_FULL', code: 'storage_full', when: 'The disk of the log has no room.' },
  { message: 'RFQ not published: BUSY', code: 'busy', when: 'Too much waits to be written.' },
  { message: 'RFQ not published: internal error', code: 'internal_error', when: 'A fault of the service.' },
  { message: 'Internal server error', code: 'internal_error', when: 'A call: a fault of the service.' },
];

/**
 * How the server closes sockets. On the subprotocols the reasons of 1012 and 'Too slow' end in
 * `, resume from seq {number}`, unless a snapshot was sent in part.
 */
export const socketCloses: readonly (Omit<ErrorDoc, 'code'> & { readonly code: number })[] = [
  { code: 1008, message: 'No AUTH within {number} seconds', when: 'There was no good AUTH in time.' },
  { code: 1008, message: 'Too many bad messages', when: 'Too many were answered with ERROR.' },
  { code: 1008, message: 'API key revoked', when: "The socket's key is no longer in force." },
  { code: 1008, message: 'Session expired', when: 'The session token of its AUTH has expired: sign in again.' },
  {
    code: 1008,
    message: 'The key may no longer see that taker',
    when: 'The key has lost a scope or a proven address: connect again.',
  },
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
