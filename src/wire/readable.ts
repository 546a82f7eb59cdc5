/**
 * The readable form of quotes and requests for quotes: options by the symbols of their tokens, amounts as decimal numbers
 * of whole units. It is the form of `/orderbook/*`, `/account/orders` and of the readable WebSocket.
 *
 * Reading it needs nothing of its own. `symbolOf` (options.ts), `DecimalNumber`, `DecimalText`, `Expiration` and `OptionType`
 * (primitives.ts) are the schemas: a negative number, or one with more than 18 decimals, is refused by them. `readOption`
 * and `readAmount` make bigints of what has passed; `readNewExpiration` and `parseExpiration` (expiration.ts) read dates
 * and have the texts of their refusals; `OptionSeries.poolKey` makes the pool key, `OptionSeries.optionOf` leads back.
 */
import Type, { type Static } from 'typebox';
import { type Pool, type PoolKey, type Quote, type Side, type SignedQuote, sideOf } from '../engine/quote.js';
import type { OptionTerms } from './options.js';
import type { PoolKeyJson } from './orderbook.js';
import { Address, closed, Expiration, formatDecimal, Hash, OptionType, SideText, UnixSeconds } from './primitives.js';

const amount = (description: string) => Type.Number({ description });

const option = {
  base: Type.String({
    description: "Symbol; the address of a token that has none, or of a pool with another oracle's.",
  }),
  quote: Type.String({ description: 'As `base`.' }),
  expiration: Expiration,
  strike: amount('In quote tokens.'),
  type: OptionType,
};

const common = {
  ...option,
  side: SideText,
  remainingSize: amount('Contracts that can still be filled.'),
  price: amount('Of one contract: in base tokens for calls, in parts of the strike for puts.'),
  provider: Address,
  taker: Address,
  deadline: Type.Integer({ minimum: 0, description: 'Seconds that are left.' }),
};

/** A quote of the book, its keys in their order on the wire. Amounts are exact, whatever their number of digits. */
export const ReadableQuote = closed({ ...common, quoteId: Hash, createdAt: UnixSeconds });
export type ReadableQuote = Static<typeof ReadableQuote>;

/** One that was not published has neither an id nor a time of its own. */
export const ReadableFailedQuote = closed(common);
export type ReadableFailedQuote = Static<typeof ReadableFailedQuote>;

export const ReadableInvalidQuote = closed({ reason: Type.String(), quote: ReadableQuote });

export const ReadableRfq = closed({ ...option, side: SideText, size: amount('Contracts.'), taker: Address });

const TradeSize = Type.String({
  pattern: '^[0-9]+[.][0-9]+$',
  description: 'Contracts that were filled, always with a point, such as `1.0`.',
});

/** Messages of the readable WebSocket; answers to a client's messages are those of the plain one. */
export const ReadablePostQuoteMessage = closed({ type: Type.Literal('POST_QUOTE'), body: ReadableQuote });
export const ReadableDeleteQuoteMessage = closed({ type: Type.Literal('DELETE_QUOTE'), body: ReadableQuote });
export const ReadableFillQuoteMessage = closed({
  type: Type.Literal('FILL_QUOTE'),
  body: ReadableQuote,
  tradeSize: TradeSize,
});
export const ReadableRfqMessage = closed({ type: Type.Literal('RFQ'), body: ReadableRfq });

export interface ReadableNames {
  /** `OptionSeries.optionOf`. */
  optionOf(poolKey: PoolKey): OptionTerms;
  /** Engine time, Unix seconds: what deadlines are counted from. */
  nowSeconds(): number;
}

/** A request for quotes whose pool is known. */
export interface RfqTerms {
  readonly poolKey: PoolKey;
  readonly side: Side;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** As it was written. */
  readonly taker: string;
}

/**
 * Writes the readable form as JSON text, number by number digit by digit: a float would change what a quote says. All
 * amounts that come in are units of 1e-18.
 */
export class ReadableJson {
  readonly #names: ReadableNames;
  /** By pool, from the beginning of the object to its type; all quotes of a pool share it. */
  readonly #options = new WeakMap<Pool, string>();

  constructor(names: ReadableNames) {
    this.#names = names;
  }

  /** A `ReadableQuote`. */
  quote(quote: Quote, fillableSize: bigint): string {
    return `${this.#common(quote, fillableSize)},"quoteId":"${quote.quoteId}","createdAt":${quote.ts}}`;
  }

  /** A `ReadableFailedQuote`; all of its size counts as remaining. */
  failedQuote(quote: SignedQuote): string {
    return `${this.#common(quote, quote.size)}}`;
  }

  /** The body of an RFQ message. */
  rfq({ poolKey, side, size, taker }: RfqTerms): string {
    const option = optionJson(this.#names.optionOf(poolKey));
    return `${option},"side":"${side}","size":${formatDecimal(size, 18)},"taker":${JSON.stringify(taker)}}`;
  }

  #common(quote: SignedQuote, remaining: bigint): string {
    const { pool, price, provider, taker, deadline } = quote;
    const secondsLeft = Math.max(deadline - this.#names.nowSeconds(), 0);
    return [
      this.#optionOf(pool),
      ',"side":"',
      sideOf(quote),
      '","remainingSize":',
      formatDecimal(remaining, 18),
      ',"price":',
      formatDecimal(price, 18),
      ',"provider":"',
      provider,
      '","taker":"',
      taker,
      '","deadline":',
      secondsLeft,
    ].join('');
  }

  #optionOf(pool: Pool): string {
    let text = this.#options.get(pool);
    if (text === undefined) {
      text = optionJson(this.#names.optionOf(pool.poolKey));
      this.#options.set(pool, text);
    }
    return text;
  }
}

/** The fields of an option, without the end of their object. */
function optionJson({ base, quote, expiration, strike, type }: OptionTerms): string {
  const before = JSON.stringify({ base, quote, expiration }).slice(0, -1);
  return `${before},"strike":${formatDecimal(strike, 18)},"type":"${type}"`;
}

/** Decimal text that always has a point, such as `1.0`. */
export function tradeSizeText(units: bigint): string {
  const text = formatDecimal(units, 18);
  return text.includes('.') ? text : `${text}.0`;
}

/** A pool key as it came over the wire, its schema passed. */
export function readPoolKey(poolKey: PoolKeyJson): PoolKey {
  return { ...poolKey, strike: BigInt(poolKey.strike) };
}
