import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { type Limits, limits as defaultLimits } from '../../src/config/limits.js';
import type { Clock } from '../../src/engine/ports.js';
import { TradeHistory } from '../../src/market/trade-history.js';
import { TradeRecorder } from '../../src/market/trade-recorder.js';
import { comparePlaces, type PlacedTrade, type TradeFilter, type TradePlace } from '../../src/market/trade-store.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { tradeFileName, tradeFileNumbers } from '../../src/persistence/format/file-names.js';
import { TradeFiles, type TradeLogEvent } from '../../src/persistence/trades/trade-files.js';
import { systemClock } from '../../src/system/clock.js';
import { address, blockHashOf, POOL, quoteIdOf, samplePool, START, TAKER, txHashOf } from '../engine/samples.js';

const ALL: TradeFilter = { poolAddress: null, isBuy: null, provider: null, taker: null, from: 0, to: Infinity };
const POOLS = [POOL, samplePool(1)];
const DAY = 86_400;
const lines: string[] = [];
const note = (_: object, message: string): void => void lines.push(message);
const logger = { info: note, warn: note, error: note };
/** What is recorded waits until the test flushes it. */
const neverWrites: Pick<Clock, 'after'> = { after: () => () => undefined };

const timeOf = (block: number): number => START + 30 * block;

/** A log of trades, which keeps the plain list of those on the chain. */
class Market {
  seq = 0;
  nowSeconds = START;
  block = 0;
  branch = 0;
  #trades: PlacedTrade[] = [];

  /** In the last block, or so many blocks late. */
  trade(late: number, logIndex: number): TradeLogEvent {
    const blockNumber = Math.max(0, this.block - late);
    const origin = { blockNumber, txHash: txHashOf(blockNumber), logIndex };
    const seq = this.#next();
    const trade = {
      pool: POOLS[seq % 2] ?? POOL,
      quoteId: quoteIdOf(seq),
      provider: address(0x10 + (seq % 3)),
      taker: TAKER,
      price: 1n,
      size: BigInt(seq),
      fee: 0n,
      isBuy: seq % 5 < 2,
      time: timeOf(blockNumber),
      blockHash: blockHashOf(blockNumber, this.branch),
    };
    const placed = { ...trade, ...origin };
    this.#trades = [...this.#trades.filter((other) => comparePlaces(other, placed) !== 0), placed];
    return { type: 'TRADE_RECORDED', seq, cause: { chain: 'settlement', ...origin }, trade };
  }

  undo(blocks: number): TradeLogEvent {
    this.block = Math.max(0, this.block - blocks);
    this.branch += 1;
    this.#trades = this.#trades.filter(({ blockNumber }) => blockNumber <= this.block);
    return { type: 'TRADES_UNDONE', seq: this.#next(), cause: null, blockNumber: this.block };
  }

  /** The newest first. */
  listed({ poolAddress, isBuy, provider, taker, from, to }: TradeFilter): PlacedTrade[] {
    const isAsked = (trade: PlacedTrade): boolean =>
      (poolAddress === null || trade.pool.poolAddress === poolAddress) &&
      (isBuy === null || trade.isBuy === isBuy) &&
      (provider === null || trade.provider === provider) &&
      (taker === null || trade.taker === taker) &&
      from <= trade.time &&
      trade.time <= to;
    return this.#trades.filter(isAsked).sort((a, b) => comparePlaces(b, a));
  }

  /** A block is no younger than the record that names it. */
  #next(): number {
    this.nowSeconds = Math.max(this.nowSeconds + 1, timeOf(this.block));
    this.seq += 1;
    return this.seq;
  }
}

class Service {
  readonly market = new Market();
  readonly directory: string;
  readonly #limits: Limits;
  #running: { files: TradeFiles; recorder: TradeRecorder; history: TradeHistory } | null = null;
  #records = 0;

  constructor(directory: string, limits: Partial<Limits>) {
    this.directory = directory;
    this.#limits = { ...defaultLimits, tradesKept: 8, tradeDays: 100, tradeBatch: 3, ...limits };
  }

