import {
  type Hex,
  type OrderbookClient,
  type Pool,
  type PoolKey,
  type SignedQuote,
  ZERO_ADDRESS,
} from 'quotebook/client';
import { contracts, parseDecimal, plainDecimal } from './amounts.js';
import { ANY_AMOUNT, approveCall } from './contract-calls.js';
import { words } from './display.js';
import { byId, found, hold, setText } from './elements.js';
import { OneAtATime } from './one-at-a-time.js';
import { nameOf, normalizedPrice, premiumToken } from './option.js';
import type { OwnQuotes } from './own-quotes.js';
import type { ServerClock } from './server-clock.js';
import { pendingText, shortAddress, type Wallet } from './wallet.js';

/** A taker's request: a quote of this side and size for that taker alone. */
export interface RequestedQuote {
  readonly side: 'bid' | 'ask';
  readonly size: bigint;
  readonly taker: Hex;
}

interface QuoteParts {
  readonly clock: ServerClock;
  readonly ownQuotes: OwnQuotes;
  /** Of the chosen pool; undefined: the feed has not named it yet. */
  readonly poolKey: (pool: Pool) => PoolKey | undefined;
  /** The contract that takes the makers' collateral; null: the server does not name it. */
  readonly router: Hex | null;
  readonly onNeedsWallet: () => void;
  /** Quotes of the wallet have changed. */
  readonly onPlaced: () => void;
}

/** Places quotes on one side or both: signs them, has them checked, and publishes them. */
export class QuoteView {
  readonly #parts: QuoteParts;
  readonly #form = found('quote', HTMLFormElement);
  readonly #button = found('quote-do', HTMLButtonElement);
  readonly #approve = found('quote-approve', HTMLButtonElement);
  readonly #minutes = found('quote-minutes', HTMLInputElement);
  readonly #inputs = {
    bid: { price: found('quote-bid', HTMLInputElement), size: found('quote-bid-size', HTMLInputElement) },
    ask: { price: found('quote-ask', HTMLInputElement), size: found('quote-ask-size', HTMLInputElement) },
  } as const;
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #wallet: Wallet | null = null;
  #taker: Hex | null = null;
  readonly #work = new OneAtATime({
    hold: () => this.#enable(),
    say: (text) => setText(byId('quote-note'), text),
    waiting: 'Waiting…',
  });
  #canPublish = true;

  constructor(parts: QuoteParts) {
    this.#parts = parts;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#work.run(() => this.#place());
    });
    this.#form.addEventListener('input', () => {
      // A result is of what was filled in before; a transaction that is under way goes on.
      if (!this.#work.isBusy) setText(byId('quote-note'), '');
    });
    this.#approve.addEventListener('click', () => void this.#work.run(() => this.#allow()));
    byId('quote-everyone').addEventListener('click', () => this.#for(null));
  }

  open(client: OrderbookClient, pool: Pool, wallet: Wallet | null): void {
    const isOtherPool = pool.poolAddress !== this.#pool?.poolAddress;
    if (isOtherPool) {
      for (const { price, size } of Object.values(this.#inputs)) [price.value, size.value] = ['', ''];
      this.#for(null);
    }
    if (isOtherPool || wallet?.address !== this.#wallet?.address) setText(byId('quote-note'), '');
    this.#client = client;
    this.#pool = pool;
    this.#wallet = wallet;
    for (const side of ['bid', 'ask']) setText(byId(`quote-${side}-unit`), premiumToken(pool));
    setText(this.#button, wallet === null ? 'Connect a wallet to quote' : 'Sign and place');
    this.#approve.hidden = true;
    this.#enable();
  }

  /** Whether the server publishes quotes now. */
  allow(canPublish: boolean): void {
    this.#canPublish = canPublish;
    this.#enable();
  }

  #enable(): void {
    this.#button.disabled = this.#pool === null || (!this.#canPublish && this.#wallet !== null);
    for (const button of [this.#button, this.#approve]) hold(button, this.#work.isBusy);
  }

  /** Prepares the answer to a request of the pool that is open; one to an anonymous taker is public. */
  answer({ side, size, taker }: RequestedQuote): void {
    this.#inputs[side].size.value = plainDecimal(size);
    this.#for(taker === ZERO_ADDRESS ? null : taker);
    this.#inputs[side].price.focus();
  }

  #for(taker: Hex | null): void {
    this.#taker = taker;
    byId('quote-taker').hidden = taker === null;
    setText(byId('quote-taker-name'), taker === null ? '' : `Only ${shortAddress(taker)} can fill it.`);
  }

  async #place(): Promise<string> {
    const [client, pool, wallet] = [this.#client, this.#pool, this.#wallet];
    if (wallet === null) {
      this.#parts.onNeedsWallet();
      return '';
    }
    if (client === null || pool === null) return '';
    const quotes = await this.#sign(client, pool, wallet);
    if (typeof quotes === 'string') return quotes;
    const { created, reasons } = await this.#parts.ownQuotes.publish(client, pool.poolAddress, quotes);
    this.#approve.hidden = !reasons.includes(NOT_APPROVED) || this.#parts.router === null;
    if (reasons.length > 0) return `Not placed: ${reasons.map(words).join(', ')}`;
    this.#parts.onPlaced();
    return `Placed ${created.map(({ isBuy, size }) => `${isBuy ? 'a bid' : 'an ask'} for ${contracts(BigInt(size))}`).join(' and ')} on ${nameOf(pool)}`;
  }

  /** The quotes of the sides that are filled in, or what is wrong with the form. */
  async #sign(client: OrderbookClient, pool: Pool, wallet: Wallet): Promise<SignedQuote[] | string> {
    const poolKey = this.#parts.poolKey(pool);
    const minutes = Number(this.#minutes.value);
    if (poolKey === undefined) return 'The pool is not known yet. Try again in a moment.';
    if (!Number.isInteger(minutes) || minutes < 1) return 'A quote lives for at least one minute.';
    const deadline = this.#parts.clock.now() + minutes * 60;
    const quotes: SignedQuote[] = [];
    for (const side of ['bid', 'ask'] as const) {
      const inputs = this.#inputs[side];
      if (inputs.price.value.trim() === '' && inputs.size.value.trim() === '') continue;
      const price = normalizedPrice(pool, inputs.price.value, side);
      const size = parseDecimal(inputs.size.value);
      if (price === null || price === 0n || size === null || size === 0n) {
        return `The ${side} needs a price and a size above 0.`;
      }
      if (price > 10n ** 18n) return `The ${side}'s price is above what a contract can be worth.`;
      const terms = { side, price, size, deadline, ...(this.#taker !== null && { taker: this.#taker }) };
      quotes.push(await client.signQuote(wallet, { poolAddress: pool.poolAddress, poolKey }, terms));
    }
    return quotes.length === 0 ? 'Fill in the bid, the ask, or both.' : quotes;
  }

  async #allow(): Promise<string> {
    const [pool, wallet] = [this.#pool, this.#wallet];
    const poolKey = pool === null ? undefined : this.#parts.poolKey(pool);
    const { router } = this.#parts;
    if (wallet === null || poolKey === undefined || router === null) return '';
    const token = poolKey.isCallPool ? poolKey.base : poolKey.quote;
    await wallet.send(approveCall(token, router, ANY_AMOUNT), (hash) => {
      setText(byId('quote-note'), pendingText(hash));
    });
    this.#approve.hidden = true;
    return 'Approved. Place the quote again.';
  }
}

/** The chain's reason for a quote whose maker has to approve the collateral token. */
export const NOT_APPROVED = 'InsufficientCollateralAllowance';
