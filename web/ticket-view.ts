import type { CoverTerms, FollowedCover, Hex, OrderbookClient, Pool } from 'quotebook/client';
import { contracts, decimal, parseDecimal } from './amounts.js';
import { allowanceOf, approveCall } from './contract-calls.js';
import { timeText } from './display.js';
import { byId, found, hold, setText } from './elements.js';
import { OneAtATime } from './one-at-a-time.js';
import { nameOf, normalizedPrice, premiumOf, premiumText, premiumToken, priceDigits } from './option.js';
import { coalesced } from './redraw.js';
import type { Leg } from './rfq-view.js';
import { pendingText, problemText, type Wallet } from './wallet.js';

/** At most so often are the terms of a cover asked for. */
const TERMS_EVERY_MS = 500;
/** After an error they are asked for again, also when the book does not change. */
const TERMS_AGAIN_MS = 5_000;

/** Quotes of a cover that the ticket has room for. */
const SHOWN_LEGS = 2;

/** What the ticket's button does next. */
type Step = 'CONNECT' | 'APPROVE' | 'FILL' | null;

interface TicketParts {
  /** A premium in 1e-18 tokens as US dollars; empty: not known. */
  readonly usdText: (pool: Pool, premium: bigint) => string;
  /** The user wants to trade, and has not connected a wallet. */
  readonly onNeedsWallet: () => void;
  /** The wallet has traded. */
  readonly onTraded: () => void;
  /** Rejects when the server refuses. */
  readonly askMakers: (leg: Leg, taker: Hex) => Promise<void>;
}

