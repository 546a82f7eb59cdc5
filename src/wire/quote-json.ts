import type { Order, Pool, Quote } from '../engine/quote.js';
import { LruMap } from '../system/lru-map.js';

/** All of a quote's text before the digits of `fillableSize`. */
interface Head {
  readonly text: string;
  /** Null until a mark of the order is wanted. */
  digest: string | null;
}

/** Name of a pool's option; undefined: the quote has no such field. */
type InstrumentOf = (pool: Pool) => string | null | undefined;

/**
 * Writes orders as the wire's OrderbookQuote. All but `fillableSize` is fixed once a quote is known, so its text is
 * made once and kept while it is wanted (measured: 12 to 80 times `JSON.stringify` of the whole each time).
 */
export class QuoteJson {
  readonly #heads: LruMap<Quote, Head>;
  /** Of the quotes of one pool, a third of the text is the same. */
  readonly #pools = new WeakMap<Pool, string>();
  readonly #chainId: string;
  readonly #instrumentOf: InstrumentOf | null;

  /**
   * `chainId`: the settlement chain's, as it goes on the wire. `writtenQuotes`: the last ones whose texts are kept, and
   * up to as many from before. `instrumentOf`: quotes have the name of their option as well; absent: they have not.
   */
  constructor(chainId: string, writtenQuotes: number, instrumentOf: InstrumentOf | null = null) {
    this.#instrumentOf = instrumentOf;
    this.#chainId = chainId;
    this.#heads = new LruMap(writtenQuotes);
  }

  /** `fillableSize` in 1e-18 contracts; given apart because an event tells of a moment that may have passed. */
  encode(order: Order, fillableSize: bigint = order.fillableSize): string {
    return this.encodeQuote(order.quote, fillableSize);
  }

  encodeQuote(quote: Quote, fillableSize: bigint): string {
    return `${this.#headOf(quote).text}${String(fillableSize)}"}`;
  }

  /** The same, where many are written together. */
  write(out: Pick<AsciiWriter, 'write'>, { quote }: Order, fillableSize: bigint): void {
    out.write(this.#headOf(quote).text);
    out.write(String(fillableSize));
    out.write('"}');
  }

  /**
   * A short text in place of the whole one: two orders have the same just when they are written the same. `digest`: of
   * a text, always as long and the same function each time.
   */
  mark({ quote }: Order, fillableSize: bigint, digest: (text: string) => string): string {
    const head = this.#headOf(quote);
    head.digest ??= digest(head.text);
    return head.digest + String(fillableSize);
  }

  /** Name of a pool's option; null: it has none, or quotes are written without names. */
  instrumentOf(pool: Pool): string | null {
    return this.#instrumentOf?.(pool) ?? null;
  }

  #headOf(quote: Quote): Head {
    const known = this.#heads.get(quote);
    if (known !== undefined) return known;
    const head: Head = { text: this.#head(quote), digest: null };
    this.#heads.set(quote, head);
    return head;
  }

  /** As `JSON.stringify(this.fixed(quote))` has it, in a third of the time: nothing in a quote has to be escaped. */
  #head(quote: Quote): string {
    const { signature } = quote;
    // Joined, not added up: what is kept is one text, not a tree of its pieces.
    return [
      '{"quoteId":"',
      quote.quoteId,
      this.#poolOf(quote.pool),
      quote.provider,
      '","taker":"',
      quote.taker,
      '","price":"',
      quote.price,
      '","size":"',
      quote.size,
      quote.isBuy ? '","isBuy":true,"deadline":' : '","isBuy":false,"deadline":',
      quote.deadline,
      ',"salt":',
      quote.salt,
      ',"signature":{"r":"',
      signature.r,
      '","s":"',
      signature.s,
      '","v":',
      signature.v,
      '},"ts":',
      quote.ts,
      ',"fillableSize":"',
    ].join('');
  }

  /** From the end of `quoteId` to the beginning of `provider`. */
  #poolOf(pool: Pool): string {
    const known = this.#pools.get(pool);
    if (known !== undefined) return known;
    const named = this.#instrumentOf === null ? {} : { instrument: this.#instrumentOf(pool) };
    const fields = { ...poolJson(pool), ...named, chainId: this.#chainId };
    const text = `",${JSON.stringify(fields).slice(1, -1)},"provider":"`;
    this.#pools.set(pool, text);
    return text;
  }

  /** All but `fillableSize`, as JSON has it and in its order. */
  fixed(quote: Quote) {
    return {
      quoteId: quote.quoteId,
      ...poolJson(quote.pool),
      chainId: this.#chainId,
      provider: quote.provider,
      taker: quote.taker,
      price: quote.price.toString(),
      size: quote.size.toString(),
      isBuy: quote.isBuy,
      deadline: quote.deadline,
      salt: quote.salt,
      signature: quote.signature,
      ts: quote.ts,
      ...(this.#instrumentOf !== null && { instrument: this.#instrumentOf(quote.pool) }),
    };
  }
}

function poolJson({ poolAddress, poolKey }: Pool) {
  return { poolAddress, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };
}

/** Puts texts one behind the other as bytes. Quotes on the wire are ASCII: hex digits, numbers, names. */
export class AsciiWriter {
  #bytes: Buffer;
  #length = 0;

  /** `capacity`: bytes to begin with. */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  get length(): number {
    return this.#length;
  }

  write(text: string): void {
    const end = this.#length + text.length;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.write(text, this.#length, 'latin1');
    this.#length = end;
  }

  /** The bytes written; the writer is not used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Memory that about sixty messages share. */
const SHARED_BYTES = 64 << 10;

/**
 * Puts texts together to messages of ASCII. Many messages lie in one piece of memory, and none is written over: a
 * network may keep a message. The parts are never joined to one text, which V8 would copy before it is encoded.
 */
export class AsciiMessages {
  #bytes = Buffer.allocUnsafeSlow(SHARED_BYTES);
  #start = 0;
  #end = 0;

  /** Appends to the message that is being put together. */
  write(text: string): void {
    if (this.#end + text.length > this.#bytes.length) this.#renew(text.length);
    this.#end += this.#bytes.write(text, this.#end, 'latin1');
  }

  /** The message; what is written next belongs to another one. */
  take(): Uint8Array {
    // Not a Buffer: its views take three times as long to make.
    const message = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + this.#start, this.#end - this.#start);
    this.#start = this.#end;
    return message;
  }

  #renew(needed: number): void {
    const begun = this.#bytes.subarray(this.#start, this.#end);
    const larger = Buffer.allocUnsafeSlow(Math.max(SHARED_BYTES, 2 * (begun.length + needed)));
    begun.copy(larger);
    this.#bytes = larger;
    this.#start = 0;
    this.#end = begun.length;
  }
}
