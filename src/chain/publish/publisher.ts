import type { CancelTimer, Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import { encodeAdd, quoteDigits, quotesIn } from '../contracts/abi-encoding.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import { TxReverted } from '../wallet/errors.js';
import type { TxReceipt } from '../wallet/transaction.js';
import type { PreparedTx, Wallet } from '../wallet/wallet.js';
import { type MinedPublication, MinedPublications, type PublicationMemory } from './mined-publications.js';

export interface PublisherLimits extends PublicationMemory {
  readonly maxTxBytes: number;
  /** Most quotes waiting or being published. */
  readonly publishQueue: number;
  /** Publish transactions in flight; quotes that arrive meanwhile go into the next. */
  readonly publishTxInFlight: number;
  /**
   * How long the publisher waits for a quote's event after the block of its transaction has been read. Then the block is
   * read again; the publication is dropped after that, or if that read takes as long.
   */
  readonly publishSettleMs: number;
}

/** Hears of the publisher's transactions: each with the quotes in it. */
export interface PublicationWatch {
  onSending(quotes: readonly IdentifiedQuote[]): void;
  /** The node has it. Not called for a transaction that an earlier run sent. */
  onSent(quotes: readonly IdentifiedQuote[], txHash: Hex): void;
  /** It has a receipt, and did not revert. */
  onMined(quotes: readonly IdentifiedQuote[], receipt: Pick<TxReceipt, 'txHash' | 'blockNumber'>): void;
}

export interface QuotePublisherParts {
  readonly wallet: Pick<Wallet, 'address' | 'prepare' | 'send' | 'orphanWith'>;
  readonly orderbookStream: Hex;
  readonly clock: Clock;
  readonly limits: PublisherLimits;
  /** Called for each mined transaction, so that the reader reads its events at once. */
  readonly onMined: (receipt: TxReceipt) => void;
  /** Reads a block of the stream again: an event that it should contain was not read. */
  readonly readAgain: (blockNumber: number) => Promise<void>;
  /** Whether the reader has read that block of the stream completely. */
  readonly isRead: (blockNumber: number) => boolean;
  /** Whether the quote has expired. */
  readonly isDue: (quote: IdentifiedQuote) => boolean;
  readonly watch?: PublicationWatch | undefined;
}

/**
 * Publishes quotes on the stream chain with the operator's wallet, and packs the quotes of many requests into as few
 * `add` transactions as their size allows. A publication ends when the follower reads the quote's event, not when the
 * transaction is mined.
 */
export class QuotePublisher {
  readonly #publications = new Map<Hex, Publication>();
  readonly #prefetched: TxPrefetch;
  #queue: Publication[] = [];
  #txInFlight = 0;
  #gathering = false;
  readonly #deadlines = new Set<CancelTimer>();
  readonly #mined: MinedPublications;

  constructor(private readonly parts: QuotePublisherParts) {
    this.#prefetched = new TxPrefetch(parts.wallet, parts.orderbookStream);
    this.#mined = new MinedPublications(parts.limits);
  }

  get walletAddress(): Hex {
    return this.parts.wallet.address;
  }

  /** Free places for quotes. */
  get room(): number {
    return this.parts.limits.publishQueue - this.#publications.size;
  }

  /**
   * Requests gas and fees for quotes whose last check is still running. While nothing else is in flight they get a
   * transaction of their own, so this saves two round trips to the node.
   */
  prefetch(quotes: readonly IdentifiedQuote[]): void {
    if (quotes.length > quotesIn(this.parts.limits.maxTxBytes) || this.#publications.size > 0) return;
    this.#prefetched.prefetch(quotes);
  }

  /** The quote is being published: `publish` would join, and the wallet does not pay again. */
  has(quote: IdentifiedQuote): boolean {
    return this.#publications.has(quote.quoteId) || this.#orphanWith(quote) !== undefined;
  }

  /** The quotes of transactions in flight, or mined and not read yet. */
  *awaited(): Iterable<IdentifiedQuote> {
    for (const { quote, isSent } of this.#publications.values()) if (isSent) yield quote;
  }

  /** Publishes the quote, or joins its pending publication. */
  publish(quote: IdentifiedQuote): Promise<PublicationOutcome> {
    const known = this.#publications.get(quote.quoteId);
    if (known !== undefined) return known.outcome;
    const left = this.#orphanWith(quote);
    const publication = this.#begin(quote, left !== undefined);
    if (left === undefined) this.#enqueue(publication);
    else void this.#join(publication, left);
    return publication.outcome;
  }

  /**
   * The stream has another branch after this block. The wallet resends the transactions of removed blocks, and the
   * follower reads their events again. Until then these publications are pending, and new requests for them join.
   */
  onReorg(ancestorNumber: number): void {
    for (const { quotes, receipt } of this.#mined.takenBackAfter(ancestorNumber)) {
      const gone = quotes.filter(({ quoteId }) => !this.#publications.has(quoteId));
      if (gone.length === 0) continue;
      this.#expectEvents(
        gone.map((quote) => this.#begin(quote, true)),
        receipt,
      );
    }
  }

  /** The quote's event was read; `refusal` is the reason why the book rejected it, or null. */
  onEventRead(quoteId: Hex, refusal: string | null): void {
    const publication = this.#publications.get(quoteId);
    if (publication === undefined) return;
    const { isSent } = publication;
    // Another sender published it: the wallet need not pay.
    if (!isSent) this.#queue = this.#queue.filter((waiting) => waiting !== publication);
    if (refusal === null) this.#finish(publication, { type: 'ENTERED', isSent });
    else this.#finish(publication, { type: 'REFUSED', isSent, reason: refusal });
  }

  /** Sends nothing more; pending publications stay without an outcome. */
  stop(): void {
    this.#queue = [];
    for (const cancel of this.#deadlines) cancel();
    this.#deadlines.clear();
  }

  #begin(quote: IdentifiedQuote, isSent: boolean): Publication {
    let settle: (outcome: PublicationOutcome) => void = () => undefined;
    const outcome = new Promise<PublicationOutcome>((resolve) => (settle = resolve));
    const publication = { quote, outcome, settle, isSent };
    this.#publications.set(quote.quoteId, publication);
    return publication;
  }

  /** An orphaned transaction of the wallet that contains the quote. */
  #orphanWith(quote: IdentifiedQuote): Promise<TxReceipt | null> | undefined {
    return this.parts.wallet.orphanWith(() => quoteDigits(quote), this.parts.isRead);
  }

  async #join(publication: Publication, left: Promise<TxReceipt | null>): Promise<void> {
    const receipt = await left;
    // Its event may have been read meanwhile.
    if (this.#publications.get(publication.quote.quoteId) !== publication) return;
    if (receipt !== null) return this.#onReceipt([publication], receipt);
    publication.isSent = false;
    this.#enqueue(publication);
  }

  #enqueue(publication: Publication): void {
    this.#queue.push(publication);
    this.#gather();
  }

  /** Quotes that arrive in one turn of the event loop share a transaction. */
  #gather(): void {
    if (this.#queue.length === 0 || this.#gathering || this.#txInFlight >= this.parts.limits.publishTxInFlight) return;
    this.#gathering = true;
    this.parts.clock.after(0, () => {
      this.#gathering = false;
      const next = this.#queue.splice(0, quotesIn(this.parts.limits.maxTxBytes));
      const batch = next.filter((publication) => !this.#hasRefusedDue(publication));
      if (batch.length > 0) void this.#send(batch);
      // The next one has its own turn: signing 90 KB takes several milliseconds.
      this.#gather();
    });
  }

  /** A stream that stands still makes quotes wait longer than some of them hold: those are not paid for. */
  #hasRefusedDue(publication: Publication): boolean {
    const isDue = this.parts.isDue(publication.quote);
    if (isDue) this.#finish(publication, { type: 'REFUSED', isSent: false, reason: 'QuoteOBExpired' });
    return isDue;
  }

  async #send(batch: readonly Publication[]): Promise<void> {
    for (const publication of batch) publication.isSent = true;
    const quotes = batch.map(({ quote }) => quote);
    const prefetched = this.#prefetched.matching(quotes);
    const data = prefetched?.data ?? encodeAdd(quotes);
    this.#txInFlight++;
    this.parts.watch?.onSending(quotes);
    const onSent = (txHash: Hex): void => this.parts.watch?.onSent(quotes, txHash);
    try {
      const request = { to: this.parts.orderbookStream, data };
      const receipt = await this.parts.wallet.send(request, prefetched?.prepared, this.parts.watch && onSent);
      if (receipt.succeeded) this.parts.watch?.onMined(quotes, receipt);
      this.#onReceipt(batch, receipt);
    } catch (error) {
      this.#fail(batch, error as Error);
    }
    this.#txInFlight--;
    this.#gather();
  }

  #onReceipt(batch: readonly Publication[], receipt: TxReceipt): void {
    if (!receipt.succeeded) return this.#fail(batch, new TxReverted(`The transaction ${receipt.txHash} reverted`));
    this.parts.onMined(receipt);
    this.#mined.add({ quotes: batch.map(({ quote }) => quote), receipt });
    this.#expectEvents(batch, receipt);
  }

  /**
   * Drops publications whose events never arrive, so that a repeated request publishes the quote again. It waits until
   * the reader has read the block, which may be far behind the head. The node may have omitted the event then, so the
   * block is read once more.
   */
  #expectEvents(batch: readonly Publication[], receipt: MinedPublication['receipt']): void {
    let cancelTimer: CancelTimer = () => undefined;
    const cancel = (): void => cancelTimer();
    const giveUp = (): void => {
      if (!this.#deadlines.delete(cancel)) return;
      cancel();
      this.#fail(batch, new PublicationUnseen(`No event of ${receipt.txHash} was read`));
    };
    const readAgain = (): void => {
      cancelTimer = this.parts.clock.after(this.parts.limits.publishSettleMs, giveUp);
      void this.parts.readAgain(receipt.blockNumber).then(giveUp);
    };
    const wait = (): void => {
      cancelTimer = this.parts.clock.after(this.parts.limits.publishSettleMs, () =>
        this.parts.isRead(receipt.blockNumber) ? readAgain() : wait(),
      );
    };
    this.#deadlines.add(cancel);
    wait();
    void Promise.all(batch.map(({ outcome }) => outcome)).then(() => {
      this.#deadlines.delete(cancel);
      cancel();
    });
  }

  #fail(batch: readonly Publication[], error: Error): void {
    for (const publication of batch) {
      // The same quote may have been posted again since: that is another publication.
      if (this.#publications.get(publication.quote.quoteId) !== publication) continue;
      this.#finish(publication, { type: 'FAILED', error });
    }
  }

  #finish(publication: Publication, outcome: PublicationOutcome): void {
    this.#publications.delete(publication.quote.quoteId);
    publication.settle(outcome);
  }
}