  async start(): Promise<void> {
    const { seq, nowSeconds } = this.market;
    const end = { seq, tsMs: nowSeconds * 1000 };
    const { tradeDays } = this.#limits;
    const files = await TradeFiles.open(await openNodeDisk(this.directory), {
      epoch: Buffer.alloc(8, 1),
      end,
      fileBytes: 1_200,
      fileMs: DAY * 1000,
      keptMs: tradeDays * DAY * 1000,
      logger,
    });
    const recorder = new TradeRecorder(files, neverWrites, this.#limits, logger);
    const history = new TradeHistory(this.#limits, { files, recorder, clock: systemClock, logger });
    this.#running = { files, recorder, history };
    // All that was committed is in the files: nothing has to be read from the log.
    const log = { since: seq, readSince: () => none() };
    await history.readPast(log, { ...end, index: this.#records }, systemClock, () => false);
  }

  get history(): TradeHistory {
    if (this.#running === null) throw new Error('it does not run');
    return this.#running.history;
  }

  commit(event: TradeLogEvent): void {
    this.#records += 1;
    const stamp = { index: this.#records, tsMs: this.market.nowSeconds * 1000 };
    this.history.onRecords([{ stamp, command: { type: 'TICK' }, events: [event] }]);
  }

  async flush(): Promise<void> {
    await this.#running?.recorder.flush();
  }

  async restart(): Promise<void> {
    await this.#running?.recorder.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#running?.recorder.stop();
  }

  /** All pages, one after the other. */
  async paged(filter: TradeFilter, limit: number): Promise<PlacedTrade[]> {
    const trades: PlacedTrade[] = [];
    let before: TradePlace | null = null;
    do {
      const page = await this.history.page(filter, before, limit, this.market.nowSeconds);
      if (page === 'BUSY') throw new Error('nobody else asks');
      if (page.trades.length > limit) throw new Error('the page is longer than was asked for');
      if (page.next !== null && before !== null && comparePlaces(page.next, before) >= 0)
        throw new Error('no progress');
      trades.push(...page.trades);
      before = page.next;
    } while (before !== null);
    return trades;
  }
}

async function* none(): AsyncGenerator<never> {
  yield* [];
}

async function begin(t: { teardown(end: () => Promise<void>): void }, limits: Partial<Limits> = {}): Promise<Service> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-older-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const service = new Service(directory, limits);
  await service.start();
  t.teardown(() => service.stop());
  return service;
}

async function trade(service: Service, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    service.market.block += 1;
    service.commit(service.market.trade(0, 0));
  }
  await service.flush();
}

const seed = Number(process.env.QUOTEBOOK_SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`QUOTEBOOK_SEED=${seed}`);

t.test('pages through memory and files are the plain list, under any trades, reorgs and restarts', async (t) => {
  const step = fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('trade' as const), n: fc.nat(2), late: fc.constant(0) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('late' as const), n: fc.nat(2), late: fc.nat(25) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('undo' as const), n: fc.nat(30), late: fc.constant(0) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('flush' as const), n: fc.nat(0), late: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), n: fc.nat(0), late: fc.constant(0) }) },
  );
  const filter = fc.record({
    poolAddress: fc.constantFrom(null, null, ...POOLS.map(({ poolAddress }) => poolAddress)),
    isBuy: fc.constantFrom(null, null, true, false),
    provider: fc.constantFrom(null, null, address(0x10), address(0x99)),
    taker: fc.constantFrom(null, TAKER),
    from: fc.constantFrom(0, timeOf(5), timeOf(20)),
    to: fc.constantFrom(Infinity, Infinity, timeOf(12)),
  });
  const runs = fc.record({
    steps: fc.array(step, { minLength: 20, maxLength: 120 }),
    filters: fc.array(filter, { minLength: 3, maxLength: 5 }),
    limit: fc.integer({ min: 1, max: 30 }),
    tradesSearched: fc.constantFrom(1, 20, 50_000),
  });
  let longer = 0;
  await fc.assert(
    fc.asyncProperty(runs, async ({ steps, filters, limit, tradesSearched }) => {
      const service = await begin(t, { tradesSearched });
      const { market } = service;
      for (const { kind, n, late } of steps) {
        if (kind === 'trade') market.block += 1;
        if (kind === 'trade' || kind === 'late') service.commit(market.trade(late, n));
        if (kind === 'undo') service.commit(market.undo(n));
        if (kind === 'flush') await service.flush();
        if (kind === 'restart') await service.restart();
      }
      for (const asked of [ALL, ...filters]) {
        const listed = market.listed(asked);
        const paged = await service.paged(asked, limit);
        if (paged.length > service.history.store.size) longer += 1;
        if (text(paged) !== text(listed)) throw new Error(`${text(paged)} instead of ${text(listed)}`);
      }
      await service.stop();
    }),
    { numRuns: 60, seed },
  );
  t.ok(longer > 20, `${longer} lists were longer than memory`);
});

