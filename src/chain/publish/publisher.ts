import type { CancelTimer, Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import { encodeAdd, quoteDigits, quotesIn } from '../contracts/abi-encoding.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import { TxReverted } from '../wallet/errors.js';
import type { TxReceipt } from '../wallet/transaction.js';
import type { Wallet } from '../wallet/wallet.js';
import { TxPrefetch, type MinedPublication, MinedPublications, type PublicationMemory } from './publish-memory.js';

export interface PublisherLimits extends PublicationMemory {
  readonly maxTxBytes: number;
  /** Quotes waiting or under way. */
  readonly publishQueue: number;
  /** Publish transactions under way at once; what arrives meanwhile is gathered into the next. */
  readonly publishTxInFlight: number;
  /**
   * How long after its transaction was mined a quote's event may take to be read, once its block has been. Then the
   * block is read again; the publication is forgotten after that, or when reading it takes as long.
   */
  readonly publishSettleMs: number;
}

/**
 * Puts quotes on the stream chain with the operator's wallet: many requests' quotes in as few `add` transactions as
 * their size allows. A transaction that was mined settles nothing: the quote's event, read like anybody's, does.
 */
export class QuotePublisher {
  readonly #publications = new Map<Hex, Publication>();
  readonly #prefetched: TxPrefetch;
  #queue: Publication[] = [];
  #txInFlight = 0;
  #gathering = false;
  readonly #deadlines = new Set<CancelTimer>();
  readonly #mined: MinedPublications;

  constructor(
    private readonly wallet: Pick<Wallet, 'address' | 'prepare' | 'send' | 'orphanWith'>,
    private readonly orderbookStream: Hex,
    private readonly clock: Clock,
    private readonly limits: PublisherLimits,
    /** Told of each mined transaction, so that its events are read at once. */
    private readonly onMined: (receipt: TxReceipt) => void,
    /** Reads the stream's block once more: it should have an event that was not read. */
    private readonly readAgain: (blockNumber: number) => Promise<void>,
    /** Whether the stream has been read to the end of that block. */
    private readonly isRead: (blockNumber: number) => boolean,
    /** Whether its time is up: nobody can fill it any more. */
    private readonly isDue: (quote: IdentifiedQuote) => boolean,
  ) {
    this.#prefetched = new TxPrefetch(wallet, orderbookStream);
    this.#mined = new MinedPublications(limits);
  }

  get walletAddress(): Hex {
    return this.wallet.address;
  }

  /** How many more quotes can be taken now. */
  get room(): number {
    return this.limits.publishQueue - this.#publications.size;
  }

  /**
   * These will be published if their last check finds nothing. While nothing else is under way they will have a
   * transaction of their own, and the node can say meanwhile what it takes: two answers less to wait for.
   */
  prefetch(quotes: readonly IdentifiedQuote[]): void {
    if (quotes.length > quotesIn(this.limits.maxTxBytes) || this.#publications.size > 0) return;
    this.#prefetched.prefetch(quotes);
  }

  /** It is under way: `publish` would join it, and nobody pays for it again. */
  has(quote: IdentifiedQuote): boolean {
    return this.#publications.has(quote.quoteId) || this.#orphanWith(quote) !== undefined;
  }

  /** The quotes of transactions that are on the way, or mined and not read yet. */
  *awaited(): Iterable<IdentifiedQuote> {
    for (const { quote, isSent } of this.#publications.values()) if (isSent) yield quote;
  }

  /** Starts a publication, or joins the one that is under way for the same quote. */
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
   * The stream has another branch now, from the block after this one on. The wallet sends again what was mined in later
   * ones, and the book reads it again: until then it is under way, and who posts its quotes joins it.
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

  /** The quote's event was read; `refusal` says why the book did not take it. */
  settle(quoteId: Hex, refusal: string | null): void {
    const publication = this.#publications.get(quoteId);
    if (publication === undefined) return;
    const { isSent } = publication;
    // Nobody has to pay for ours.
    if (!isSent) this.#queue = this.#queue.filter((waiting) => waiting !== publication);
    if (refusal === null) this.#finish(publication, { type: 'ENTERED', isSent });
    else this.#finish(publication, { type: 'REFUSED', isSent, reason: refusal });
  }

  /** Nothing is sent any more; what is under way stays unanswered. */
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

  /** Whatever else is in it: an earlier run's, or what a reorg took back. */
  #orphanWith(quote: IdentifiedQuote): Promise<TxReceipt | null> | undefined {
    return this.wallet.orphanWith(() => quoteDigits(quote), this.isRead);
  }

  async #join(publication: Publication, left: Promise<TxReceipt | null>): Promise<void> {
    const receipt = await left;
    // Its event may have been read before.
    if (this.#publications.get(publication.quote.quoteId) !== publication) return;
    if (receipt !== null) return this.#onReceipt([publication], receipt);
    publication.isSent = false;
    this.#enqueue(publication);
  }

  #enqueue(publication: Publication): void {
    this.#queue.push(publication);
    this.#gather();
  }

  /** What one turn of the event loop brings goes into the same transaction. */
  #gather(): void {
    if (this.#queue.length === 0 || this.#gathering || this.#txInFlight >= this.limits.publishTxInFlight) return;
    this.#gathering = true;
    this.clock.after(0, () => {
      this.#gathering = false;
      const next = this.#queue.splice(0, quotesIn(this.limits.maxTxBytes));
      const batch = next.filter((publication) => !this.#hasRefusedDue(publication));
      if (batch.length > 0) void this.#send(batch);
      // The next one has its own turn: signing 90 KB takes several milliseconds.
      this.#gather();
    });
  }

  /** A stream that stands still makes quotes wait longer than some of them hold: those are not paid for. */
  #hasRefusedDue(publication: Publication): boolean {
    const isDue = this.isDue(publication.quote);
    if (isDue) this.#finish(publication, { type: 'REFUSED', isSent: false, reason: 'QuoteOBExpired' });
    return isDue;
  }

  async #send(batch: readonly Publication[]): Promise<void> {
    for (const publication of batch) publication.isSent = true;
    const quotes = batch.map(({ quote }) => quote);
    const prefetched = this.#prefetched.matching(quotes);
    const data = prefetched?.data ?? encodeAdd(quotes);
    this.#txInFlight++;
    try {
      this.#onReceipt(batch, await this.wallet.send({ to: this.orderbookStream, data }, prefetched?.means));
    } catch (error) {
      this.#fail(batch, error as Error);
    }
    this.#txInFlight--;
    this.#gather();
  }

  #onReceipt(batch: readonly Publication[], receipt: TxReceipt): void {
    if (!receipt.succeeded) return this.#fail(batch, new TxReverted(`The transaction ${receipt.txHash} reverted`));
    this.onMined(receipt);
    this.#mined.add({ quotes: batch.map(({ quote }) => quote), receipt });
    this.#expectEvents(batch, receipt);
  }

  /**
   * Forgets what never turns up, so that a quote that is posted again is published again. What cannot have turned up yet
   * is waited for: its block may need many more after it, or the reader be behind. The node may have left the event out
   * when the block was read, so it is read once more.
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
      cancelTimer = this.clock.after(this.limits.publishSettleMs, giveUp);
      void this.readAgain(receipt.blockNumber).then(giveUp);
    };
    const wait = (): void => {
      cancelTimer = this.clock.after(this.limits.publishSettleMs, () =>
        this.isRead(receipt.blockNumber) ? readAgain() : wait(),
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
 * What became of a publication: the book knows the quote, the checks at entry refused it, or its transaction failed.
 * Not sent: another's event of the quote was read while ours still waited, or its time was up.
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
