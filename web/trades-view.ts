import type { Hex, OrderbookClient, Pool, Rest } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { Choices } from './choices.js';
import { Crosshair, type Reading } from './crosshair.js';
import { timeText } from './display.js';
import { byId, create, fillRows, found, setText, tableRow, withUsd } from './elements.js';
import type { Market } from './market.js';
import { nameOf, premiumText, priceDigits } from './option.js';
import { throttled } from './redraw.js';
import { problemText, type Wallet } from './wallet.js';

export type Trade = Awaited<ReturnType<Rest['trades']>>['trades'][number];
type Candle = Awaited<ReturnType<Rest['candles']>>['candles'][number];

/** Trades that are listed, newest first. */
const LISTED = 40;
const AFTER_A_FILL_MS = 400;
const FILTERS = ['All options', 'This option', 'Mine'];
const INTERVALS = ['5m', '1h', '1d'] as const;
const WIDTH = 400;
const HEIGHT = 120;
/** Height of the tallest volume bar. */
const VOLUME_HEIGHT = 30;
const EXPLORERS: ReadonlyMap<string, string> = new Map([
  ['42161', 'https://arbiscan.io/tx/'],
  ['421614', 'https://sepolia.arbiscan.io/tx/'],
]);

/** The newest trades of an address as taker or as maker, the newest first, at most `limit`, which is up to 1,000. */
export async function tradesOf({ rest }: OrderbookClient, address: Hex, limit: number): Promise<Trade[]> {
  const answers = await Promise.all([
    rest.trades({ taker: address, limit }),
    rest.trades({ provider: address, limit }),
  ]);
  // Where the address is on both sides, both answers have the trade.
  const all = new Map(
    answers.flatMap(({ trades }) => trades).map((trade) => [`${trade.txHash} ${trade.logIndex}`, trade]),
  );
  return [...all.values()].sort((a, b) => b.blockNumber - a.blockNumber || b.logIndex - a.logIndex).slice(0, limit);
}

/** What was traded: the fills as the chain has them, and the chosen option's price and volume over time. */
export class TradesView {
  readonly #market: Market;
  readonly #explorer: string | undefined;
  readonly #filters: Choices;
  readonly #intervals: Choices;
  readonly #chart = found('chart', SVGSVGElement);
  readonly #crosshair = new Crosshair(this.#chart, byId('chart-reading'), (at) => this.#reading(at));
  /** What the chart has, with the place of each, as a share of the width. */
  #drawn: readonly Reading[] = [];
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #wallet: Wallet | null = null;
  #filter = FILTERS[0];
  #interval: (typeof INTERVALS)[number] = '5m';

