import type { Static, TSchema } from 'typebox';
import type { ErrorCode } from '../wire/error-codes.js';
import { closed, onChain } from '../wire/primitives.js';
import {
  AuthMessage,
  BODY_CALLS,
  BodyCall,
  CoverFilterMessage,
  type FeedChannel,
  FilterMessage,
  FilterV2Message,
  MessageId,
  type OrderbookFilterMessage,
  orderbookFilterMessage,
  plainOrderbookFilterMessage,
  PostQuotesCall,
  RfqByPoolAddressMessage,
  type RfqByPoolKeyMessage,
  RfqByPoolKeyRequest,
  TickerFilterMessage,
  TradesFilterMessage,
  UnsubscribeMessage,
  UnsubscribeV2Message,
} from '../wire/socket.js';
import { type Check, compile, type SchemaError } from '../wire/validation.js';

export type RfqMessage = RfqByPoolKeyMessage | RfqByPoolAddressMessage;
/** On a plain connection a FilterMessage; the subprotocols add to it. */
export type ClientMessage = AuthMessage | ChannelChange | RfqMessage | CallMessage;

/** Calls that HTTP has as well. */
export type CallMessage = PostQuotesCall | BodyCall;

/** Messages that change the channels that a socket follows. */
export type ChannelChange = Follow | UnsubscribeV2Message;

export type Follow =
  FilterV2Message | OrderbookFilterMessage | TickerFilterMessage | CoverFilterMessage | TradesFilterMessage;

/** Why a message is refused: the text, and what programs tell it by. */
export interface MessageProblem {
  readonly code: ErrorCode;
  readonly message: string;
  /** When to try again, milliseconds; absent: as soon as errors of the code allow. */
  readonly retryAfterMs?: number;
}

/** Why a message was not carried out; null: it was, and has its answer. */
export type Refusal = MessageProblem | null;

/** A value, or the error for the client that sent it. */
export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: MessageProblem };

/** A frame of a client. `id`: what it calls its message, which the answer repeats; undefined: nothing. */
export interface ClientFrame {
  readonly raw: Parsed<RawMessage>;
  readonly id: string | undefined;
}

/** A message as it came: an object with some `type`, checked no further. */
export type RawMessage = Readonly<Record<string, unknown>>;

/** The answer names only the first error. */
const MAX_ERRORS = 1;
/** Characters of a client's unknown field name that the error text repeats. */
const QUOTED_CHARACTERS = 40;

/** First step: a text frame that holds a JSON object, without its id. Plain messages have none: there it is a field. */
export function parseFrame(data: Uint8Array, isBinary: boolean, isPlain: boolean): ClientFrame {
  const raw = parseObject(data, isBinary);
  if (isPlain || !raw.ok || raw.value.id === undefined) return { raw, id: undefined };
  const { id, ...value } = raw.value;
  const result = checkId({ id });
  if (result.ok) return { raw: { ok: true, value }, id: result.value.id };
  return { raw: invalid('message', result.errors), id: undefined };
}

const checkId = compile(closed({ id: MessageId }), MAX_ERRORS);

function parseObject(data: Uint8Array, isBinary: boolean): Parsed<RawMessage> {
  if (isBinary) return refused('malformed_message', 'Binary messages are not accepted: send JSON text');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
  } catch {
    return refused('malformed_message', 'Message is not valid JSON');
  }
  return isObject(value) ? { ok: true, value } : refused('malformed_message', 'Message must be a JSON object');
}

/** Second step: one of the messages that clients may send, whole and in its exact shape. */
export class MessageReader {
  readonly #auth = compile(AuthMessage, MAX_ERRORS);
  readonly #unsubscribe = compile(UnsubscribeMessage, MAX_ERRORS);
  readonly #unsubscribeV2 = compile(UnsubscribeV2Message, MAX_ERRORS);
  readonly #postQuotes = compile(PostQuotesCall, MAX_ERRORS);
  readonly #bodyCall = compile(BodyCall, MAX_ERRORS);
  readonly #filter: Check<FilterMessage>;
  readonly #filterV2: Check<FilterV2Message>;
  readonly #orderbook: Check<OrderbookFilterMessage>;
  readonly #plainOrderbook: Check<OrderbookFilterMessage>;
  readonly #ticker: Check<TickerFilterMessage>;
  readonly #cover: Check<CoverFilterMessage>;
  readonly #trades: Check<TradesFilterMessage>;
  readonly #rfqByPoolKey: Check<RfqByPoolKeyRequest>;
  readonly #rfqByPoolAddress: Check<RfqByPoolAddressMessage>;

  /** `chainId`: the settlement chain's. `maxDepth`: most levels of a side that ORDERBOOK may ask for. */
  constructor(chainId: string, maxDepth: number) {
    const check = <const S extends TSchema>(schema: S): Check<Static<S>> =>
      compile(onChain(schema, chainId), MAX_ERRORS);
    this.#filter = check(FilterMessage);
    this.#filterV2 = check(FilterV2Message);
    this.#orderbook = check(orderbookFilterMessage(maxDepth));
    this.#plainOrderbook = check(plainOrderbookFilterMessage(maxDepth));
    this.#ticker = check(TickerFilterMessage);
    this.#cover = check(CoverFilterMessage);
    this.#trades = check(TradesFilterMessage);
    this.#rfqByPoolKey = check(RfqByPoolKeyRequest);
    this.#rfqByPoolAddress = check(RfqByPoolAddressMessage);
  }

