import {
  ApiError,
  type Hex,
  type OrderbookClient,
  type OrderbookQuote,
  type PostedQuote,
  type PostQuotesResult,
  type SignedQuote,
  ZERO_ADDRESS,
} from 'quotebook/client';
import { takenOf } from './contract-calls.js';
import { timeText, words } from './display.js';
import type { ServerClock } from './server-clock.js';
import { readStored, store } from './storage.js';
import { isSameAddress, shortAddress, type Wallet } from './wallet.js';

/** A quote of the wallet that somebody may still be able to fill. */
export interface OwnQuote {
  readonly quoteId: Hex;
  readonly poolAddress: Hex;
  readonly isBuy: boolean;
  /** As on the wire. */
  readonly price: bigint;
  /** 1e-18 contracts that can still be filled. */
  readonly left: bigint;
  /** Such as "live", with the taker where nobody else can fill it. */
  readonly state: string;
  readonly isPrivate: boolean;
  readonly isWithdrawn: boolean;
}

/** A quote for one taker that was sent from this browser. */
interface SentQuote extends Pick<PostedQuote, 'provider' | 'taker' | 'isBuy' | 'price' | 'size' | 'deadline'> {
  readonly quoteId: Hex;
  readonly poolAddress: Hex;
}

/** What the chain said of a quote at `atMs` of performance.now(). */
interface Taken {
  readonly size: bigint;
  readonly atMs: number;
}

const STORED_AS = 'quotebook.privateQuotes';
/** The newest that are kept, at most the ids that the server takes in one request. */
const MOST_KEPT = 500;
/** The page size of withdrawn quotes, the largest. */
const WITHDRAWN_PAGE = '1000';
const TAKEN_FOR_MS = 10_000;
const WITHDRAWN = 'withdrawn';

/**
 * The wallet's quotes as the service lists them, and private ones that were sent from this browser. The browser keeps
 * those until their deadline, for when the service does not show them.
 */
