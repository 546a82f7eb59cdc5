import { type Hex, zeroAddress } from 'viem';
import { getBlock, readContract } from 'viem/actions';
import type { OrderbookQuote, PoolKeyJson, PostedQuoteJson } from '../../wire/orderbook.js';
import type { SideText } from '../../wire/primitives.js';
import { PUBLICATION_UNCONFIRMED } from '../../wire/unconfirmed.js';
import { Emitter, type StopListening } from '../emitter.js';
import type { FollowedQuotes, FollowedRfqs } from '../followed.js';
import type { QuoteEvent, RfqEvent } from '../messages.js';
import type { BaseOrderbookClient } from '../orderbook-client.js';
import { type ClientClock, type StopTimer, systemClock } from '../ports.js';
import type { QuotedPool, QuoteSigner } from '../sign-quote.js';
import { tradedPoolAbi } from './abi.js';
import { PostingBudget } from './posting-budget.js';
import type { Offer, SentQuote } from './quote-ledger.js';
import { type DeskOptions, QuotingDesk, type QuoteTarget } from './quoting-desk.js';
import type { Trader } from './trader.js';
import { lacksContract } from './transactions.js';

export interface QuoteManagerOptions extends Partial<DeskOptions> {
  readonly client: Pick<BaseOrderbookClient, 'rest' | 'followQuotes' | 'followRfqs' | 'signQuote'>;
  /** The maker's account. Its quotes in the managed pools belong to the manager. */
  readonly trader: Trader;
  /** Most quotes posted in any 24 hours; default 1,400, which a free key pays for. */
  readonly quotesPerDay?: number;
  /** Milliseconds between looks at the chain; default 1,000. */
  readonly lookMs?: number;
  /** For tests. */
  readonly clock?: ClientClock;
}

/** Actions of a manager, for logs and for strategies that change their targets. */
export type ManagerEvent =
  | { readonly type: 'POSTED'; readonly quote: SentQuote }
  | { readonly type: 'REFUSED'; readonly quote: SentQuote; readonly reason: string }
  /** `left`: of the quote in the book, 1e-18 contracts; 0 also where it is withdrawn. */
  | { readonly type: 'FILLED'; readonly quote: SentQuote; readonly size: bigint; readonly left: bigint }
  | { readonly type: 'CANCELLED'; readonly quoteIds: readonly Hex[]; readonly hash: Hex }
  /** Something failed and will be tried again. */
  | { readonly type: 'TROUBLE'; readonly during: 'POST' | 'CANCEL' | 'LOOK'; readonly error: unknown };

/** `close` could not cancel these in time. They end at their deadlines. */
export class QuotesLeftError extends Error {
  override readonly name = 'QuotesLeftError';
  readonly quoteIds: readonly Hex[];

  constructor(quoteIds: readonly Hex[]) {
    super(`${quoteIds.length} quotes may still be filled`);
    this.quoteIds = quoteIds;
  }
}

/**
 * Keeps a target of quotes in each pool: posts what is missing, answers requests for quotes, cancels what has to go
 * early. `QuotingDesk` decides; this carries it out.
 */
export class QuoteManager {
  readonly #options: QuoteManagerOptions;
  readonly #clock: ClientClock;
  readonly #desk: QuotingDesk;
  readonly #budget: PostingBudget;
  readonly #events = new Emitter<ManagerEvent>();
  readonly #pools = new Map<Hex, QuotedPool>();
  /** Quotes to post again while no answer is known. */
  readonly #posted = new Map<Hex, PostedQuoteJson>();
  readonly #cancelsUnderWay = new Map<Hex, Promise<void>>();
  /** Quotes whose cancel is in a block. */
  readonly #cancelled = new Set<Hex>();
  #own: FollowedQuotes | null = null;
  #rfqs: FollowedRfqs | null = null;
  #isActing = false;
  #shallActAgain = false;
  /** Events were missed: what the book does not show may have been filled. */
  #hasMissed = false;
  /** Grows when hidden quotes may have come: with pools, and with missed events. */
  #hiddenChange = 1;
  /** The ledger has the hidden quotes as of this `#hiddenChange`; without the newest nothing is posted. */
  #hiddenAdopted = 0;
  #pausedUntilMs = 0;
  /** Seconds of the newest block: ahead of this machine's clock on a chain whose time was moved. */
  #headSeconds = 0;
  #head = 0;
  /** Before the first look at the chain, quotes that have ended are in the ledger. */
  #hasLooked = false;
  #stopTimers: StopTimer[] = [];
  #isSoon = false;
  #isOver = false;
  #look: Promise<void> = Promise.resolve();