function text(trades: readonly PlacedTrade[]): string {
  return trades.map((one) => `${one.blockNumber}-${one.logIndex} ${one.size} ${one.blockHash}`).join(', ');
}

t.test(
  'a reorg that goes deeper than memory undoes trades of the files, also before it is written there',
  async (t) => {
    const service = await begin(t);
    await trade(service, 40);
    service.commit(service.market.undo(20));
    t.equal((await service.paged(ALL, 7)).length, 20, 'it waits to be written');
    await service.flush();
    t.equal((await service.paged(ALL, 7)).length, 20);
    await trade(service, 3);
    await service.restart();
    const paged = await service.paged(ALL, 7);
    t.strictSame(paged, service.market.listed(ALL));
    t.equal(paged.length, 23);
  },
);

t.test('`since` goes back as far as the files do, and pages end there', async (t) => {
  const service = await begin(t, { tradeDays: 1 });
  const { market, history } = service;
  await trade(service, 40);
  t.equal(history.since(market.nowSeconds), market.nowSeconds - DAY);
  t.ok(history.store.since(market.nowSeconds) > timeOf(30), 'memory alone goes less far back');
  market.block = 40 + DAY / 30 - 15;
  service.commit(market.trade(0, 0));
  const from = market.nowSeconds - DAY;
  t.equal(history.since(market.nowSeconds), from);
  const kept = market.listed({ ...ALL, from });
  t.equal(kept.length, 17, 'the others are still in the files');
  t.strictSame(await service.paged(ALL, 5), kept);
});

t.test('a page that has passed over many trades ends early, and the next one goes on', async (t) => {
  const service = await begin(t, { tradesSearched: 10 });
  await trade(service, 60);
  const none = { ...ALL, provider: address(0x99) };
  const first = await service.history.page(none, null, 5, service.market.nowSeconds);
  if (first === 'BUSY') throw new Error('nobody else asks');
  t.strictSame(first.trades, []);
  t.ok(first.next !== null && first.read >= 10 && first.read < 30);
  t.strictSame(await service.paged(none, 5), []);
});

t.test('one page is read at a time, and beyond as many as may wait it is refused', async (t) => {
  const service = await begin(t, { pastReads: 2 });
  await trade(service, 60);
  const ask = () => service.history.page(ALL, null, 60, service.market.nowSeconds);
  const [first, second, third] = await Promise.all([ask(), ask(), ask()]);
  t.equal(third, 'BUSY');
  t.strictSame(first, second);
  t.not(await ask(), 'BUSY');
});

t.test('what a damaged file has lost is not served, and `since` says so', async (t) => {
  const service = await begin(t);
  await trade(service, 60);
  const names = await (await openNodeDisk(service.directory)).list();
  const numbers = tradeFileNumbers(names);
  const file = path.join(service.directory, tradeFileName(numbers[1] ?? 0));
  const bytes = await readFile(file);
  bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 0xff;
  await writeFile(file, bytes);
  lines.length = 0;
  const paged = await service.paged(ALL, 100);
  t.strictSame(lines, ['trade file damaged']);
  t.ok(paged.length < 60 && paged.length > 40);
  const since = service.history.since(service.market.nowSeconds);
  t.ok(since > START);
  t.strictSame(
    paged.filter(({ time }) => time >= since),
    service.market.listed({ ...ALL, from: since }),
    'from then on none is missing',
  );
  t.strictSame(await service.paged({ ...ALL, from: since }, 9), service.market.listed({ ...ALL, from: since }));
});

t.test('after trades were given up for want of room, memory alone is served', async (t) => {
  const service = await begin(t, { tradeQueue: 30 });
  await trade(service, 20);
  for (let block = 0; block < 31; block += 1) {
    service.market.block += 1;
    service.commit(service.market.trade(0, 0));
  }
  const { history, market } = service;
  t.equal(history.since(market.nowSeconds), history.store.since(market.nowSeconds));
  const paged = await service.paged({ ...ALL, from: history.since(market.nowSeconds) }, 3);
  t.strictSame(paged, market.listed({ ...ALL, from: history.since(market.nowSeconds) }));
});
