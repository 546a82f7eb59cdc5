import type {
  CoverTerms,
  Hex,
  OrderbookClient,
  OrderbookQuote,
  Pool,
  Rest,
  RfqStatusEvent,
  StopListening,
} from 'quotebook/client';
import { contracts, decimal, parseDecimal } from './amounts.js';
import { fillCover } from './contract-calls.js';
import { timeText } from './display.js';
import { byId, create, fillRows, found, hold, replaceChildren, setText, tableRow, withUsd } from './elements.js';
import type { Market } from './market.js';
import { OneAtATime } from './one-at-a-time.js';
import { nameOf, normalizedPrice, premiumToken } from './option.js';
import { throttled } from './redraw.js';
import type { ServerClock } from './server-clock.js';
import { readStored, store } from './storage.js';
import { pendingText, problemText, shortAddress, type Wallet } from './wallet.js';

type Side = 'bid' | 'ask';
type Rfq = RfqStatusEvent['body'];
type RfqCover = Awaited<ReturnType<Rest['rfqCover']>>;

/** One option of what a taker asks for. */
export interface Leg {
  readonly pool: Pool;
  readonly side: Side;
  /** 1e-18 contracts. */
  readonly size: bigint;
}

/** An offer for one leg: the quotes of one maker, or the price of the pair's vault. */
interface Offer {
  readonly kind: 'for you' | 'public' | 'vault';
  /** Null: a vault, which the page does not trade with. */
  readonly provider: Hex | null;
  /** As on the wire. */
  readonly price: bigint;
  readonly size: bigint;
}

/** Legs of one request that the server takes. */
const MOST_LEGS = 8;
/** Own requests that are listed, newest first. */
const LISTED = 20;
/** Each reading of the offers is up to four requests, and a busy pool changes many times a second. */
const OFFERS_AFTER_MS = 1_000;
/** A vault's price takes calls of the chain, and is asked for again at the earliest after so long. */
const VAULT_EVERY_MS = 10_000;

const WORDS: Readonly<Record<Rfq['status'], string>> = {
  open: 'waiting for quotes',
  quoted: 'quoted',
  partly_filled: 'partly filled',
  filled: 'filled',
  cancelled: 'cancelled',
  expired: 'expired',
};

interface RfqParts {
  readonly clock: ServerClock;
  /** The user wants to ask, and has not connected a wallet. */
  readonly onNeedsWallet: () => void;
  /** The wallet has traded. */
  readonly onTraded: () => void;
  /** A request has ended without a fill of all of it; `what` such as "buy 2.00 testWETH 27NOV26 1800 C". */
  readonly onExpired: (what: string) => void;
}