  constructor(market: Market, chainId: string) {
    this.#market = market;
    this.#explorer = EXPLORERS.get(chainId);
    this.#filters = new Choices(byId('trades-filter'), (filter) => {
      this.#filter = filter;
      this.#show();
    });
    this.#intervals = new Choices(byId('chart-interval'), (interval) => {
      this.#interval = INTERVALS.find((each) => each === interval) ?? this.#interval;
      this.#show();
    });
  }

  open(client: OrderbookClient, pool: Pool, wallet: Wallet | null): void {
    this.#client = client;
    this.#pool = pool;
    this.#wallet = wallet;
    this.#show();
  }

  /** What it shows in US dollars has changed. */
  redraw(): void {
    this.#show();
  }

  /** Something was filled. */
  readonly heardFill = throttled(() => this.#show(), AFTER_A_FILL_MS);

  #show(): void {
    this.#filters.show(FILTERS, this.#filter);
    this.#intervals.show(INTERVALS, this.#interval);
    this.#read().catch((error: unknown) => {
      console.warn('reading the trades failed', error);
      const body = byId('trades-rows');
      if (body.querySelector('td:not(.empty)') !== null) return;
      fillRows(body, [], `Trades cannot be read: ${problemText(error)}. The page tries again after the next trade.`);
    });
  }

  async #read(): Promise<void> {
    const [client, pool, wallet] = [this.#client, this.#pool, this.#wallet];
    const [filter, interval] = [this.#filter, this.#interval];
    if (client === null || pool === null) return;
    const { poolAddress } = pool;
    const [trades, { candles }] = await Promise.all([
      this.#newest(client, poolAddress),
      client.rest.candles({ poolAddress, interval }),
    ]);
    if (client !== this.#client || pool !== this.#pool || wallet !== this.#wallet) return;
    if (filter !== this.#filter || interval !== this.#interval) return;
    this.#list(trades);
    this.#draw(pool, candles);
  }

  /** Of what the filter lets pass. */
  async #newest(client: OrderbookClient, poolAddress: Hex): Promise<readonly Trade[]> {
    if (this.#filter === 'Mine') {
      return this.#wallet === null ? [] : tradesOf(client, this.#wallet.address, LISTED);
    }
    const { trades } = await client.rest.trades({
      limit: LISTED,
      ...(this.#filter === 'This option' && { poolAddress }),
    });
    return trades;
  }

  #list(trades: readonly Trade[]): void {
    const rows = trades.map((trade) => {
      const { poolAddress, price, side, size, time, txHash, logIndex } = trade;
      const pool = this.#market.pool(poolAddress);
      const about = side === 'buy' ? 'ask' : 'bid';
      const what = create('span', side === 'buy' ? 'bid-text' : 'ask-text', side === 'buy' ? 'bought' : 'sold');
      return tableRow(`${txHash} ${logIndex}`, [
        timeText(time * 1000),
        pool === undefined ? (trade.instrument ?? 'another pool') : nameOf(pool),
        what,
        pool === undefined ? '…' : this.#price(pool, BigInt(price), about),
        contracts(BigInt(size)),
        this.#link(txHash),
      ]);
    });
    const none = this.#filter === 'Mine' ? 'This wallet has not traded yet.' : 'Nothing was traded yet.';
    const advice =
      this.#filter === 'Mine' && this.#wallet === null
        ? 'Connect a wallet to see its trades.'
        : `${none} Take a size beside the book.`;
    fillRows(byId('trades-rows'), rows, advice);
  }

  #price(pool: Pool, price: bigint, side: 'bid' | 'ask'): Node {
    const text = premiumText(pool, price, side, priceDigits(pool, [price]));
    return withUsd(text, this.#market.usdOfPrice(pool, price, side));
  }

  #link(txHash: string): Node {
    const short = `${txHash.slice(0, 8)}…`;
    if (this.#explorer === undefined) {
      const text = create('span', '', short);
      text.title = txHash;
      return text;
    }
    const link = create('a', '', short);
    [link.href, link.target, link.rel] = [`${this.#explorer}${txHash}`, '_blank', 'noreferrer'];
    return link;
  }

  /** The range of prices of each interval with its last one as a line, and bars of what was traded. */
  #draw(pool: Pool, candles: readonly Candle[]): void {
    const [first, last] = [candles[0], candles.at(-1)];
    const path = (name: string, d: string) => this.#chart.querySelector(`.${name}`)?.setAttribute('d', d);
    if (first === undefined || last === undefined) {
      for (const name of ['range', 'close', 'volume']) path(name, '');
      for (const id of ['chart-low', 'chart-high']) setText(byId(id), '–');
      this.#drawn = [];
      this.#crosshair.draw();
      return this.#describe('no trades yet');
    }
    const lows = candles.map(({ low }) => BigInt(low));
    const highs = candles.map(({ high }) => BigInt(high));
    const low = lows.reduce((a, b) => (a < b ? a : b));
    const high = highs.reduce((a, b) => (a > b ? a : b));
    const top = HEIGHT - VOLUME_HEIGHT;
    const span = Math.max(drawn(high - low), 1e-18);
    const tallest = Math.max(...candles.map(({ volume }) => drawn(BigInt(volume))), 1e-18);
    const seconds = Math.max(last.time - first.time, 1);
    const x = ({ time }: Candle): number =>
      last.time === first.time ? WIDTH / 2 : 8 + ((WIDTH - 16) * (time - first.time)) / seconds;
    const y = (price: string): number =>
      high === low ? top / 2 : 6 + (top - 12) * (1 - drawn(BigInt(price) - low) / span);
    path(
      'range',
      candles
        .map((each) => `M${x(each).toFixed(1)} ${y(each.high).toFixed(1)}V${(y(each.low) + 1).toFixed(1)}`)
        .join(''),
    );
    path(
      'close',
      candles
        .map((each, i) =>
          i === 0
            ? `M${(x(each) - 4).toFixed(1)} ${y(each.close).toFixed(1)}h8`
            : `H${x(each).toFixed(1)}V${y(each.close).toFixed(1)}`,
        )
        .join(''),
    );
    path(
      'volume',
      candles
        .map(
          (each) =>
            `M${x(each).toFixed(1)} ${HEIGHT}v${(-VOLUME_HEIGHT * (drawn(BigInt(each.volume)) / tallest)).toFixed(1)}`,
        )
        .join(''),
    );
    const text = (price: bigint): string => premiumText(pool, price, 'bid', priceDigits(pool, [low, high]));
    this.#drawn = candles.map((each) => {
      const range = each.low === each.high ? '' : `, ${text(BigInt(each.low))} to ${text(BigInt(each.high))}`;
      const volume = `${contracts(BigInt(each.volume))} traded`;
      return {
        at: x(each) / WIDTH,
        text: `${timeText(each.time * 1000)}: ${text(BigInt(each.close))}${range}, ${volume}`,
      };
    });
    this.#crosshair.draw();
    setText(byId('chart-low'), `low ${text(low)}`);
    setText(byId('chart-high'), `high ${text(high)}`);
    const volume = candles.reduce((sum, each) => sum + BigInt(each.volume), 0n);
    this.#describe(`last ${text(BigInt(last.close))}, ${contracts(volume)} traded`);
  }

  /** Of the interval nearest to the pointer. */
  #reading(at: number): Reading | null {
    const distance = (each: Reading): number => Math.abs(each.at - at);
    return this.#drawn.reduce<Reading | null>(
      (nearest, each) => (nearest === null || distance(each) < distance(nearest) ? each : nearest),
      null,
    );
  }

  #describe(text: string): void {
    setText(byId('chart-middle'), text);
    this.#chart.setAttribute('aria-label', `Price and volume: ${text}`);
  }
}