  read(raw: RawMessage, isPlain: boolean): Parsed<ClientMessage> {
    const isOrderbook = raw.channel === 'ORDERBOOK';
    switch (raw.type) {
      case 'AUTH':
        return checked(this.#auth, raw, 'AUTH');
      case 'FILTER':
        if (isOrderbook) return checked(isPlain ? this.#plainOrderbook : this.#orderbook, raw, 'FILTER');
        if (raw.channel === 'TICKER' && !isPlain) return checked(this.#ticker, raw, 'FILTER');
        if (raw.channel === 'COVER' && !isPlain) return checked(this.#cover, raw, 'FILTER');
        if (raw.channel === 'TRADES' && !isPlain) return checked(this.#trades, raw, 'FILTER');
        return checked<FilterV2Message>(isPlain ? this.#filter : this.#filterV2, raw, 'FILTER');
      case 'UNSUBSCRIBE':
        return checked<UnsubscribeV2Message>(
          isPlain && !isOrderbook ? this.#unsubscribe : this.#unsubscribeV2,
          raw,
          'UNSUBSCRIBE',
        );
      case 'RFQ':
        return namesPoolAddress(raw) ? checked(this.#rfqByPoolAddress, raw, 'RFQ') : this.#readRfqByPoolKey(raw);
      case 'POST_QUOTES':
        return isPlain ? unknownType(isPlain) : checked(this.#postQuotes, raw, 'POST_QUOTES');
      default: {
        const call = isPlain ? undefined : BODY_CALLS.find((type) => type === raw.type);
        return call === undefined ? unknownType(isPlain) : checked(this.#bodyCall, raw, call);
      }
    }
  }

  /** As it is published: with the maturity as a number. */
  #readRfqByPoolKey(raw: RawMessage): Parsed<RfqMessage> {
    const request = checked(this.#rfqByPoolKey, raw, 'RFQ');
    if (!request.ok) return request;
    const { type, body } = request.value;
    const poolKey = { ...body.poolKey, maturity: Number(body.poolKey.maturity) };
    return { ok: true, value: { type, body: { ...body, poolKey } } };
  }
}

function unknownType(isPlain: boolean): { readonly ok: false; readonly problem: MessageProblem } {
  const types = isPlain ? 'UNSUBSCRIBE or RFQ' : `UNSUBSCRIBE, RFQ, POST_QUOTES or ${BODY_CALLS.join(', ')}`;
  return refused('unknown_message_type', `Unknown message type: must be AUTH, FILTER, ${types}`);
}

/** A body that does not match its schema, as a message's own field would be refused. */
export function bodyProblem(type: string, errors: readonly SchemaError[]): MessageProblem {
  return invalid(
    type,
    errors.map((error) => ({ ...error, instancePath: `/body${error.instancePath}` })),
  ).problem;
}

function namesPoolAddress({ body }: RawMessage): boolean {
  return isObject(body) && body.poolAddress !== undefined;
}

function checked<T>(check: Check<T>, raw: RawMessage, type: string): Parsed<T> {
  const result = check(raw);
  return result.ok ? result : invalid(type, result.errors);
}

function invalid(
  type: string,
  [first]: readonly SchemaError[],
): { readonly ok: false; readonly problem: MessageProblem } {
  return refused('invalid_parameter', first === undefined ? `Invalid ${type}` : `Invalid ${type}: ${describe(first)}`);
}

function describe({ instancePath, message, params }: SchemaError): string {
  const place = instancePath === '' ? 'message' : instancePath.slice(1).replaceAll('/', '.');
  const { additionalProperty } = params;
  if (typeof additionalProperty !== 'string') return `${place} ${message}`;
  return `${place} ${message}: ${additionalProperty.slice(0, QUOTED_CHARACTERS)}`;
}

function refused(code: ErrorCode, message: string): { readonly ok: false; readonly problem: MessageProblem } {
  return { ok: false, problem: { code, message } };
}

function isObject(value: unknown): value is RawMessage {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Answers to a client's messages. Existing clients compare these texts letter for letter. */
export const replyTexts = {
  authorized: 'Session authorized. Subscriptions enabled.',
  keyNotFound: 'NOT_FOUND',
  notAuthorized: 'Not Authorized',
  rateLimited: 'RATELIMITED',
  subscribed: (keys: readonly string[]) => `Subscribed to ${keys.join(',')} channel.`,
  unsubscribed: (channel: FeedChannel) => `Unsubscribed from ${channel} channel`,
  rfqPublished: (key: string) => `Published RFQ to ${key} Redis channel`,
} as const;

/** Refusals of every kind of message. */
export const problems = {
  keyUnknown: { code: 'api_key_unknown', message: replyTexts.keyNotFound },
  notAuthorized: { code: 'not_authenticated', message: replyTexts.notAuthorized },
  rateLimited: { code: 'rate_limited', message: replyTexts.rateLimited },
  internalError: { code: 'internal_error', message: 'Internal server error' },
  takerNotProven: {
    code: 'taker_not_proven',
    message: 'This key has not proven the address of the taker: sign in with it',
  },
  notAllTakers: {
    code: 'missing_scope',
    message: "Every taker's quotes and requests take a key with the scope takers:all",
  },
} as const satisfies Readonly<Record<string, MessageProblem>>;

export function takerProblem(taker: string | null): MessageProblem {
  return taker === '*' ? problems.notAllTakers : problems.takerNotProven;
}

export function noSize(type: string): MessageProblem {
  return { code: 'invalid_parameter', message: `Invalid ${type}: body.size must be > 0` };
}

/** A message names the chain `asked`; the service has `served` alone. */
export function otherChain(asked: string, served: string): MessageProblem {
  return { code: 'unsupported_chain', message: `Chain ${asked} is not served here, only ${served} is` };
}
