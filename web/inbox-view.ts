import {
  type Hex,
  type OrderbookClient,
  type Pool,
  type RfqEvent,
  type RfqUpdateEvent,
  ZERO_ADDRESS,
} from 'quotebook/client';
import { contracts } from './amounts.js';
import { timeText, words } from './display.js';
import { byId, create, fillRows, hold, setText, tableRow } from './elements.js';
import type { Market } from './market.js';
import { normalizedPrice, premiumToken, typedPremium } from './option.js';
import type { OwnQuotes } from './own-quotes.js';
import { NOT_APPROVED, type RequestedQuote } from './quote-view.js';
import { isLive } from './rfq-view.js';
import type { ServerClock } from './server-clock.js';
import { problemText, shortAddress, type Wallet } from './wallet.js';

/** Requests that are kept, newest first. */
const KEPT = 12;
/** Life of an answer to a request that names no end, and how long one outlives its request, for the taker's transaction. */
const DEFAULT_LIFE_SECONDS = 300;
const GRACE_SECONDS = 60;

interface Received extends RequestedQuote, Request {
  readonly row: HTMLTableRowElement;
  readonly price: HTMLInputElement;
  readonly state: HTMLElement;
  /** Nobody can answer it any more. */
  isOver: boolean;
  /** An answer is being signed and placed. */
  isBusy: boolean;
}

/** A request, whether it was pushed or read. */
interface Request {
  readonly poolAddress: string;
  readonly side: 'bid' | 'ask';
  readonly size: bigint;
  readonly taker: Hex;
  readonly isAnonymous: boolean;
  /** Null: nobody follows what becomes of it. */
  readonly rfqId: string | null;
  /** Unix seconds; null: it names no end. */
  readonly validUntil: number | null;
  /** Unix milliseconds. */
  readonly tsMs: number;
}

interface InboxParts {
  readonly market: Market;
  readonly clock: ServerClock;
  readonly ownQuotes: OwnQuotes;
  readonly onNeedsWallet: () => void;
  /** The user wants to change more of the answer than its price. */
  readonly onEdit: (poolAddress: string, request: RequestedQuote) => void;
  /** Quotes of the wallet have changed. */
  readonly onPlaced: () => void;
}

