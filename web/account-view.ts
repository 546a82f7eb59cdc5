import {
  type Hex,
  type OptionBalances,
  type OrderbookClient,
  type Pool,
  type QuoteEvent,
  signRestore,
  signWithdrawal,
} from 'quotebook/client';
import { contracts, drawn, plainDecimal } from './amounts.js';
import { allowanceOf, ANY_AMOUNT, approveCall, cancelCall, closeCall, tokenDecimals } from './contract-calls.js';
import { type Action, byId, create, fillRows, hold, setText, tableRow, withUsd } from './elements.js';
import type { Market } from './market.js';
import { OneAtATime } from './one-at-a-time.js';
import { nameOf, premiumText, premiumToken } from './option.js';
import type { OwnQuote, OwnQuotes } from './own-quotes.js';
import { throttled } from './redraw.js';
import type { ServerClock } from './server-clock.js';
import { type Trade, tradesOf } from './trades-view.js';
import { isSameAddress, pendingText, problemText, type Wallet } from './wallet.js';

/** How often all is read anew; quotes are read as well whenever one of the wallet's changes. */
const READ_EVERY_MS = 10_000;
/** A bot may change quotes of the wallet all the time: a read takes up to three of the requests of the page's key. */
const QUOTES_AFTER_MS = 1_000;
/** The server's positions are older than a trade for at most its `balanceCacheMs`, which is 2,000 ms unless it is set. */
const POSITIONS_AFTER_MS = 2_500;
/** Of the wallet's own, the newest. */
const TRADES_READ = 1_000;
/** How long the server may take a signed withdrawal. */
const SIGNED_SECONDS = 300;

interface AccountParts {
  readonly market: Market;
  readonly clock: ServerClock;
  readonly ownQuotes: OwnQuotes;
  readonly chainId: string;
  /** The contract that takes the collateral of makers and takers. */
  readonly router: Hex;
}