  constructor(options: QuoteManagerOptions) {
    // By name instead of spreading: an option set to undefined must take its default.
    const { lifeSeconds = 300, rfqLifeSeconds = 30, graceSeconds = 15 } = options;
    const { finalityBlocks = 20, slackSeconds = 30, quotesPerDay = 1_400 } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#desk = new QuotingDesk({ lifeSeconds, rfqLifeSeconds, graceSeconds, finalityBlocks, slackSeconds });
    this.#budget = new PostingBudget(quotesPerDay, this.#clock.wallMs());
  }

  onEvent(listener: (event: ManagerEvent) => void): StopListening {
    return this.#events.add(listener);
  }

  /** Sets the target of a pool from now on. `null`: offer nothing, and cancel what is offered. */
  setTarget(pool: QuotedPool, target: QuoteTarget | null): void {
    const poolAddress = pool.poolAddress.toLowerCase() as Hex;
    this.#desk.target(poolAddress, target);
    if (!this.#pools.has(poolAddress)) this.#hiddenChange += 1;
    this.#pools.set(poolAddress, { ...pool, poolAddress });
    if (this.#own?.state === 'LIVE') this.#adopt();
    this.#actSoon();
  }

  /** Size that may still be filled of the account's quotes on a side of a managed pool, 1e-18 contracts. */
  exposure({ poolAddress }: Pick<QuotedPool, 'poolAddress'>, side: SideText): bigint {
    return this.#desk.ledger.mayFill(poolAddress.toLowerCase() as Hex, side);
  }

  /** Resolves once the feed is live and the chain has been read; quotes follow. Rejects with the server's refusal. */
  async start(): Promise<void> {
    const { client, trader } = this.#options;
    const own = client.followQuotes({ provider: trader.address, taker: '*' });
    // Requests that name their makers reach those alone who follow by their own address.
    const rfqs = client.followRfqs({ provider: trader.address });
    this.#own = own;
    this.#rfqs = rfqs;
    own.onSnapshot(() => {
      this.#hasMissed = true;
      this.#hiddenChange += 1;
      this.#adopt();
    });
    own.onState(() => this.#actSoon());
    own.onEvent((event) => this.#take(event));
    rfqs.onRfq((rfq) => this.#request(rfq));
    await Promise.all([own.whenLive(), rfqs.whenLive()]);
    await this.#adoptHidden();
    await this.#lookOnce();
    this.#lookAgain();
    this.#actSoon();
  }

  /**
   * Posts nothing more and cancels on the chain whatever may still be filled. Resolves when the cancels are in blocks and
   * the feed shows none of the quotes; a quote that a reorg revives ends at its deadline. Rejects with QuotesLeftError.
   */
  async close(timeoutMs = 60_000): Promise<void> {
    this.#desk.close();
    const end = this.#clock.wallMs() + timeoutMs;
    const shown = (): OrderbookQuote[] => (this.#own?.state === 'LIVE' ? [...this.#ownBook()] : []);
    const left = (): Hex[] => {
      const quoteIds = new Set([...this.#desk.ledger.all(), ...shown()].map(({ quoteId }) => quoteId));
      return [...quoteIds].filter((quoteId) => !this.#cancelled.has(quoteId));
    };
    while (this.#clock.wallMs() < end && (this.#isActing || left().length > 0 || shown().length > 0)) {
      await this.#lookOnce();
      void this.#act();
      await Promise.all(this.#cancelsUnderWay.values());
      await this.#pause(CLOSING_MS);
    }
    const quoteIds = left();
    this.#isOver = true;
    for (const stop of this.#stopTimers) stop();
    this.#own?.close();
    this.#rfqs?.close();
    if (quoteIds.length > 0) throw new QuotesLeftError(quoteIds);
  }

  #take(event: QuoteEvent): void {
    const { type, body, cause } = event;
    const { quoteId } = body;
    if (!this.#pools.has(body.poolAddress)) return;
    const { ledger } = this.#desk;
    const block = cause?.chain === 'settlement' ? cause.blockNumber : this.#head;
    if (APPEARANCES.includes(type)) this.#found(body);
    if (type === 'FILL_QUOTE' || type === 'CANCEL_QUOTE' || type === 'UNDO_QUOTE') ledger.changed(quoteId, block);
    if (type === 'FILL_QUOTE') {
      const quote = ledger.get(quoteId) ?? sentQuoteOf(body);
      this.#events.emit({ type: 'FILLED', quote, size: BigInt(event.size), left: BigInt(body.fillableSize) });
    }
    this.#actSoon();
  }

  #request({ body }: RfqEvent): void {
    const { side, size, taker } = body;
    // Only a public quote can answer an anonymous request, and anyone could fill that at the price for requests.
    if (taker === zeroAddress) return;
    const poolAddress = 'poolKey' in body ? this.#poolOf(body.poolKey) : (body.poolAddress.toLowerCase() as Hex);
    if (poolAddress === undefined) return;
    this.#desk.request({ poolAddress, side, size: BigInt(size), taker, atSeconds: this.#nowSeconds() });
    void this.#act();
  }

  #poolOf(key: PoolKeyJson): Hex | undefined {
    const text = keyText(key);
    return [...this.#pools.values()].find(({ poolKey }) => keyText(poolKey) === text)?.poolAddress;
  }

  /** The book shows quotes that this program has not posted: of an earlier run, or of another program. */
  #adopt(): void {
    for (const quote of this.#ownBook()) this.#found(quote);
  }

  /** The book does not show quotes without funds and withdrawn ones. Both may be filled. */
  async #adoptHidden(): Promise<void> {
    const change = this.#hiddenChange;
    if (this.#hiddenAdopted === change) return;
    const { client, trader } = this.#options;
    const provider = trader.address;
    const { invalidQuotes } = await client.rest.ordersOf(provider);
    for (const { quote } of invalidQuotes) this.#found(quote);
    for (let cursor: Hex | null | undefined; cursor !== null;) {
      const query = { provider, limit: 1_000, ...(cursor !== undefined && { cursor }) };
      const { quotes, next } = await client.rest.withdrawnQuotes(query);
      for (const quote of quotes) this.#found(quote);
      cursor = next;
    }
    this.#hiddenAdopted = change;
  }

  *#ownBook(): Generator<OrderbookQuote, undefined> {
    for (const quote of this.#own?.book.all() ?? []) if (this.#pools.has(quote.poolAddress)) yield quote;
    return undefined;
  }

  #found(quote: OrderbookQuote): void {
    if (this.#pools.has(quote.poolAddress)) this.#desk.ledger.found(sentQuoteOf(quote), this.#head);
  }

  #nowSeconds(): number {
    return Math.max(Math.floor(this.#clock.wallMs() / 1000), this.#headSeconds);
  }

  /** Several events of one moment are acted upon together. */
  #actSoon(): void {
    if (this.#isSoon || this.#isOver) return;
    this.#isSoon = true;
    this.#after(GATHER_MS, () => {
      this.#isSoon = false;
      void this.#act();
    });
  }

  #lookAgain(): void {
    this.#after(this.#options.lookMs ?? 1_000, () => {
      void this.#lookOnce().then(() => {
        this.#actSoon();
        if (!this.#isOver) this.#lookAgain();
      });
    });
  }

  /** Reads the final state of the chain, one reading after the other. */
  #lookOnce(): Promise<void> {
    this.#look = this.#look.then(() => this.#read());
    return this.#look;
  }

  async #read(): Promise<void> {
    const { ledger, finalityBlocks } = this.#desk;
    const { wallet } = this.#options.trader.transactions;
    const { address } = this.#options.trader;
    try {
      const head = await getBlock(wallet, { blockTag: 'latest' });
      const finalNumber = head.number - BigInt(finalityBlocks);
      const final = finalityBlocks === 0 ? head : await getBlock(wallet, { blockNumber: max(finalNumber, 0n) });
      this.#head = Number(head.number);
      this.#headSeconds = Number(head.timestamp);
      if (this.#hasMissed && this.#own?.state === 'LIVE') {
        this.#hasMissed = false;
        const shown = new Set([...this.#ownBook()].map(({ quoteId }) => quoteId));
        for (const { quoteId } of ledger.all()) if (!shown.has(quoteId)) ledger.changed(quoteId, this.#head);
      }
      const due = ledger.due(this.#head).slice(0, READS_AT_ONCE);
      const amounts = await Promise.all(
        due.map(({ poolAddress, quoteId }) =>
          readContract(wallet, {
            address: poolAddress,
            abi: tradedPoolAbi,
            functionName: 'getQuoteOBFilledAmount',
            args: [address, quoteId],
            blockNumber: final.number,
          }).catch(noneWhereNotDeployed),
        ),
      );
      const filled = new Map(due.map(({ quoteId }, index) => [quoteId, amounts[index] ?? 0n]));
      const view = { head: this.#head, finalSeconds: Number(final.timestamp), filled };
      for (const { quoteId } of ledger.look(view, this.#nowSeconds())) {
        this.#posted.delete(quoteId);
        this.#cancelled.delete(quoteId);
      }
      this.#hasLooked = true;
      // A reorg took back what cancelled it.
      for (const { quoteId, isCancelling } of ledger.all()) if (!isCancelling) this.#cancelled.delete(quoteId);
      if (this.#own?.state === 'LIVE') await this.#adoptHidden();
    } catch (error) {
      this.#events.emit({ type: 'TROUBLE', during: 'LOOK', error });
    }
  }

  async #act(): Promise<void> {
    this.#shallActAgain = true;
    if (this.#isActing || this.#isOver || !this.#hasLooked) return;
    this.#isActing = true;
    try {
      while (this.#shallActAgain) {
        this.#shallActAgain = false;
        const nowMs = this.#clock.wallMs();
        // Without its book a maker does not know what it offers.
        const knowsAll = this.#own?.state === 'LIVE' && this.#hiddenAdopted === this.#hiddenChange;
        const mayPost = knowsAll && nowMs >= this.#pausedUntilMs;
        const quotes = mayPost ? Math.min(this.#budget.available(nowMs), QUOTES_PER_REQUEST) : 0;
        const { offers, reposts, cancels } = this.#desk.decide({ nowSeconds: this.#nowSeconds(), quotes });
        for (const [poolAddress, quoteIds] of cancels) this.#cancel(poolAddress, quoteIds);
        if (offers.length + reposts.length > 0) await this.#post(offers, reposts);
      }
    } catch (error) {
      // Such as a target whose size is no bigint. The next look tries again.
      this.#events.emit({ type: 'TROUBLE', during: 'POST', error });
    } finally {
      this.#isActing = false;
    }
  }

  async #post(offers: readonly Offer[], reposts: readonly Hex[]): Promise<void> {
    const { client } = this.#options;
    const { ledger } = this.#desk;
    const sent: { readonly quote: SentQuote; readonly posted: PostedQuoteJson }[] = [];
    try {
      const signed = await Promise.all(offers.map((offer) => this.#sign(offer)));
      for (const each of signed) {
        if (!this.#desk.admit(each.quote)) continue;
        this.#posted.set(each.quote.quoteId, each.posted);
        sent.push(each);
      }
      for (const quoteId of reposts) {
        const [quote, posted] = [ledger.get(quoteId), this.#posted.get(quoteId)];
        if (quote === undefined || posted === undefined) continue;
        ledger.sent(quote);
        sent.push({ quote, posted });
      }
      if (sent.length === 0) return;
      this.#budget.take(sent.length, this.#clock.wallMs());
      const { created, exists, failed } = await client.rest.postQuotes(sent.map(({ posted }) => posted));
      this.#budget.answered(client.rest.quotas, this.#clock.wallMs());
      for (const { quoteId } of [...created, ...exists]) ledger.published(quoteId);
      const refused: { readonly quote: SentQuote; readonly reason: string }[] = [];
      for (const { quote } of sent) {
        const { quoteId } = quote;
        const failure = failed.find((each) => each.quote.salt === this.#posted.get(quoteId)?.salt);
        if (failure !== undefined && failure.reason !== PUBLICATION_UNCONFIRMED)
          refused.push({ quote, reason: failure.reason });
        else if (created.some((each) => each.quoteId === quoteId)) this.#events.emit({ type: 'POSTED', quote });
      }
      if (refused.length > 0) await this.#onRefused(refused);
    } catch (error) {
      this.#onPostError(error, sent);
    } finally {
      for (const { quote } of sent) ledger.unanswered(quote.quoteId);
    }
  }

  /** A quote that lost its funds on its way is refused, too: it is in the book, and comes back with them. */
  async #onRefused(refused: readonly { readonly quote: SentQuote; readonly reason: string }[]): Promise<void> {
    const { rest } = this.#options.client;
    // Such as missing funds: not worth a request at every look.
    this.#pausedUntilMs = this.#clock.wallMs() + PAUSE_MS;
    const quoteIds = refused.map(({ quote }) => quote.quoteId);
    // Without an answer they are posted again, and then they exist or are refused.
    const listed = await rest.orders({ quoteIds }).catch(() => null);
    if (listed !== null) {
      const { validQuotes, invalidQuotes } = listed;
      for (const quote of [...validQuotes, ...invalidQuotes.map((each) => each.quote)]) this.#found(quote);
      for (const quoteId of quoteIds) this.#desk.ledger.refused(quoteId);
    }
    for (const { quote, reason } of refused) this.#events.emit({ type: 'REFUSED', quote, reason });
  }

  #onPostError(error: unknown, sent: readonly { readonly quote: SentQuote }[]): void {
    // Not by class: a bundle may have two copies of it.
    const {
      name,
      status = 0,
      retryAfterMs,
    } = error as { name?: string; status?: number; retryAfterMs?: number | null };
    const nowMs = this.#clock.wallMs();
    const isRefused = name === 'ApiError' && status >= 400 && status < 500;
    if (isRefused) for (const { quote } of sent) this.#desk.ledger.refused(quote.quoteId);
    if (status === 429) this.#budget.refused(nowMs + Math.max(retryAfterMs ?? 0, PAUSE_MS));
    this.#pausedUntilMs = nowMs + PAUSE_MS;
    this.#events.emit({ type: 'TROUBLE', during: 'POST', error });
  }

  async #sign(offer: Offer): Promise<{ quote: SentQuote; posted: PostedQuoteJson }> {
    const { client, trader } = this.#options;
    const { wallet } = trader.transactions;
    const signer: QuoteSigner = {
      address: trader.address,
      signTypedData: (definition) => wallet.signTypedData({ account: wallet.account, ...definition }),
    };
    const { poolAddress, taker, ...terms } = offer;
    const pool = this.#pools.get(poolAddress);
    if (pool === undefined) throw new Error(`${poolAddress} is not managed`);
    const signed = await client.signQuote(signer, pool, { ...terms, ...(taker !== null && { taker }) });
    return { quote: { ...offer, quoteId: signed.quoteId }, posted: signed.posted };
  }

  /** One transaction a pool at a time. */
  #cancel(poolAddress: Hex, wanted: readonly Hex[]): void {
    if (this.#cancelsUnderWay.has(poolAddress)) return;
    const { ledger } = this.#desk;
    const { transactions } = this.#options.trader;
    const quoteIds = wanted.slice(0, CANCELS_AT_ONCE);
    for (const quoteId of quoteIds) ledger.cancelling(quoteId, true);
    const call = { address: poolAddress, abi: tradedPoolAbi, functionName: 'cancelQuotesOB', args: [quoteIds] };
    const done = transactions
      .send(call)
      .then(({ blockNumber, transactionHash: hash }) => {
        for (const quoteId of quoteIds) {
          ledger.changed(quoteId, Number(blockNumber));
          this.#cancelled.add(quoteId);
        }
        this.#events.emit({ type: 'CANCELLED', quoteIds, hash });
      })
      .catch(async (error: unknown) => {
        this.#events.emit({ type: 'TROUBLE', during: 'CANCEL', error });
        await this.#pause(PAUSE_MS);
        for (const quoteId of quoteIds) ledger.cancelling(quoteId, false);
      })
      .finally(() => this.#cancelsUnderWay.delete(poolAddress));
    this.#cancelsUnderWay.set(poolAddress, done);
  }

  #after(delayMs: number, task: () => void): void {
    const stop = this.#clock.after(delayMs, () => {
      this.#stopTimers = this.#stopTimers.filter((each) => each !== stop);
      if (!this.#isOver) task();
    });
    this.#stopTimers.push(stop);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}

/** Events after which the book shows a quote that it may not have shown before. */
const APPEARANCES: readonly QuoteEvent['type'][] = ['POST_QUOTE', 'UNDO_QUOTE', 'REVALIDATE_QUOTE', 'RESTORE_QUOTE'];
const GATHER_MS = 50;
/** After a request or a transaction that failed. */
const PAUSE_MS = 2_000;
const CLOSING_MS = 100;
/** Calls to the node in one look. */
const READS_AT_ONCE = 100;
const CANCELS_AT_ONCE = 100;
/** A service takes at most 1,000, a free key at most 100 at once. */
const QUOTES_PER_REQUEST = 100;

function sentQuoteOf({ quoteId, poolAddress, isBuy, taker, price, size, deadline }: OrderbookQuote): SentQuote {
  const side = isBuy ? 'bid' : 'ask';
  const named = taker === zeroAddress ? null : taker;
  return { quoteId, poolAddress, side, taker: named, price: BigInt(price), size: BigInt(size), deadline };
}

function keyText({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKeyJson): string {
  return [base, quote, oracleAdapter, strike, maturity, isCallPool].join().toLowerCase();
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** A quote cannot be filled before its pool is deployed. */
function noneWhereNotDeployed(error: unknown): bigint {
  if (lacksContract(error)) return 0n;
  throw error;
}
