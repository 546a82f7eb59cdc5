import {
  type Hex,
  type OptionBalances,
  type OrderbookClient,
  type OrderbookQuote,
  type OrdersResult,
  type RfqEvent,
} from 'quotebook/client';
import { contracts } from './amounts.js';
import { cancelCall, closeCall } from './contract-calls.js';
import { byId, create, replaceChildren, setText } from './elements.js';
import type { Market } from './market.js';
import { nameOf, premiumText } from './option.js';
import type { RequestedQuote } from './quote-view.js';
import { problemText, shortAddress, type Wallet } from './wallet.js';

/** How often balances and positions are read anew; quotes are read as well whenever one of the wallet's changes. */
const READ_EVERY_MS = 10_000;
const QUOTES_AFTER_MS = 300;
/** Requests for quotes that are kept, newest first. */
const REQUESTS = 12;

interface Inbox extends RequestedQuote {
  readonly poolAddress: string;
  readonly tsMs: number;
}

/** The wallet's quotes, positions and balances, and the takers' requests that it may answer. */
export class AccountView {
  readonly #market: Market;
  readonly #onAnswer: (poolAddress: string, request: RequestedQuote) => void;
  #client: OrderbookClient | null = null;
  #wallet: Wallet | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #quotesTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #requests: Inbox[] = [];

  /** `onAnswer`: the user wants to quote for a request. */
  constructor(market: Market, onAnswer: (poolAddress: string, request: RequestedQuote) => void) {
    this.#market = market;
    this.#onAnswer = onAnswer;
    byId('cancel-all').addEventListener('click', () => void this.#cancelAll());
  }

  open(client: OrderbookClient, wallet: Wallet | null): void {
    clearInterval(this.#timer);
    this.#client = client;
    this.#wallet = wallet;
    byId('account').dataset.connected = String(wallet !== null);
    if (wallet === null) return;
    void this.refresh();
    this.#timer = setInterval(() => void this.refresh(), READ_EVERY_MS);
  }

  /** Reads everything of the wallet again. */
  async refresh(): Promise<void> {
    await Promise.all([this.#readQuotes(), this.#readPositions(), this.#readBalances()]);
  }

  /** A quote of some provider has changed. */
  heard(provider: string): void {
    if (provider.toLowerCase() !== this.#wallet?.address.toLowerCase()) return;
    clearTimeout(this.#quotesTimer);
    this.#quotesTimer = setTimeout(() => void this.refresh(), QUOTES_AFTER_MS);
  }

  heardRequest({ tsMs, body }: RfqEvent): void {
    const poolAddress = 'poolAddress' in body ? body.poolAddress.toLowerCase() : this.#market.addressOf(body.poolKey);
    if (poolAddress === undefined) return;
    this.#requests.unshift({ poolAddress, tsMs, side: body.side, size: BigInt(body.size), taker: body.taker });
    this.#requests.splice(REQUESTS);
    const rows = this.#requests.map((request) => {
      const { poolAddress: address, side, size, taker } = request;
      return row(
        [
          this.#name(address),
          side === 'ask' ? 'wants to buy' : 'wants to sell',
          contracts(size),
          shortAddress(taker),
          new Date(request.tsMs).toLocaleTimeString([], { hour12: false }),
        ],
        ['Quote', () => this.#onAnswer(address, request)],
      );
    });
    fill('requests-rows', rows, 'No taker has asked yet.');
  }

  async #readQuotes(): Promise<void> {
    await this.#read('quotes-rows', async (client, { address }) => {
      const found = await client.rest.orders({ provider: address });
      const all: [OrderbookQuote, string][] = [
        ...found.validQuotes.map((quote): [OrderbookQuote, string] => [quote, 'live']),
        ...found.invalidQuotes.map(({ quote, reason }): [OrderbookQuote, string] => [quote, words(reason)]),
      ];
      byId('cancel-all').hidden = all.length === 0;
      const rows = all.map(([quote, state]) => {
        const pool = this.#market.pool(quote.poolAddress);
        const side = quote.isBuy ? 'bid' : 'ask';
        const price = BigInt(quote.price);
        return row(
          [
            this.#name(quote.poolAddress),
            side,
            pool === undefined ? '…' : premiumText(pool, price, side, this.#market.digits(pool, price)),
            contracts(BigInt(quote.fillableSize)),
            state,
          ],
          ['Cancel', () => void this.#send(cancelCall(quote.poolAddress, [quote.quoteId]), 'Cancelled')],
        );
      });
      fill('quotes-rows', rows, 'This wallet has no public quotes. Place one beside the book.');
    });
  }

  async #readPositions(): Promise<void> {
    await this.#read('positions-rows', async (client, { address }) => {
      const { open, expired } = await client.rest.optionBalances(address);
      const positions = [...open.map((each) => ({ ...each, isExpired: false })), ...expired.map(asExpired)];
      const rows = positions.map(({ name, amount, exposure, token_address: pool, isExpired }) => {
        const label = exposure === 'LONG' ? 'Exercise' : 'Settle';
        const close = (): void => void this.#send(closeCall(pool, exposure), `${label}d`);
        return row(
          [name, exposure.toLowerCase(), String(amount), isExpired ? 'expired' : 'open'],
          isExpired ? [label, close] : null,
        );
      });
      fill('positions-rows', rows, 'This wallet has no positions. Take a size beside the book.');
    });
  }

  async #readBalances(): Promise<void> {
    await this.#read('balances-rows', async (client, { address }) => {
      const { success } = await client.rest.collateralBalances(address);
      fill(
        'balances-rows',
        success.map(({ symbol, balance }) => row([symbol, String(balance)], null)),
        'No tokens.',
      );
    });
  }

  /** Leaves the rows as they are when the answer does not come, and says so. */
  async #read(id: string, read: (client: OrderbookClient, wallet: Wallet) => Promise<void>): Promise<void> {
    const [client, wallet] = [this.#client, this.#wallet];
    if (client === null || wallet === null) return;
    const table = byId(id);
    try {
      await read(client, wallet);
      table.removeAttribute('aria-busy');
    } catch (error) {
      table.setAttribute('aria-busy', 'true');
      console.warn(`reading ${id} failed`, error);
    }
  }

  async #cancelAll(): Promise<void> {
    const [client, wallet] = [this.#client, this.#wallet];
    if (client === null || wallet === null) return;
    const byPool = idsByPool(await client.rest.orders({ provider: wallet.address }));
    for (const [poolAddress, ids] of byPool) await this.#send(cancelCall(poolAddress, ids), 'Cancelled all quotes');
  }

  async #send(call: ReturnType<typeof cancelCall>, done: string): Promise<void> {
    if (this.#wallet === null) return;
    setText(byId('account-note'), 'Waiting…');
    try {
      const transaction = await this.#wallet.send(call);
      setText(byId('account-note'), `${done} in transaction ${transaction}`);
    } catch (error) {
      setText(byId('account-note'), problemText(error));
    }
    await this.refresh();
  }

  #name(poolAddress: string): string {
    const pool = this.#market.pool(poolAddress);
    return pool === undefined ? 'another pool' : nameOf(pool);
  }
}