/** The wallet's quotes, positions, balances and allowances. */
export class AccountView {
  readonly #market: Market;
  readonly #parts: AccountParts;
  /** What the router may take, by token, so that each change of a quote asks the wallet's node for nothing. */
  readonly #allowances = new Map<Hex, Allowance>();
  #client: OrderbookClient | null = null;
  #wallet: Wallet | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** By table, the newest read that is drawn: one that began before must not replace it. */
  readonly #drawn = new Map<string, number>();
  #reads = 0;
  readonly #work = new OneAtATime({
    hold: () => this.#hold(),
    say: (text) => this.#say(text),
    waiting: 'Waiting for the wallet…',
  });
  /** Pools with quotes of the wallet, when they were read last. */
  #quotedPools: ReadonlySet<string> = new Set();
  readonly #readQuotesSoon = throttled(() => void this.#readQuotes(), QUOTES_AFTER_MS);
  readonly #readHoldingsSoon = throttled(() => void this.#readHoldings(), POSITIONS_AFTER_MS);

  constructor(parts: AccountParts) {
    this.#parts = parts;
    this.#market = parts.market;
    byId('cancel-all').addEventListener('click', () => void this.#work.run(() => this.#cancelAll()));
  }

  open(client: OrderbookClient, wallet: Wallet | null): void {
    clearInterval(this.#timer);
    this.#client = client;
    this.#wallet = wallet;
    this.#quotedPools = new Set();
    this.#allowances.clear();
    byId('account').dataset.connected = String(wallet !== null);
    if (wallet === null) return;
    for (const id of ['quotes-rows', 'positions-rows', 'balances-rows']) fillRows(byId(id), [], 'Reading…');
    byId('cancel-all').hidden = true;
    this.#say('');
    void this.refresh();
    this.#timer = setInterval(() => void this.refresh(), READ_EVERY_MS);
  }

  /** Reads everything of the wallet again. */
  async refresh(): Promise<void> {
    await Promise.all([this.#readQuotes(), this.#readHoldings()]);
  }

  async #readHoldings(): Promise<void> {
    await Promise.all([this.#readPositions(), this.#readBalances()]);
  }

  /** The wallet has sent a transaction: reads everything again, and once more when the server knows the position. */
  transacted(): void {
    this.#allowances.clear();
    this.#parts.ownQuotes.transacted();
    void this.refresh();
    setTimeout(() => void this.refresh(), POSITIONS_AFTER_MS);
  }

  /** Whether the wallet has public quotes in the pool. */
  quotesIn(poolAddress: string): boolean {
    return this.#quotedPools.has(poolAddress);
  }

  /** A quote of some provider has changed. Only a fill, and a reorg that undoes one, change what the provider holds. */
  heard({ type, body: { provider } }: Pick<QuoteEvent, 'type' | 'body'>): void {
    if (this.#wallet === null || !isSameAddress(provider, this.#wallet.address)) return;
    this.#readQuotesSoon();
    if (type === 'FILL_QUOTE' || type === 'UNDO_QUOTE') this.#readHoldingsSoon();
  }

  async #readQuotes(): Promise<void> {
    await this.#read('quotes-rows', async (client, wallet) => {
      const all = await this.#parts.ownQuotes.read(client, wallet);
      return () => this.#drawQuotes(all);
    });
  }

  #drawQuotes(all: readonly OwnQuote[]): void {
    this.#quotedPools = new Set(all.filter(({ isPrivate }) => !isPrivate).map(({ poolAddress }) => poolAddress));
    byId('cancel-all').hidden = all.length === 0;
    const rows = all.map(({ quoteId, poolAddress, isBuy, price, left, state, isWithdrawn }) => {
      const pool = this.#market.pool(poolAddress);
      const side = isBuy ? 'bid' : 'ask';
      return tableRow(
        quoteId,
        [
          this.#market.nameOf(poolAddress),
          side,
          pool === undefined
            ? '…'
            : withUsd(this.#market.priceText(pool, price, side), this.#market.usdOfPrice(pool, price, side)),
          contracts(left),
          state,
        ],
        [
          isWithdrawn
            ? ['Restore', () => void this.#sign(quoteId, 'Restored')]
            : ['Withdraw', () => void this.#sign(quoteId, 'Withdrawn')],
          ['Cancel', () => void this.#send(cancelCall(poolAddress, [quoteId]), 'Cancelled')],
        ],
      );
    });
    fillRows(byId('quotes-rows'), rows, NO_QUOTES);
  }

  async #readPositions(): Promise<void> {
    await this.#read('positions-rows', async (client, { address }) => {
      const [{ open, expired }, trades] = await Promise.all([
        client.rest.optionBalances(address),
        tradesOf(client, address, TRADES_READ),
      ]);
      const positions = [...open.map((each) => ({ ...each, isExpired: false })), ...expired.map(asExpired)];
      const held = holdingsOf(trades, address);
      const rows = positions.map((position) => {
        const { name, amount, exposure, token_address: pool, isExpired } = position;
        const listed = this.#market.pool(pool.toLowerCase());
        const label = exposure === 'LONG' ? 'Exercise' : 'Settle';
        const close = (): void => void this.#send(closeCall(pool, exposure), `${label}d`);
        return tableRow(
          `${pool} ${exposure}`,
          [
            listed === undefined ? name : nameOf(listed),
            exposure.toLowerCase(),
            contracts(sizeOf(amount)),
            ...this.#worth(position, held.get(pool.toLowerCase())),
            isExpired ? 'expired' : 'open',
          ],
          isExpired ? [[label, close]] : [],
        );
      });
      return () => fillRows(byId('positions-rows'), rows, 'This wallet has no positions. Take a size beside the book.');
    });
  }

  /**
   * Average price of the wallet's own trades, the mark, the value of the contracts at the mark (of sold ones below 0),
   * and what closing at the mark would bring, without fees.
   */
  #worth({ amount, exposure, token_address }: Position, holding: Holding | undefined): readonly (string | Node)[] {
    const pool = this.#market.pool(token_address.toLowerCase());
    if (pool === undefined) return ['–', '–', '–', '–'];
    const mark = this.#market.mark(pool);
    const digits = this.#market.digits(pool, mark ?? undefined);
    const sign = exposure === 'LONG' ? 1n : -1n;
    // Contracts that came otherwise, or were traded before the server's oldest trade, have no price here.
    const isKnown = holding !== undefined && Math.abs(drawn(holding.net * sign) - amount) < 1e-9;
    const average = isKnown ? averageOf(holding) : null;
    const averageText =
      average === null ? '–' : premiumText(pool, average, exposure === 'LONG' ? 'ask' : 'bid', digits);
    if (mark === null) return [averageText, '–', '–', '–'];
    const markText = premiumText(pool, mark, 'bid', digits);
    const value = this.#signed(pool, (mark * sign * sizeOf(amount)) / ONE, digits);
    if (average === null || holding === undefined) return [averageText, markText, value, '–'];
    const profit = ((mark - average) * holding.net) / ONE;
    const profitText = this.#signed(pool, profit, digits, { plus: '+', unit: ` ${premiumToken(pool)}` });
    return [averageText, markText, value, create('span', profit < 0n ? 'ask-text' : 'bid-text', profitText)];
  }

  /** A sum of prices of the wire, which may be below 0: in the token of the pool's premiums and in US dollars. */
  #signed(pool: Pool, sum: bigint, digits: number, { plus = '', unit = '' } = {}): DocumentFragment {
    const [sign, side] = sum < 0n ? (['−', 'ask'] as const) : ([plus, 'bid'] as const);
    const size = sum < 0n ? -sum : sum;
    const usd = this.#market.usdOfPrice(pool, size, side);
    return withUsd(`${sign}${premiumText(pool, size, side, digits)}${unit}`, usd === '' ? '' : `${sign}${usd}`);
  }

  async #readBalances(): Promise<void> {
    await this.#read('balances-rows', async (client, wallet) => {
      const { success } = await client.rest.collateralBalances(wallet.address);
      const rows = await Promise.all(
        success.map(async ({ symbol, balance, token_address: token }) => {
          const { text, actions } = await this.#allowance(wallet, token);
          return tableRow(symbol, [symbol, String(balance), text], actions);
        }),
      );
      return () => fillRows(byId('balances-rows'), rows, 'This wallet has no tokens. Send it some to trade.');
    });
  }

  /** What the router may take of a token, in whole tokens, and how to end that. */
  async #allowance(
    wallet: Wallet,
    token: Hex,
  ): Promise<{ readonly text: string; readonly actions: readonly Action[] }> {
    const { router } = this.#parts;
    let known = this.#allowances.get(token);
    if (known === undefined || known.atMs + READ_EVERY_MS <= performance.now()) {
      try {
        const decimals = known?.decimals ?? (await tokenDecimals(wallet, token));
        known = { amount: await allowanceOf(wallet, token, router), decimals, atMs: performance.now() };
      } catch (error) {
        console.warn(`reading the allowance of ${token} failed`, error);
        return { text: '–', actions: [] };
      }
      if (wallet === this.#wallet) this.#allowances.set(token, known);
    }
    const { amount, decimals } = known;
    // Some tokens count even the largest allowance down.
    const isAny = amount > ANY_AMOUNT / 2n;
    const text = isAny ? 'any' : plainDecimal((amount * ONE) / 10n ** BigInt(decimals));
    const revoke = (): void => void this.#send(approveCall(token, router, 0n), 'Revoked');
    return { text, actions: amount === 0n ? [] : [['Revoke', revoke]] };
  }

  /**
   * Reads and draws a table. If the answer does not come, the rows stay as they are, or say so where there are none. What
   * was read for another wallet is not drawn.
   */
  async #read(id: string, read: (client: OrderbookClient, wallet: Wallet) => Promise<() => void>): Promise<void> {
    const [client, wallet] = [this.#client, this.#wallet];
    if (client === null || wallet === null) return;
    const table = byId(id);
    this.#reads += 1;
    const place = this.#reads;
    try {
      const draw = await read(client, wallet);
      if (client !== this.#client || wallet !== this.#wallet || place < (this.#drawn.get(id) ?? 0)) return;
      this.#drawn.set(id, place);
      draw();
      this.#hold();
      table.removeAttribute('aria-busy');
    } catch (error) {
      console.warn(`reading ${id} failed`, error);
      if (client !== this.#client || wallet !== this.#wallet) return;
      table.setAttribute('aria-busy', 'true');
      const hasRows = table.querySelector('td:not(.empty)') !== null;
      if (!hasRows) fillRows(table, [], `This cannot be read: ${problemText(error)}. The page tries again.`);
    }
  }

  /** Cancels what the service or this browser knows at this moment, in a transaction for each pool and 100 quotes. */
  async #cancelAll(): Promise<string> {
    const [client, wallet] = [this.#client, this.#wallet];
    if (client === null || wallet === null) return '';
    let all: OwnQuote[];
    try {
      all = await this.#parts.ownQuotes.read(client, wallet);
    } catch (error) {
      return `No quote was cancelled: they cannot be read (${problemText(error)}). Try again.`;
    }
    const transactions: Hex[] = [];
    let cancelled = 0;
    try {
      for (const { poolAddress, ids } of parts(all)) {
        const progress = `Cancelling ${cancelled + 1} to ${cancelled + ids.length} of ${all.length} quotes.`;
        this.#say(`${progress} Waiting for the wallet…`);
        const onSent = (hash: Hex): void => this.#say(`${progress} ${pendingText(hash)}`);
        transactions.push(await wallet.send(cancelCall(poolAddress, ids), onSent));
        cancelled += ids.length;
      }
      const where = transactions.length === 1 ? 'transaction' : `${transactions.length} transactions:`;
      const count = cancelled === 1 ? '1 quote' : `${cancelled} quotes`;
      return cancelled === 0 ? NO_QUOTES : `Cancelled ${count} in ${where} ${transactions.join(', ')}`;
    } catch (error) {
      return `Cancelled ${cancelled} of ${all.length} quotes. ${problemText(error)}`;
    } finally {
      this.transacted();
    }
  }

  /** Hides a quote in the service or shows it again, by a signature. On chain it stays as it is. */
  #sign(quoteId: Hex, done: 'Withdrawn' | 'Restored'): Promise<void> {
    return this.#work.run(async () => {
      const [client, wallet] = [this.#client, this.#wallet];
      if (client === null || wallet === null) return '';
      const { clock, chainId } = this.#parts;
      const terms = { quoteIds: [quoteId], deadline: clock.now() + SIGNED_SECONDS, nonce: BigInt(clock.nowMs()) };
      try {
        if (done === 'Withdrawn') await client.rest.withdrawQuotes(await signWithdrawal(wallet, chainId, terms));
        else await client.rest.restoreQuotes(await signRestore(wallet, chainId, terms));
      } finally {
        void this.#readQuotes();
      }
      return `${done}${done === 'Withdrawn' ? ': hidden here, still on chain until you cancel it' : ''}`;
    });
  }

  #send(call: ReturnType<typeof cancelCall>, done: string): Promise<void> {
    return this.#work.run(async () => {
      const wallet = this.#wallet;
      if (wallet === null) return '';
      try {
        return `${done} in transaction ${await wallet.send(call, (hash) => this.#say(pendingText(hash)))}`;
      } finally {
        this.transacted();
      }
    });
  }

  #hold(): void {
    for (const button of byId('account').querySelectorAll('button')) hold(button, this.#work.isBusy);
  }

  #say(text: string): void {
    setText(byId('account-note'), text);
  }
}