/** A taker's requests for quotes: asks makers, ranks what they offer beside the book and the vault, and accepts. */
export class RfqView {
  readonly #market: Market;
  readonly #parts: RfqParts;
  readonly #form = found('rfq', HTMLFormElement);
  readonly #direction = found('rfq-direction', HTMLSelectElement);
  readonly #size = found('rfq-size', HTMLInputElement);
  readonly #minutes = found('rfq-minutes', HTMLInputElement);
  readonly #accept = found('rfq-accept', HTMLButtonElement);
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #wallet: Wallet | null = null;
  #stop: StopListening = () => undefined;
  /** Of the request that is being put together. */
  #legs: Leg[] = [];
  /** The wallet's requests by id, newest first. */
  #own = new Map<string, Rfq>();
  /** By id, what was taken for it here: the server counts only quotes that came after the request. */
  readonly #taken = storedTaken();
  #chosen: string | null = null;
  /** Readings of the offers that have begun: the newest alone is drawn. */
  #readings = 0;
  readonly #work = new OneAtATime({
    hold: () => this.#hold(),
    say: (text) => this.#say(text),
    waiting: 'Waiting…',
    onEnd: () => this.#refreshOffers(),
  });
  readonly #vaultPrices = new Map<string, { readonly price: bigint | null; readonly atMs: number }>();

  constructor(market: Market, parts: RfqParts) {
    this.#market = market;
    this.#parts = parts;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#work.run(() => this.#submit());
    });
    byId('rfq-leg').addEventListener('click', () => this.#addLeg());
    this.#accept.addEventListener('click', () => void this.#work.run(() => this.#acceptAll()));
    this.#drawLegs();
    this.#draw();
  }

  open(client: OrderbookClient, pool: Pool, wallet: Wallet | null): void {
    const isNew = client !== this.#client || wallet?.address !== this.#wallet?.address;
    this.#client = client;
    this.#pool = pool;
    this.#wallet = wallet;
    this.#drawLegs();
    if (!isNew) return;
    this.#stop();
    this.#stop = client.onRfqStatus(({ body }) => {
      if (this.#isOwn(body)) this.#hear(body);
    });
    this.#own = new Map();
    this.#choose(null);
    if (wallet !== null) void this.#readOwn(client, wallet);
  }

  /** What it shows in US dollars has changed. */
  redraw(): void {
    this.#draw();
    this.#refreshOffers();
  }

  /** The book of this pool has changed. */
  heard(poolAddress: string): void {
    if (this.#legsOf(this.#chosen).some((rfq) => rfq.poolAddress === poolAddress)) this.#refreshOffers();
  }

  /** Asks makers for all legs at once. Rejects when the server refuses. */
  async ask(legs: readonly Leg[], taker: Hex): Promise<void> {
    if (this.#client === null) return;
    const minutes = Number(this.#minutes.value);
    if (!Number.isInteger(minutes) || minutes < 1) throw new Error('A request is open for at least one minute.');
    const validUntil = this.#parts.clock.now() + minutes * 60;
    const { rfqs } = await this.#client.rest.openRfq({
      taker,
      validUntil,
      legs: legs.map(({ pool, side, size }) => ({
        poolAddress: pool.poolAddress,
        side,
        size: size.toString(),
      })),
    });
    for (const rfq of rfqs) if (!this.#own.has(rfq.rfqId)) this.#hear(rfq);
    this.#choose(rfqs[0]?.rfqId ?? null);
  }

  #isOwn({ taker }: Rfq): boolean {
    return taker.toLowerCase() === this.#wallet?.address.toLowerCase();
  }

  async #readOwn(client: OrderbookClient, wallet: Wallet): Promise<void> {
    try {
      const { rfqs } = await client.rest.rfqs({ taker: wallet.address, limit: String(LISTED) });
      if (wallet !== this.#wallet) return;
      for (const rfq of rfqs) if (!this.#own.has(rfq.rfqId)) this.#own.set(rfq.rfqId, rfq);
      this.#choose(rfqs[0]?.rfqId ?? null);
    } catch (error) {
      console.warn('reading the requests failed', error);
    }
  }

  #hear(rfq: Rfq): void {
    const known = this.#own.get(rfq.rfqId);
    if (known !== undefined && isLive(known) && rfq.status === 'expired') this.#parts.onExpired(this.#wishOf(rfq));
    this.#own = known
      ? this.#own.set(rfq.rfqId, rfq)
      : new Map([[rfq.rfqId, rfq] as const, ...this.#own].slice(0, LISTED));
    this.#draw();
    if (this.#legsOf(this.#chosen).some(({ rfqId }) => rfqId === rfq.rfqId)) this.#refreshOffers();
  }

  /** The chosen request, and with it the other legs of its package. */
  #legsOf(id: string | null): Rfq[] {
    const chosen = id === null ? undefined : this.#own.get(id);
    if (chosen === undefined) return [];
    const { packageId } = chosen;
    if (packageId === null) return [chosen];
    return [...this.#own.values()].filter((rfq) => rfq.packageId === packageId).sort((a, b) => a.leg - b.leg);
  }

  #choose(rfqId: string | null): void {
    this.#chosen = rfqId;
    fillRows(byId('offers-rows'), [], 'Offers appear here, the best first.');
    this.#showCover('', '');
    this.#draw();
    void this.#readOffers();
  }

  /** The form's own leg; what is wrong with it otherwise. */
  #typedLeg(): Leg | string {
    const size = parseDecimal(this.#size.value);
    if (this.#pool === null) return 'Choose an option first.';
    if (size === null || size === 0n) return 'Enter a size in contracts above 0.';
    return { pool: this.#pool, side: this.#direction.value === 'bid' ? 'bid' : 'ask', size };
  }

  #addLeg(): void {
    const leg = this.#typedLeg();
    if (typeof leg === 'string') this.#say(leg);
    else if (this.#legs.length >= MOST_LEGS) this.#say(`A package has at most ${MOST_LEGS} legs.`);
    else this.#legs.push(leg);
    this.#drawLegs();
  }

  async #submit(): Promise<string> {
    const [typed, wallet] = [this.#typedLeg(), this.#wallet];
    if (this.#legs.length === 0 && typeof typed === 'string') return typed;
    if (wallet === null) {
      this.#parts.onNeedsWallet();
      return '';
    }
    const legs = this.#legs.length > 0 || typeof typed === 'string' ? this.#legs : [typed];
    await this.ask(legs, wallet.address);
    this.#legs = [];
    this.#drawLegs();
    return 'Makers are asked. Their offers come in below.';
  }

  #drawLegs(): void {
    const rows = this.#legs.map(({ pool, side, size }, i) => {
      const remove = create('button', '', 'Remove');
      remove.type = 'button';
      remove.setAttribute('aria-label', `Remove leg ${i + 1}`);
      remove.addEventListener('click', () => {
        this.#legs.splice(i, 1);
        this.#drawLegs();
      });
      return create('li', '', `${side === 'ask' ? 'Buy' : 'Sell'} ${contracts(size)} ${nameOf(pool)} `, remove);
    });
    replaceChildren(byId('rfq-legs'), rows);
    const option = this.#pool === null ? 'an option' : nameOf(this.#pool);
    setText(byId('rfq-option'), option);
    const count = this.#legs.length;
    setText(byId('rfq-ask'), count < 2 ? 'Ask makers' : `Ask makers for ${count} legs`);
  }

  #draw(): void {
    const rows = [...this.#own.values()].map((rfq) => {
      const { rfqId, packageId, leg, legs, poolAddress, side, size, quotes, best, validUntil } = rfq;
      const pool = this.#market.pool(poolAddress);
      const name = this.#market.nameOf(poolAddress);
      const row = tableRow(
        rfqId,
        [
          packageId === null ? name : `${name} (leg ${leg + 1} of ${legs})`,
          `${side === 'ask' ? 'buy' : 'sell'} ${contracts(BigInt(size))}`,
          this.#stateText(rfq),
          String(quotes),
          best === null || pool === undefined ? '–' : this.#priceCell(pool, BigInt(best.price), side),
          isLive(rfq) ? this.#parts.clock.countdown(validUntil) : timeText(validUntil * 1000),
        ],
        [
          ['Offers', () => this.#choose(rfqId)],
          ...(isLive(rfq)
            ? ([['Cancel', () => void this.#work.run(() => this.#cancel(packageId ?? rfqId))]] as const)
            : []),
        ],
      );
      row.toggleAttribute('data-chosen', rfqId === this.#chosen);
      return row;
    });
    const empty =
      this.#wallet === null ? 'Connect a wallet to ask makers.' : 'Ask makers for a size to see its offers.';
    fillRows(byId('rfqs-rows'), rows, empty);
    this.#hold();
  }

  #wishOf({ poolAddress, side, size }: Rfq): string {
    return `${side === 'ask' ? 'buy' : 'sell'} ${contracts(BigInt(size))} ${this.#market.nameOf(poolAddress)}`;
  }

  #stateText(rfq: Rfq): string {
    const taken = this.#takenOf(rfq);
    if (taken > BigInt(rfq.filledSize)) return `taken: ${contracts(taken)}`;
    return taken === 0n ? WORDS[rfq.status] : `${WORDS[rfq.status]}: ${contracts(taken)}`;
  }

  #priceCell(pool: Pool, price: bigint, side: Side): DocumentFragment {
    return withUsd(this.#market.priceText(pool, price, side), this.#market.usdOfPrice(pool, price, side));
  }

  async #cancel(id: string): Promise<string> {
    await this.#client?.rest.cancelRfq(id);
    return 'Cancelled. Quotes that makers signed for you can still be accepted.';
  }

  readonly #refreshOffers = throttled(() => void this.#readOffers(), OFFERS_AFTER_MS);

  /** Until the answers come, what is shown stays. */
  async #readOffers(): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    const [client, id] = [this.#client, this.#chosen];
    const rfq = id === null ? undefined : this.#own.get(id);
    const pool = rfq === undefined ? undefined : this.#market.pool(rfq.poolAddress);
    if (client === null || rfq === undefined || pool === undefined) return this.#showCover('', '');
    try {
      const offers = this.#left(rfq) === 0n ? [] : await this.#offersOf(client, rfq, pool);
      const cover = await client.rest.rfqCover(rfq.packageId ?? rfq.rfqId);
      if (reading === this.#readings) this.#drawOffers(rfq, pool, offers, cover);
    } catch (error) {
      if (reading === this.#readings) this.#say(problemText(error));
    }
  }

  #drawOffers(rfq: Rfq, pool: Pool, offers: readonly Offer[], cover: RfqCover): void {
    const rows = offers.map((offer, i) => {
      const { kind, provider, price, size } = offer;
      const from = provider === null ? 'vault' : shortAddress(provider);
      return tableRow(
        `${provider ?? 'vault'} ${kind} ${price}`,
        [
          String(i + 1),
          from,
          provider === null ? 'to compare' : kind,
          this.#priceCell(pool, price, rfq.side),
          contracts(size),
        ],
        provider === null ? [] : [['Accept', () => void this.#work.run(() => this.#acceptOffer(rfq, pool, offer))]],
      );
    });
    setText(byId('offers-title'), `Offers for ${nameOf(pool)}, ${premiumToken(pool)} per contract`);
    const isDone = this.#left(rfq) === 0n;
    const waiting = isLive(rfq)
      ? 'No offers yet. Makers see the request.'
      : 'No offers. The request has ended: ask again.';
    fillRows(byId('offers-rows'), rows, isDone ? 'All of it is filled.' : waiting);
    this.#hold();
    const covered = cover.legs.filter((leg) => leg.covered !== '0');
    const isWhole = cover.legs.every(({ shortfall }) => shortfall === '0');
    const net = cover.net.map(({ token, amount }) => {
      const isPaid = !amount.startsWith('-');
      const units = BigInt(amount) * (isPaid ? 1n : -1n);
      const symbol = this.#market.symbolOf(token);
      const usd = this.#market.usdOfToken(symbol, units);
      const text = `${decimal(units, 6, isPaid ? 'UP' : 'DOWN')} ${symbol}${usd === '' ? '' : ` (${usd})`}`;
      return `${isPaid ? 'pay' : 'receive'} ${text}`;
    });
    if (covered.length === 0) return this.#showCover('', '');
    const amount = isWhole ? 'All of it' : 'A part of it';
    const isPackage = this.#legsOf(rfq.rfqId).length > 1;
    const each = isPackage ? ' Each leg is a transaction of its own.' : '';
    this.#showCover(
      `${amount} at the best offers: you ${net.join(' and ')}, before fees.${each}`,
      isPackage ? `Accept ${covered.length} legs` : 'Accept the best',
    );
  }

  /** Shows what taking the best offers brings, with the button for that; without offers nothing. */
  #showCover(text: string, label: string): void {
    setText(byId('rfq-cover'), text);
    setText(this.#accept, label);
    this.#accept.hidden = label === '';
  }

  /** Best first. */
  async #offersOf(client: OrderbookClient, rfq: Rfq, pool: Pool): Promise<Offer[]> {
    const { poolAddress, side, taker } = rfq;
    const size = this.#left(rfq).toString();
    const [own, open, vault] = await Promise.all([
      client.rest.rfqQuotes({ poolAddress, side, taker }),
      client.rest.quotes({ poolAddress, side, size }),
      isLive(rfq) ? this.#vaultPrice(client, pool, side, this.#left(rfq)) : null,
    ]);
    const quoted = (kind: Offer['kind']) => (quote: OrderbookQuote) => {
      const { provider, price, fillableSize } = quote;
      return { kind, provider, price: BigInt(price), size: BigInt(fillableSize) };
    };
    const offers: Offer[] = [...own.map(quoted('for you')), ...open.map(quoted('public'))];
    if (vault !== null) offers.push({ kind: 'vault', provider: null, price: vault, size: this.#left(rfq) });
    const others = offers.filter(({ provider }) => provider?.toLowerCase() !== taker.toLowerCase());
    return others.sort((a, b) => Number(a.price - b.price) * (side === 'ask' ? 1 : -1));
  }

  /** Per contract without the fee, as on the wire; null: the pair has no vault that trades it, or the key may not ask. */
  async #vaultPrice(client: OrderbookClient, pool: Pool, side: Side, size: bigint): Promise<bigint | null> {
    const { base, quote, expiration, strike, type, poolAddress } = pool;
    const key = `${poolAddress} ${side} ${size}`;
    const known = this.#vaultPrices.get(key);
    if (known !== undefined && performance.now() - known.atMs < VAULT_EVERY_MS) return known.price;
    const amount = decimal(size, 18, 'DOWN').replaceAll('\u202f', '');
    const direction = side === 'ask' ? 'buy' : 'sell';
    const price = await client.rest
      .vaultQuote({ base, quote, expiration, type, strike: String(strike), size: amount, direction })
      .then((answer) => {
        const premium = (answer.quote - answer.fee) / Number(amount);
        return normalizedPrice(pool, premium.toFixed(VAULT_DIGITS), side);
      })
      .catch(() => null);
    this.#vaultPrices.clear();
    this.#vaultPrices.set(key, { price, atMs: performance.now() });
    return price;
  }

  /** The maker's quotes, at the offered price or better. */
  async #acceptOffer(rfq: Rfq, pool: Pool, { provider, price, size }: Offer): Promise<string> {
    if (this.#client === null || provider === null) return '';
    const { poolAddress, side, taker } = rfq;
    const least = this.#left(rfq) < size ? this.#left(rfq) : size;
    const terms = await this.#client.rest.cover({ poolAddress, side, size: `${least}`, taker, provider });
    const worst = terms.worstPrice === null ? null : BigInt(terms.worstPrice);
    if (worst === null || (side === 'ask' ? worst > price : worst < price)) return 'That offer is gone.';
    return this.#fill(rfq, pool, terms);
  }

  async #acceptAll(): Promise<string> {
    const said: string[] = [];
    for (const rfq of this.#legsOf(this.#chosen)) {
      const { poolAddress, side, taker } = rfq;
      const pool = this.#market.pool(poolAddress);
      if (this.#client === null || pool === undefined || this.#left(rfq) === 0n) continue;
      try {
        const terms = await this.#client.rest.cover({ poolAddress, side, size: `${this.#left(rfq)}`, taker });
        if (terms.covered !== '0') said.push(await this.#fill(rfq, pool, terms));
      } catch (error) {
        // The legs before it are traded all the same.
        return [...said, problemText(error)].join(' ');
      }
      this.#say(said.join(' '));
    }
    return said.length === 0 ? 'Those offers are gone.' : said.join(' ');
  }

  async #fill(rfq: Rfq, pool: Pool, terms: CoverTerms): Promise<string> {
    // Quotes for the taker alone are among the terms, and what is bought belongs to the sender.
    if (this.#wallet === null || !this.#isOwn(rfq)) {
      throw new Error('The wallet that asked is no longer connected: nothing more was sent.');
    }
    const transaction = await fillCover(this.#wallet, terms, (hash) => this.#say(pendingText(hash)));
    this.#taken.set(rfq.rfqId, this.#takenOf(rfq) + BigInt(terms.covered));
    storeTaken(this.#taken);
    this.#draw();
    this.#parts.onTraded();
    const verb = rfq.side === 'ask' ? 'Bought' : 'Sold';
    return `${verb} ${contracts(BigInt(terms.covered))} ${nameOf(pool)} in transaction ${transaction}.`;
  }

  /** Still to be taken. */
  #left(rfq: Rfq): bigint {
    const left = BigInt(rfq.size) - this.#takenOf(rfq);
    return left > 0n ? left : 0n;
  }

  #takenOf({ rfqId, filledSize }: Rfq): bigint {
    const [filled, taken] = [BigInt(filledSize), this.#taken.get(rfqId) ?? 0n];
    return filled > taken ? filled : taken;
  }

  #hold(): void {
    for (const button of byId('asking').querySelectorAll('button')) hold(button, this.#work.isBusy);
  }

  #say(text: string): void {
    setText(byId('rfq-note'), text);
  }
}

/** More than a float of such a size has. */
const VAULT_DIGITS = 12;

/** Whether makers may still answer. */
export function isLive({ status }: Pick<Rfq, 'status'>): boolean {
  return status === 'open' || status === 'quoted' || status === 'partly_filled';
}

const TAKEN_STORED_AS = 'quotebook.taken';
const MOST_STORED = 100;

/** In the browser, so that a page that is opened again does not offer to take the same once more. */
function storedTaken(): Map<string, bigint> {
  const stored = readStored(TAKEN_STORED_AS) as readonly (readonly [string, string])[] | null;
  return new Map(stored?.map(([rfqId, size]) => [rfqId, BigInt(size)]));
}

function storeTaken(taken: ReadonlyMap<string, bigint>): void {
  store(
    TAKEN_STORED_AS,
    [...taken].slice(-MOST_STORED).map(([rfqId, size]) => [rfqId, size.toString()]),
  );
}
