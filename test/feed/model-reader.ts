import { concat, keccak256, numberToHex } from 'viem';
import type { Side } from '../../src/engine/quote.js';
import type { PriceLevelsJson, QuoteMessageType, ServerMessageV2 } from '../../src/wire/feed-messages.js';
import type { OrderbookQuote } from '../../src/wire/orderbook.js';

type Hex = `0x${string}`;
type Level = PriceLevelsJson['bids'][number];

const MODULUS = 1n << 256n;

type HashedQuote = Pick<OrderbookQuote, 'quoteId' | 'fillableSize'>;

/** What each quote adds to the hash of its book: a heartbeat of 20,000 quotes would take 0.3 s without. */
const hashTerms = new WeakMap<HashedQuote, HashedQuote & { readonly term: bigint }>();

function hashTerm(quote: HashedQuote): bigint {
  const { quoteId, fillableSize } = quote;
  const known = hashTerms.get(quote);
  if (known?.quoteId === quoteId && known.fillableSize === fillableSize) return known.term;
  const term = BigInt(keccak256(concat([quoteId, numberToHex(BigInt(fillableSize), { size: 32 })])));
  hashTerms.set(quote, { quoteId, fillableSize, term });
  return term;
}

/** As docs/reference/api.md says it, from the wire's own values. */
export function quotesHash(quotes: Iterable<HashedQuote>): Hex {
  let sum = 0n;
  for (const quote of quotes) sum += hashTerm(quote);
  return numberToHex(sum % MODULUS, { size: 32 });
}

export function levelsHash(bids: Iterable<Level>, asks: Iterable<Level>): Hex {
  let sum = 0n;
  for (const [side, levels] of [bids, asks].entries()) {
    for (const { price, size, count } of levels) {
      const words = [side, BigInt(price), BigInt(size), count].map((word) => numberToHex(word, { size: 32 }));
      sum += BigInt(keccak256(concat(words)));
    }
  }
  return numberToHex(sum % MODULUS, { size: 32 });
}

/** A client that does what docs/reference/api.md says, and throws on a gap or a hash that is not its own. */
export class ModelReader {
  /** By key: everything up to here has come. */
  readonly at = new Map<string, number>();
  epoch = '';
  /** By key, then by id. */
  readonly quotes = new Map<string, Map<string, OrderbookQuote>>();
  readonly levels: Record<Side, Map<string, Level>> = { bid: new Map(), ask: new Map() };
  readonly counts = new Map<string, number>();
  /** Messages that it had already. */
  repeated = 0;
  heartbeats = 0;
  /** It asked to go on where it was, not for a snapshot. */
  isResuming = false;
  /** Numbers of the messages it used, in order, with their keys. */
  readonly used: string[] = [];
  #keys: readonly string[] = [];
  #isAcknowledged = false;
  readonly #inSnapshot = new Set<string>();

  take(messages: readonly ServerMessageV2[]): void {
    for (const message of messages) this.#take(message);
  }

  get allQuotes(): OrderbookQuote[] {
    return [...this.quotes.values()].flatMap((ofKey) => [...ofKey.values()]);
  }

  get levelsHash(): Hex {
    return levelsHash(this.levels.bid.values(), this.levels.ask.values());
  }

  /** It has a whole book to go on from. */
  get canResume(): boolean {
    return this.#keys.length > 0 && this.#keys.every((key) => this.at.has(key));
  }

  /** The number that it would go on from. */
  get seq(): number {
    return Math.min(...this.at.values());
  }

  /** A new connection: until it acknowledges the keys, its heartbeats say nothing of them. */
  connected(): void {
    this.#isAcknowledged = false;
  }

  /** Applies a heartbeat, or a page of GET /events: no message up to here is still to come, under any key. */
  completeUpTo(seq: number): void {
    for (const [key, at] of this.at) this.at.set(key, Math.max(at, seq));
  }