/** As a token has it, read at `atMs` of performance.now(). */
interface Allowance {
  readonly amount: bigint;
  readonly decimals: number;
  readonly atMs: number;
}

const NO_QUOTES = 'This wallet has no quotes. Place one beside the book.';
/** A transaction takes so many, that its gas stays far below that of a block. */
const CANCELS_PER_TRANSACTION = 100;

type Position = OptionBalances['open'][number];

const ONE = 10n ** 18n;

/** 1e-18 contracts; what the wire rounds away is below a billionth of a contract. */
function sizeOf(amount: number): bigint {
  return BigInt(Math.round(amount * 1e9)) * 10n ** 9n;
}

/** Sum of a wallet's own trades in a pool. */
interface Holding {
  /** 1e-18 contracts; below 0: sold more than bought. */
  readonly net: bigint;
  /** Of `net` at the prices that they were opened for, 1e-36. */
  readonly cost: bigint;
}

/** 1e-18, as on the wire; null: nothing is held. */
function averageOf({ net, cost }: Holding): bigint | null {
  return net === 0n ? null : cost / net;
}

/**
 * By the pool's address. By the average cost: what closes a part of a position leaves the average of the rest as it is.
 * `trades`: the wallet's own, newest first.
 */
function holdingsOf(trades: readonly Trade[], wallet: string): ReadonlyMap<string, Holding> {
  const holdings = new Map<string, Holding>();
  for (const { poolAddress, taker, side, size, price } of [...trades].reverse()) {
    let { net, cost } = holdings.get(poolAddress) ?? { net: 0n, cost: 0n };
    const isTaker = isSameAddress(taker, wallet);
    const change = isTaker === (side === 'buy') ? BigInt(size) : -BigInt(size);
    const isOpening = net === 0n || net > 0n === change > 0n;
    const after = net + change;
    if (isOpening) cost += change * BigInt(price);
    else if (after === 0n || after > 0n !== net > 0n) cost = after * BigInt(price);
    else cost = (cost * after) / net;
    net = after;
    holdings.set(poolAddress, { net, cost });
  }
  return holdings;
}

/** Quotes that one transaction each cancels. */
function parts(quotes: readonly OwnQuote[]): { readonly poolAddress: Hex; readonly ids: readonly Hex[] }[] {
  const byPool = new Map<Hex, Hex[]>();
  for (const { poolAddress, quoteId } of quotes) {
    byPool.set(poolAddress, [...(byPool.get(poolAddress) ?? []), quoteId]);
  }
  return [...byPool].flatMap(([poolAddress, all]) =>
    Array.from({ length: Math.ceil(all.length / CANCELS_PER_TRANSACTION) }, (_, i) => {
      return { poolAddress, ids: all.slice(i * CANCELS_PER_TRANSACTION, (i + 1) * CANCELS_PER_TRANSACTION) };
    }),
  );
}

function asExpired(position: OptionBalances['expired'][number]) {
  return { ...position, isExpired: true };
}