/** Requests of takers as makers receive them, each with its answer one press away. */
export class InboxView {
  readonly #parts: InboxParts;
  readonly #body = byId('requests-rows');
  readonly #received: Received[] = [];
  #client: OrderbookClient | null = null;
  #wallet: Wallet | null = null;
  #canPublish = true;
  /** The key may not follow the requests of all takers. */
  #isRefused = false;

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  open(client: OrderbookClient, wallet: Wallet | null): void {
    const [before, isNewClient] = [this.#wallet, client !== this.#client];
    this.#client = client;
    this.#wallet = wallet;
    const isOther = before?.address !== wallet?.address;
    // Requests may name the wallet before alone, and their states are those of its answers.
    if (isOther && before !== null) this.#clear();
    if (isOther || isNewClient) void this.#readLive(client);
  }

  #clear(): void {
    for (const { row } of this.#received.splice(0)) row.remove();
    this.showRefused(this.#isRefused);
  }

  heard({ tsMs, body, terms }: RfqEvent): void {
    const poolAddress = this.#parts.market.requestedPool(body);
    if (poolAddress === undefined) return;
    const { side, taker } = body;
    const [rfqId, validUntil] = [terms?.rfqId ?? null, terms?.validUntil ?? null];
    const isAnonymous = terms?.anonymous === true;
    this.#add({ poolAddress, side, size: BigInt(body.size), taker, isAnonymous, rfqId, validUntil, tsMs });
  }

  /** Requests of the key that were sent before, are live, and that the wallet may answer. */
  async #readLive(client: OrderbookClient): Promise<void> {
    const { rfqs } = await client.rest.rfqs({ limit: String(KEPT) }).catch((error: unknown) => {
      console.warn('reading the requests failed', error);
      return { rfqs: [] };
    });
    if (client !== this.#client) return;
    const address = this.#wallet?.address.toLowerCase();
    const isForWallet = ({ makers }: (typeof rfqs)[number]): boolean =>
      makers.length === 0 || makers.some((maker) => maker.toLowerCase() === address);
    for (const rfq of rfqs.filter((each) => isLive(each) && isForWallet(each)).reverse()) {
      const { rfqId, poolAddress, side, size, taker, anonymous, validUntil, openedAt } = rfq;
      const shown = { taker: anonymous ? ZERO_ADDRESS : taker, isAnonymous: anonymous, tsMs: openedAt * 1000 };
      this.#add({ ...shown, poolAddress, side, size: BigInt(size), rfqId, validUntil });
      this.heardUpdate({ body: rfq });
    }
  }

  #add(request: Request): void {
    const { poolAddress, side, size, taker, isAnonymous, rfqId, validUntil, tsMs } = request;
    // One that was pushed while the list was read is in both.
    if (rfqId !== null && this.#received.some((each) => each.rfqId === rfqId)) return;
    const { market, clock } = this.#parts;
    const pool = market.pool(poolAddress);
    const price = create('input');
    price.inputMode = 'decimal';
    price.value = pool === undefined ? '' : this.#proposal(pool, side);
    const name = market.nameOf(poolAddress);
    const unit = pool === undefined ? '' : ` in ${premiumToken(pool)}`;
    price.setAttribute('aria-label', `Your ${side} for ${name}${unit} per contract`);
    const state = create('span', '', 'new');
    const until = validUntil === null ? timeText(tsMs) : clock.countdown(validUntil);
    const row = tableRow(
      rfqId ?? `${tsMs}`,
      [
        name,
        `${side === 'ask' ? 'wants to buy' : 'wants to sell'} ${contracts(size)}`,
        isAnonymous ? 'anonymous; answers are public' : shortAddress(taker),
        until,
        state,
        price,
      ],
      [
        ['Answer', () => void this.#answer(received)],
        ['Edit', () => this.#parts.onEdit(poolAddress, received)],
      ],
    );
    const received: Received = { ...request, row, price, state, isOver: false, isBusy: false };
    this.#enable(received);
    if (this.#received.length === 0) this.#body.replaceChildren();
    this.#received.unshift(received);
    this.#body.prepend(row);
    for (const old of this.#received.splice(KEPT)) old.row.remove();
  }

  /** Whether the server publishes answers now. */
  allow(canPublish: boolean): void {
    this.#canPublish = canPublish;
    for (const received of this.#received) this.#enable(received);
  }

  #enable({ row, isOver, isBusy }: Received): void {
    const [answer, edit] = row.querySelectorAll('button');
    if (answer !== undefined) {
      answer.disabled = isOver || !this.#canPublish;
      hold(answer, isBusy);
    }
    if (edit !== undefined) edit.disabled = isOver;
  }

  /** The key may not follow the requests of all takers, or may. */
  showRefused(isRefused: boolean): void {
    this.#isRefused = isRefused;
    if (this.#received.length > 0) return;
    const text = isRefused
      ? 'This key does not see what takers ask for. Makers need one with the scope takers:all.'
      : 'No taker has asked since the page was opened. Requests appear here.';
    fillRows(this.#body, [], text);
  }

  /** Shows a request's progress. */
  heardUpdate({ body: { rfqId, status, quotes } }: Pick<RfqUpdateEvent, 'body'>): void {
    const received = this.#received.find((each) => each.rfqId === rfqId);
    if (received === undefined) return;
    const isOver = status === 'filled' || status === 'cancelled' || status === 'expired';
    received.isOver = isOver;
    this.#enable(received);
    setText(received.state, isOver ? status : `${quotes} ${quotes === 1 ? 'quote' : 'quotes'}`);
    if (!isOver) void this.#showRank(received);
  }

  /** The price that the field begins with: of the option's best quote on this side, or its mark. */
  #proposal(pool: Pool, side: 'bid' | 'ask'): string {
    const { market } = this.#parts;
    const best = market.best(pool, side)?.price ?? market.mark(pool);
    return best === null ? '' : typedPremium(pool, best, side);
  }

  async #answer(received: Received): Promise<void> {
    const [client, wallet] = [this.#client, this.#wallet];
    if (wallet === null) {
      this.#parts.onNeedsWallet();
      return;
    }
    const pool = this.#parts.market.pool(received.poolAddress);
    const poolKey = pool === undefined ? undefined : this.#parts.market.poolKey(pool);
    const { side, size, taker, price: typed, state } = received;
    if (client === null) return;
    if (pool === undefined || poolKey === undefined) return void setText(state, 'the pool is not known yet: try again');
    // A second press would sign and place a second quote.
    if (received.isBusy) return;
    const price = normalizedPrice(pool, typed.value, side);
    if (price === null || price === 0n || price > 10n ** 18n) {
      setText(state, (price ?? 0n) === 0n ? 'needs a price' : 'the price is above what a contract can be worth');
      return typed.focus();
    }
    setText(state, 'waiting…');
    received.isBusy = true;
    this.#enable(received);
    try {
      const until = received.validUntil ?? this.#parts.clock.now() + DEFAULT_LIFE_SECONDS;
      const deadline = until + GRACE_SECONDS;
      const isPublic = taker === ZERO_ADDRESS;
      const terms = { side, price, size, deadline, ...(!isPublic && { taker }) };
      const { poolAddress } = pool;
      const signed = await client.signQuote(wallet, { poolAddress, poolKey }, terms);
      const { reasons } = await this.#parts.ownQuotes.publish(client, poolAddress, [signed]);
      setText(state, reasons.length === 0 ? 'answered' : notPlaced(reasons));
      if (reasons.length === 0) {
        this.#parts.onPlaced();
        await this.#showRank(received);
      }
    } catch (error) {
      setText(state, problemText(error));
    }
    received.isBusy = false;
    this.#enable(received);
  }

  async #showRank({ rfqId, state }: Received): Promise<void> {
    if (this.#client === null || this.#wallet === null || rfqId === null) return;
    const { address } = this.#wallet;
    const competition = await this.#client.rest.rfqCompetition(rfqId, address).catch(() => null);
    if (competition?.rank == null) return;
    const { rank, quotes } = competition;
    setText(state, `yours is number ${rank} of ${quotes}`);
  }
}

function notPlaced(reasons: readonly string[]): string {
  const advice = reasons.includes(NOT_APPROVED) ? '. To approve the token, press “Edit” and place it there' : '';
  return `not placed: ${reasons.map(words).join(', ')}${advice}`;
}