  #take(message: ServerMessageV2): void {
    this.counts.set(message.type, (this.counts.get(message.type) ?? 0) + 1);
    switch (message.type) {
      case 'ERROR':
        throw new Error(message.message);
      case 'INFO':
        if (message.body === null) return;
        return this.#acknowledged(message.body);
      case 'RESYNC':
        for (const key of message.keys) {
          if (message.channel === 'RFQ') this.at.set(key, message.seq);
          else this.at.delete(key);
          this.quotes.delete(key);
        }
        return;
      case 'QUOTES_SNAPSHOT': {
        const { key, body, more, seq, hash } = message;
        if (!this.#inSnapshot.has(key)) this.quotes.set(key, new Map());
        this.#inSnapshot.add(key);
        for (const quote of body) this.#ofKey(key).set(quote.quoteId, quote);
        if (more) return;
        this.#inSnapshot.delete(key);
        this.at.set(key, seq);
        return equal(quotesHash(this.#ofKey(key).values()), hash, `snapshot of ${key}`);
      }
      case 'ORDERBOOK_SNAPSHOT':
        for (const side of ['bid', 'ask'] as const) this.levels[side].clear();
        this.#setLevels(message.body);
        this.at.set(message.key, message.seq);
        return equal(this.levelsHash, message.levelsHash, `snapshot of ${message.key}`);
      case 'ORDERBOOK_UPDATE':
        if (this.#isNext(message)) this.#setLevels(message.body);
        return;
      case 'HEARTBEAT':
        this.heartbeats += 1;
        if (!this.#isAcknowledged) return;
        this.completeUpTo(message.seq);
        for (const { key, hash } of message.books) {
          const own = key.startsWith('orderbook:') ? this.levelsHash : quotesHash(this.#ofKey(key).values());
          equal(own, hash, `heartbeat ${message.seq} of ${key}`);
        }
        return;
      case 'RFQ':
      case 'RFQ_UPDATE':
        this.#isNext(message);
        return;
      case 'RFQ_STATUS':
        // Of requests that its key sent: no part of what it follows.
        return;
      case 'TICKER_SNAPSHOT':
      case 'TICKER':
      case 'COVER':
      case 'TRADE':
      case 'UNDO_TRADES':
      case 'QUOTES_POSTED':
      case 'QUOTES_CHECKED':
      case 'QUOTES_CANCELLED':
      case 'QUOTES_WITHDRAWN':
      case 'QUOTES_RESTORED':
      case 'TIMER_SET':
      case 'FILL_LIMIT_SET':
        throw new Error('it follows no tickers, covers and trades, and makes no calls');
      default:
        if (this.#isNext(message)) this.#setQuote(message);
    }
  }

  #acknowledged({ epoch, keys, channel, seq }: NonNullable<Extract<ServerMessageV2, { type: 'INFO' }>['body']>): void {
    const before = new Map(this.at);
    this.epoch = epoch;
    this.at.clear();
    this.#inSnapshot.clear();
    this.#keys = keys;
    this.#isAcknowledged = true;
    // A reader that waits for a snapshot cannot resume until it is complete.
    if (!this.isResuming && channel !== 'RFQ') return;
    // It asked to go on from the key that is behind most; under the others it has more.
    for (const key of keys) this.at.set(key, Math.max(seq, this.isResuming ? (before.get(key) ?? 0) : 0));
  }

  #isNext({ key, seq, prevSeq }: { key: string; seq: number; prevSeq: number }): boolean {
    const at = this.at.get(key);
    if (at === undefined) throw new Error(`${key} was not subscribed`);
    if (seq <= at) {
      this.repeated += 1;
      return false;
    }
    if (prevSeq > at) throw new Error(`a gap: ${key} is at ${at}, the next message follows ${prevSeq}`);
    this.at.set(key, seq);
    this.used.push(`${key} ${seq}`);
    return true;
  }

  #setQuote(message: Extract<ServerMessageV2, { cause: unknown }>): void {
    if (!isOfQuote(message)) return;
    const { key, body } = message;
    const quotes = this.#ofKey(key);
    switch (message.type) {
      case 'POST_QUOTE':
      case 'REVALIDATE_QUOTE':
      case 'RESTORE_QUOTE':
        quotes.set(body.quoteId, body);
        return;
      case 'FILL_QUOTE':
        if (body.fillableSize === '0') quotes.delete(body.quoteId);
        else quotes.set(body.quoteId, body);
        return;
      case 'UNDO_QUOTE':
        if (message.valid) quotes.set(body.quoteId, body);
        else quotes.delete(body.quoteId);
        return;
      default:
        quotes.delete(body.quoteId);
    }
  }

  #setLevels({ bids, asks }: PriceLevelsJson): void {
    for (const [side, levels] of [['bid', bids] as const, ['ask', asks] as const]) {
      for (const level of levels) {
        if (level.size === '0') this.levels[side].delete(level.price);
        else this.levels[side].set(level.price, level);
      }
    }
  }

  #ofKey(key: string): Map<string, OrderbookQuote> {
    const quotes = this.quotes.get(key) ?? new Map<string, OrderbookQuote>();
    this.quotes.set(key, quotes);
    return quotes;
  }
}

function equal(own: Hex, told: Hex, about: string): void {
  if (own !== told) throw new Error(`${about}: the reader has ${own}, the server says ${told}`);
}

function isOfQuote(message: ServerMessageV2): message is Extract<ServerMessageV2, { type: QuoteMessageType }> {
  return message.type.endsWith('_QUOTE');
}