/** Takes a size from the book: shows the best quotes for it as they change, approves what they cost, and fills them. */
export class TicketView {
  readonly #form = found('ticket', HTMLFormElement);
  readonly #size = found('ticket-size', HTMLInputElement);
  readonly #limit = found('ticket-limit', HTMLInputElement);
  readonly #button = found('ticket-do', HTMLButtonElement);
  readonly #ask = found('ticket-ask', HTMLButtonElement);
  readonly #parts: TicketParts;
  readonly #draw = coalesced(() => this.#show());
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #wallet: Wallet | null = null;
  #followed: FollowedCover | null = null;
  /** Null: not known. */
  #terms: CoverTerms | null = null;
  #allowance = 0n;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAskedMs = -Infinity;
  readonly #work = new OneAtATime({
    hold: () => this.#draw(),
    say: (text) => this.#say(text),
    waiting: 'Waiting…',
    onEnd: () => this.#refresh(),
  });
  /** Result of the user's last step. */
  #note = '';
  /** Why the terms cannot be read; empty: they can. */
  #problem = '';

  constructor(parts: TicketParts) {
    this.#parts = parts;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.#form.addEventListener('input', () => this.#restart());
    this.#ask.addEventListener('click', () => void this.#askMakers());
  }

  /** Shows this pool, through this client, for this wallet. */
  open(client: OrderbookClient, pool: Pool, wallet: Wallet | null): void {
    this.#client = client;
    this.#pool = pool;
    this.#wallet = wallet;
    setText(byId('ticket-limit-unit'), premiumToken(pool));
    this.#restart();
  }

  /** What it shows in US dollars has changed. */
  redraw(): void {
    this.#draw();
  }

  #restart(): void {
    this.#followed?.close();
    this.#followed = null;
    this.#terms = null;
    this.#note = '';
    this.#problem = '';
    const size = parseDecimal(this.#size.value);
    if (this.#client !== null && this.#pool !== null && size !== null && size > 0n) {
      const { poolAddress } = this.#pool;
      const taker = this.#wallet === null ? {} : { taker: this.#wallet.address };
      this.#followed = this.#client.followCover({ poolAddress, side: this.#side, size, ...taker });
      this.#followed.onCover(() => this.#refresh());
    }
    this.#draw();
  }

  get #side(): 'bid' | 'ask' {
    return new FormData(this.#form).get('direction') === 'sell' ? 'bid' : 'ask';
  }

  #refresh(): void {
    this.#readAfter(Math.max(0, this.#lastAskedMs + TERMS_EVERY_MS - performance.now()));
  }

  #readAfter(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readTerms(), waitMs);
  }

  /** Of the part of the cover that is within the limit. */
  async #readTerms(): Promise<void> {
    const [client, pool, followed, wallet] = [this.#client, this.#pool, this.#followed, this.#wallet];
    const cover = followed?.cover ?? null;
    if (client === null || pool === null || cover === null) return;
    this.#lastAskedMs = performance.now();
    const side = this.#side;
    const limit = normalizedPrice(pool, this.#limit.value, side);
    const isWithin = (price: string): boolean =>
      limit === null || (side === 'ask' ? BigInt(price) <= limit : BigInt(price) >= limit);
    const within = cover.legs.filter(({ quote }) => isWithin(quote.price));
    const size = within.reduce((sum, { take }) => sum + BigInt(take), 0n);
    try {
      const taker = wallet === null ? {} : { taker: wallet.address };
      const { poolAddress } = pool;
      const terms = size === 0n ? null : await client.rest.cover({ poolAddress, side, size: `${size}`, ...taker });
      const approval = terms?.approval ?? null;
      const allowance =
        wallet === null || approval === null ? 0n : await allowanceOf(wallet, approval.token, approval.spender);
      if (followed !== this.#followed) return;
      this.#terms = terms;
      this.#allowance = allowance;
      this.#problem = '';
    } catch (error) {
      if (followed !== this.#followed) return;
      // Those of before may be of a book that is gone.
      this.#terms = null;
      this.#problem = problemText(error);
      this.#readAfter(TERMS_AGAIN_MS);
    }
    this.#draw();
  }

  get #step(): Step {
    const approval = this.#terms?.approval ?? null;
    if (approval === null) return null;
    if (this.#wallet === null) return 'CONNECT';
    return this.#allowance < BigInt(approval.amount) ? 'APPROVE' : 'FILL';
  }

  async #act(): Promise<void> {
    const [step, wallet, terms, pool] = [this.#step, this.#wallet, this.#terms, this.#pool];
    if (step === 'CONNECT') return this.#parts.onNeedsWallet();
    if (step === null || wallet === null || terms?.approval == null || pool === null) return;
    const { token, spender, amount } = terms.approval;
    // The form may say the other side by the time that it is done.
    const verb = this.#side === 'ask' ? 'Bought' : 'Sold';
    const onSent = (hash: Hex): void => this.#say(pendingText(hash));
    await this.#work.run(async () => {
      if (step === 'APPROVE') {
        await wallet.send(approveCall(token, spender, BigInt(amount)), onSent);
        return `Approved. Nothing is traded yet.`;
      }
      const call = terms.bundle ?? terms.legs[0]?.call;
      if (call === undefined) return '';
      const transaction = await wallet.send(call, onSent);
      this.#parts.onTraded();
      return `${verb} ${contracts(BigInt(terms.covered))} ${nameOf(pool)} in transaction ${transaction}`;
    });
  }

  /** Makers answer with quotes for this taker alone, which the cover counts in. */
  async #askMakers(): Promise<void> {
    const [pool, wallet] = [this.#pool, this.#wallet];
    if (wallet === null) return this.#parts.onNeedsWallet();
    const size = parseDecimal(this.#size.value);
    if (pool === null || size === null || size === 0n) return;
    await this.#work.run(async () => {
      await this.#parts.askMakers({ pool, side: this.#side, size }, wallet.address);
      return 'Makers are asked. Their quotes for you count in as they come.';
    });
  }

  #say(text: string): void {
    this.#note = text;
    this.#draw();
  }

  #show(): void {
    const [terms, pool] = [this.#terms, this.#pool];
    const isBuy = this.#side === 'ask';
    const asked = parseDecimal(this.#size.value) ?? 0n;
    const covered = BigInt(terms?.covered ?? 0);
    const inUsd = (premium: bigint): string => {
      const text = pool === null ? '' : this.#parts.usdText(pool, premium);
      return text === '' ? '' : ` (${text})`;
    };
    const price = (value: string | null | undefined): string => {
      if (pool === null || value == null) return '–';
      const text = premiumText(pool, BigInt(value), this.#side, priceDigits(pool, [BigInt(value)]));
      return `${text} ${premiumToken(pool)}${inUsd(premiumOf(pool, BigInt(value), this.#side))}`;
    };
    const paid = (field: 'fee' | 'premium' | 'pays', usd: (premium: bigint) => string = inUsd): string => {
      if (pool === null || terms?.approval == null) return '–';
      const sum = terms.legs.reduce((total, leg) => total + BigInt(leg[field]), 0n);
      // No token of the protocol has more than 18 decimals.
      const scaled = sum * 10n ** BigInt(18 - Math.min(18, terms.approval.decimals));
      return `${decimal(scaled, 6, field === 'premium' && !isBuy ? 'DOWN' : 'UP')} ${premiumToken(pool)}${usd(scaled)}`;
    };
    setText(byId('ticket-covered'), terms === null ? '–' : `${contracts(covered)} of ${contracts(asked)}`);
    this.#showLegs();
    setText(byId('ticket-average'), price(terms?.averagePrice));
    setText(byId('ticket-worst'), price(terms?.worstPrice));
    setText(byId('ticket-premium'), paid('premium'));
    setText(byId('ticket-fee'), paid('fee'));
    setText(byId('ticket-pays'), paid('pays'));
    const until = terms?.deadline == null ? '–' : timeText(terms.deadline * 1000);
    setText(byId('ticket-until'), until);
    setText(byId('ticket-note'), this.#problem || this.#note || this.#hint());
    const labels: Readonly<Record<NonNullable<Step>, string>> = {
      CONNECT: 'Connect a wallet to trade',
      APPROVE: `Approve ${paid('pays', () => '')}`,
      FILL: `${isBuy ? 'Buy' : 'Sell'} ${contracts(covered)}`,
    };
    const step = this.#step;
    setText(this.#button, step === null ? (isBuy ? 'Buy' : 'Sell') : labels[step]);
    this.#button.disabled = step === null || terms?.isDeployed === false;
    this.#ask.disabled = pool === null || asked === 0n;
    for (const button of [this.#button, this.#ask]) hold(button, this.#work.isBusy);
  }

  /** The quotes of the cover, the best first: as many as there is room for, and all of them under the pointer. */
  #showLegs(): void {
    const [legs, pool] = [this.#terms?.legs ?? [], this.#pool];
    if (pool === null) return;
    const texts = legs.map(({ take, quote }) => {
      const price = BigInt(quote.price);
      return `${contracts(BigInt(take))} at ${premiumText(pool, price, this.#side, priceDigits(pool, [price]))}`;
    });
    const more = texts.length > SHOWN_LEGS ? [`${texts.length - SHOWN_LEGS} more`] : [];
    const element = byId('ticket-legs');
    setText(element, [...texts.slice(0, SHOWN_LEGS), ...more].join(', ') || '–');
    element.title = texts.join('\n');
  }

  #hint(): string {
    const cover = this.#followed?.cover ?? null;
    const size = parseDecimal(this.#size.value);
    if (size === null || size === 0n) return 'Enter a size in contracts above 0.';
    if (cover === null) return '';
    if (cover.legs.length === 0) return 'Nobody quotes this side. Ask the makers for a quote.';
    if (this.#terms === null) return 'No quote is within the limit.';
    if (!this.#terms.isDeployed) return 'The pool has to be deployed before it can be traded.';
    return cover.shortfall === '0' ? '' : 'The book does not cover the whole size.';
  }
}