function idsByPool({ validQuotes, invalidQuotes }: OrdersResult): Map<string, Hex[]> {
  const byPool = new Map<string, Hex[]>();
  for (const { poolAddress, quoteId } of [...validQuotes, ...invalidQuotes.map(({ quote }) => quote)]) {
    byPool.set(poolAddress, [...(byPool.get(poolAddress) ?? []), quoteId]);
  }
  return byPool;
}

function asExpired(position: OptionBalances['expired'][number]) {
  return { ...position, isExpired: true };
}

/** A reason such as InsufficientCollateralBalance as words. */
function words(reason: string): string {
  return reason.replace(/\B([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
}

function row(texts: readonly string[], action: readonly [string, () => void] | null): HTMLTableRowElement {
  const last = create('td');
  if (action !== null) {
    const button = create('button', '', action[0]);
    button.type = 'button';
    button.dataset.key = texts.join();
    button.addEventListener('click', action[1]);
    last.append(button);
  }
  return create('tr', '', ...texts.map((text) => create('td', '', text)), last);
}

function fill(id: string, rows: readonly HTMLTableRowElement[], empty: string): void {
  const cell = create('td', 'empty', empty);
  cell.colSpan = 6;
  replaceChildren(byId(id), rows.length > 0 ? rows : [create('tr', '', cell)]);
}