/**
 * The outcome of a publication: the book has the quote, its checks rejected it, or the transaction failed. `isSent` is
 * false if another sender's event of the quote arrived first, or the quote expired in the queue.
 */
export type PublicationOutcome =
  | { readonly type: 'ENTERED'; readonly isSent: boolean }
  | { readonly type: 'REFUSED'; readonly isSent: boolean; readonly reason: string }
  | { readonly type: 'FAILED'; readonly error: Error };

/** Mined, and its event never came: a reorg took the transaction back. */
export class PublicationUnseen extends Error {
  override readonly name = 'PublicationUnseen';
}

interface Publication {
  readonly quote: IdentifiedQuote;
  readonly outcome: Promise<PublicationOutcome>;
  readonly settle: (outcome: PublicationOutcome) => void;
  /** Its transaction is on the way: no longer in the queue. */
  isSent: boolean;
}

/** A transaction that may be sent with exactly these quotes, and its gas and fees, already requested. */
interface PrefetchedTx {
  readonly quotes: readonly IdentifiedQuote[];
  readonly data: Hex;
  readonly prepared: PreparedTx;
}

/** Requests gas and fees of the transaction that quotes need if they pass their last check. */
class TxPrefetch {
  /** By first quote; entries go with the quote (WeakMap). */
  readonly #prefetched = new WeakMap<IdentifiedQuote, PrefetchedTx>();
  /** Only one runs at a time: most of the quotes that arrive together share a transaction. */
  #isPrefetching = false;

  constructor(
    private readonly wallet: Pick<Wallet, 'prepare'>,
    private readonly orderbookStream: Hex,
  ) {}

  prefetch(quotes: readonly IdentifiedQuote[]): void {
    const [first] = quotes;
    if (first === undefined || this.#isPrefetching) return;
    const data = encodeAdd(quotes);
    const prepared = this.wallet.prepare({ to: this.orderbookStream, data });
    this.#prefetched.set(first, { quotes, data, prepared });
    this.#isPrefetching = true;
    // `send` reports an error, if the transaction is ever sent.
    void Promise.allSettled([prepared.gas, prepared.fees]).then(() => (this.#isPrefetching = false));
  }

  /** Null if the transaction has other quotes: more joined, or some were rejected. */
  matching(quotes: readonly IdentifiedQuote[]): PrefetchedTx | null {
    const prefetched = quotes[0] && this.#prefetched.get(quotes[0]);
    const isSame =
      prefetched?.quotes.length === quotes.length && quotes.every((each, i) => each === prefetched.quotes[i]);
    return isSame ? prefetched : null;
  }
}