export class OwnQuotes {
  readonly #clock: ServerClock;
  /** The same as in the browser's storage, for a browser that stores nothing. */
  #sent: readonly SentQuote[] = [];
  /** By id, of quotes that the service does not show. */
  readonly #taken = new Map<Hex, Taken>();

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  /**
   * Publishes signed quotes of one pool, unless the chain would refuse one now: `reasons` says why then, and nothing is
   * published.
   */
  async publish(
    client: OrderbookClient,
    poolAddress: Hex,
    signed: readonly SignedQuote[],
  ): Promise<{ readonly created: PostQuotesResult['created']; readonly reasons: readonly string[] }> {
    const quotes = signed.map(({ posted }) => posted);
    const checked = await client.rest.checkQuotes(quotes);
    const reasons = new Set(checked.quotes.flatMap(({ reasons: each }) => each));
    if (reasons.size > 0) return { created: [], reasons: [...reasons] };
    // Before the answer: if that is lost, the quotes may be published all the same.
    this.#keep(signed.map(({ quoteId, posted }) => ({ ...posted, quoteId, poolAddress })));
    try {
      const { created, failed } = await client.rest.postQuotes(quotes);
      return { created, reasons: [...new Set(failed.map(({ reason }) => reason))] };
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) this.#forget(signed.map(({ quoteId }) => quoteId));
      throw error;
    }
  }

  /** All that can still be filled, as far as the service or this browser knows. Rejects when something cannot be read. */
  async read(client: OrderbookClient, wallet: Wallet): Promise<OwnQuote[]> {
    const provider = wallet.address;
    const sent = this.#all().filter(
      (quote) => isSameAddress(quote.provider, provider) && quote.deadline > this.#clock.now(),
    );
    const [open, own, withdrawn] = await Promise.all([
      client.rest.ordersOf(provider),
      client.rest.orders({ quoteIds: sent.map(({ quoteId }) => quoteId) }),
      withdrawnOf(client, provider),
    ]);
    const listed = [open, own].flatMap(({ validQuotes, invalidQuotes }) => [
      ...validQuotes.map((quote) => ownQuote(quote, 'live')),
      ...invalidQuotes.map(({ quote, reason }) => ownQuote(quote, words(reason))),
    ]);
    const known = new Map(
      [...listed, ...withdrawn.map((quote) => ownQuote(quote, WITHDRAWN))].map((quote) => [quote.quoteId, quote]),
    );
    const unlisted = await Promise.all(
      sent.filter(({ quoteId }) => !known.has(quoteId)).map((quote) => this.#asOfChain(wallet, quote)),
    );
    return [...known.values(), ...unlisted.filter(({ left }) => left > 0n)];
  }

  /** A transaction may have changed what the chain says of a quote. */
  transacted(): void {
    this.#taken.clear();
  }

  /** One that the service does not show: the key may not see it, or it is not published. */
  async #asOfChain(wallet: Wallet, quote: SentQuote): Promise<OwnQuote> {
    const { quoteId, poolAddress, deadline } = quote;
    let taken = this.#taken.get(quoteId);
    if (taken === undefined || taken.atMs + TAKEN_FOR_MS <= performance.now()) {
      taken = { size: await takenOf(wallet, poolAddress, quoteId), atMs: performance.now() };
      this.#taken.set(quoteId, taken);
    }
    const left = BigInt(quote.size) - taken.size;
    const until = `can be filled until ${timeText(deadline * 1000)}`;
    return ownQuote({ ...quote, fillableSize: String(left > 0n ? left : 0n) }, until);
  }

  #all(): SentQuote[] {
    const stored = readStored(STORED_AS) as readonly SentQuote[] | null;
    return [...new Map([...(stored ?? []), ...this.#sent].map((quote) => [quote.quoteId, quote])).values()];
  }

  #keep(quotes: readonly SentQuote[]): void {
    const own = quotes
      .filter(({ taker }) => taker !== ZERO_ADDRESS)
      .map(({ quoteId, poolAddress, provider, taker, isBuy, price, size, deadline }) => {
        return { quoteId, poolAddress, provider, taker, isBuy, price, size, deadline };
      });
    if (own.length === 0) return;
    const now = this.#clock.now();
    this.#replace([...this.#all(), ...own].filter(({ deadline }) => deadline > now).slice(-MOST_KEPT));
  }

  #forget(ids: readonly Hex[]): void {
    const all = this.#all();
    const rest = all.filter(({ quoteId }) => !ids.includes(quoteId));
    if (rest.length < all.length) this.#replace(rest);
  }

  #replace(sent: readonly SentQuote[]): void {
    this.#sent = sent;
    store(STORED_AS, sent);
  }
}

function ownQuote({ quoteId, poolAddress, isBuy, price, fillableSize, taker }: OwnTerms, state: string): OwnQuote {
  const isPrivate = taker !== ZERO_ADDRESS;
  return {
    quoteId,
    poolAddress,
    isBuy,
    price: BigInt(price),
    left: BigInt(fillableSize),
    state: isPrivate ? `${state}; private, for ${shortAddress(taker)}` : state,
    isPrivate,
    isWithdrawn: state === WITHDRAWN,
  };
}

type OwnTerms = Pick<OrderbookQuote, 'quoteId' | 'poolAddress' | 'isBuy' | 'price' | 'fillableSize' | 'taker'>;

/** Public and private ones. */
async function withdrawnOf(client: OrderbookClient, provider: Hex): Promise<OrderbookQuote[]> {
  const all: OrderbookQuote[] = [];
  for (let cursor: Hex | null | undefined; cursor !== null;) {
    const page = { provider, limit: WITHDRAWN_PAGE, ...(cursor !== undefined && { cursor }) };
    const { quotes, next } = await client.rest.withdrawnQuotes(page);
    all.push(...quotes);
    cursor = next;
  }
  return all;
}
