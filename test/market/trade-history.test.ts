import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import type { EngineEvent } from '../../src/engine/event.js';
import type { JournalRecord } from '../../src/engine/ports.js';
import { limits as defaultLimits } from '../../src/config/limits.js';
import type { EventHistory, TimedEvent } from '../../src/feed/event-history.js';
import type { TradeVolume } from '../../src/feed/trade-volume.js';
import { TradeHistory } from '../../src/market/trade-history.js';
import { TradeRecorder } from '../../src/market/trade-recorder.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { tradeFileName, tradeFileNumbers } from '../../src/persistence/format/file-names.js';
import { TradeFiles } from '../../src/persistence/trades/trade-files.js';
import { systemClock } from '../../src/system/clock.js';
import { blockHashOf, MAKER, originAt, POOL, quoteIdOf, START, TAKER } from '../engine/samples.js';
import { SeededRandom } from '../simulation/seeded-random.js';

const ALL = { poolAddress: null, isBuy: null, provider: null, taker: null, from: 0, to: Infinity };
const DAY = 86_400;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** One event in each record, one second after the other; a block is as old as the record that names it. */
class Log {
  readonly events: TimedEvent[] = [];
  /** The log has lost the events up to this one. */
  since = 0;
  block = 100;
  nowSeconds = START;

  get end() {
    return { seq: this.events.length, tsMs: this.nowSeconds * 1000, index: this.events.length };
  }

  #push(event: (seq: number) => EngineEvent): JournalRecord {
    this.nowSeconds += 1;
    const timed = { event: event(this.events.length + 1), tsMs: this.nowSeconds * 1000 };
    this.events.push(timed);
    return { stamp: { index: this.events.length, tsMs: timed.tsMs }, command: { type: 'TICK' }, events: [timed.event] };
  }

  trade(branch = 0): JournalRecord {
    this.block += 1;
    return this.#push((seq) => ({
      type: 'TRADE_RECORDED',
      seq,
      cause: { chain: 'settlement', ...originAt(this.block) },
      trade: {
        pool: POOL,
        quoteId: quoteIdOf(seq),
        provider: MAKER,
        taker: TAKER,
        price: 1n,
        size: BigInt(seq),
        fee: 0n,
        isBuy: true,
        time: this.nowSeconds,
        blockHash: blockHashOf(this.block, branch),
      },
    }));
  }

  undo(blocks: number): JournalRecord {
    this.block -= blocks;
    return this.#push((seq) => ({ type: 'TRADES_UNDONE', seq, cause: null, blockNumber: this.block }));
  }

  other(): JournalRecord {
    return this.#push((seq) => ({ type: 'POOL_WITHDRAWN', seq, cause: null, pool: POOL }));
  }

  get history(): EventHistory {
    return {
      since: this.since,
      read: () => Promise.resolve(null),
      readSince: async function* (this: Log, sinceMs: number, throughIndex: number) {
        await Promise.resolve();
        const kept = this.events.slice(this.since, throughIndex).filter(({ tsMs }) => tsMs >= sinceMs);
        for (let at = 0; at < kept.length; at += 3) yield kept.slice(at, at + 3);
      }.bind(this),
    };
  }

  /** Sizes of the trades that are on the chain by all that ever happened, the newest first. */
  sizes(fromSeconds: number): bigint[] {
    let trades: { block: number; time: number; size: bigint }[] = [];
    for (const { event } of this.events) {
      if (event.type === 'TRADES_UNDONE') trades = trades.filter(({ block }) => block <= event.blockNumber);
      if (event.type !== 'TRADE_RECORDED') continue;
      trades.push({ block: event.cause.blockNumber, time: event.trade.time, size: event.trade.size });
    }
    return trades
      .filter(({ time }) => time >= fromSeconds)
      .map(({ size }) => size)
      .reverse();
  }
}

class Directory {
  readonly path: string;
  readonly log = new Log();
  readonly #days: number;

  private constructor(directory: string, days: number) {
    this.path = directory;
    this.#days = days;
  }

  static async make(t: { teardown(end: () => Promise<void>): void }, days = 10): Promise<Directory> {
    const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-trades-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    return new Directory(directory, days);
  }

  /** A process that starts with the log as it is. */
  async start(): Promise<{
    readonly history: TradeHistory;
    readonly volume: TradeVolume;
    readonly since: number;
    do(record: JournalRecord): void;
    /** From the second from which all are there. */
    sizes(): bigint[];
    flush(): Promise<void>;
    stop(): Promise<void>;
    kill(): Promise<void>;
  }> {
    const { log } = this;
    const start = log.end;
    const files = await TradeFiles.open(await openNodeDisk(this.path), {
      epoch: Buffer.alloc(8, 1),
      end: start,
      fileBytes: 2_000,
      fileMs: DAY * 1000,
      keptMs: this.#days * DAY * 1000,
      logger: silent,
    });
    const limits = { ...defaultLimits, tradeDays: this.#days, tradeBatch: 4 };
    const recorder = new TradeRecorder(files, { after: () => () => undefined }, limits, silent);
    const history = new TradeHistory(limits, { files, recorder, clock: systemClock, logger: silent });
    const volume = await history.readPast(log.history, start, systemClock, () => false);
    const since = (): number => history.store.since(log.nowSeconds);
    return {
      history,
      volume,
      get since() {
        return since();
      },
      do: (record) => history.onRecords([record]),
      sizes: () => [...history.store.newest({ ...ALL, from: since() }, null)].map(({ size }) => size),
      flush: () => recorder.flush(),
      stop: () => recorder.stop(),
      kill: () => files.close(),
    };
  }

  async tearTail(bytes: number): Promise<void> {
    const names = await (await openNodeDisk(this.path)).list();
    const last = tradeFileNumbers(names).at(-1);
    if (last === undefined) return;
    const file = path.join(this.path, tradeFileName(last));
    const disk = await openNodeDisk(this.path);
    const open = await disk.open(tradeFileName(last), 'read');
    const size = await open.size();
    await open.close();
    // Its header was durable before its name was.
    await truncate(file, Math.max(80, size - bytes));
  }
}

t.test('trades outlive the log that they are from, also through a reorg that came before a restart', async (t) => {
  const directory = await Directory.make(t);
  const { log } = directory;
  const first = await directory.start();
  for (let n = 0; n < 30; n += 1) first.do(n === 20 ? log.undo(3) : log.trade(n > 20 ? 1 : 0));
  const sizes = log.sizes(0);
  t.equal(sizes.length, 26);
  t.strictSame(first.sizes(), sizes);
  await first.stop();
  log.since = log.events.length - 1;
  for (let n = 0; n < 10; n += 1) log.other();
  const second = await directory.start();
  t.strictSame([second.sizes(), second.since], [sizes, log.nowSeconds - 10 * DAY], 'none is missing');
  second.do(log.undo(2));
  second.do(log.trade(2));
  await second.stop();
  log.since = log.events.length;
  const third = await directory.start();
  t.strictSame([third.sizes(), third.since], [log.sizes(0), log.nowSeconds - 10 * DAY]);
  t.strictSame(third.sizes().slice(1), sizes.slice(2));
  third.volume.expire(log.nowSeconds);
  const total = log.sizes(0).reduce((sum, size) => sum + size, 0n);
  t.equal(third.volume.total(POOL.poolAddress), total, 'the volume of the day is theirs');
  await third.stop();
});

t.test('files that end before the log begins leave a gap, from behind which trades are known again', async (t) => {
  const directory = await Directory.make(t);
  const { log } = directory;
  const first = await directory.start();
  first.do(log.trade());
  await first.stop();
  // As of an older program, or while the files could not be written.
  for (let n = 0; n < 5; n += 1) log.trade();
  const lostThrough = log.nowSeconds;
  log.since = log.events.length;
  log.trade();
  for (let round = 0; round < 2; round += 1) {
    const next = await directory.start();
    t.strictSame([next.since, next.sizes()], [lostThrough + 2, log.sizes(lostThrough + 2)]);
    t.equal(next.history.store.size, 1, 'also those before it are gone: a reorg may have undone them');
    next.volume.expire(log.nowSeconds);
    t.equal(next.volume.total(POOL.poolAddress), null);
    await next.stop();
  }
});

t.test('so does a log that has nothing behind what it lost', async (t) => {
  const directory = await Directory.make(t);
  const { log } = directory;
  const first = await directory.start();
  first.do(log.trade());
  await first.stop();
  log.trade();
  log.since = log.events.length;
  const lostThrough = log.nowSeconds;
  for (let round = 0; round < 2; round += 1) {
    const next = await directory.start();
    t.strictSame([next.since, next.history.store.size], [lostThrough + 1, round]);
    next.do(log.trade());
    t.strictSame(next.sizes(), log.sizes(lostThrough + 1));
    await next.stop();
  }
});

t.test('a log that is cut and has no files yet gives what it has', async (t) => {
  const directory = await Directory.make(t);
  const { log } = directory;
  for (let n = 0; n < 6; n += 1) log.trade();
  log.since = 3;
  for (let round = 0; round < 2; round += 1) {
    const next = await directory.start();
    t.strictSame([next.since, next.sizes()], [START + 5, log.sizes(START + 5)]);
    await next.stop();
    log.since = 6;
  }
});

t.test('trades that are older than they are kept go with their files', async (t) => {
  const directory = await Directory.make(t, 2);
  const { log } = directory;
  const first = await directory.start();
  for (let hour = 0; hour < 24 * 6; hour += 1) {
    log.nowSeconds += 3_599;
    first.do(log.trade());
    await first.flush();
  }
  const kept = log.sizes(log.nowSeconds - 2 * DAY);
  t.strictSame(first.sizes(), kept);
  await first.stop();
  log.since = log.events.length;
  const second = await directory.start();
  t.strictSame([second.sizes(), second.since], [kept, log.nowSeconds - 2 * DAY]);
  await second.stop();
  const names = await (await openNodeDisk(directory.path)).list();
  t.notOk(names.includes(tradeFileName(1)));
});

const seed = Number(process.env.QUOTEBOOK_SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`QUOTEBOOK_SEED=${seed}`);

t.test('under any trades, reorgs, restarts, kills and torn tails the trades are those of the whole log', async (t) => {
  const random = new SeededRandom(seed);
  for (let round = 0; round < 25; round += 1) {
    const directory = await Directory.make(t);
    const { log } = directory;
    for (let run = 0; run < 8; run += 1) {
      const running = await directory.start();
      const where = `QUOTEBOOK_SEED=${seed} round ${round} run ${run}`;
      t.equal(running.since, log.nowSeconds - 10 * DAY, `nothing is missing: ${where}`);
      t.strictSame(running.sizes(), log.sizes(0), where);
      for (let step = random.between(0, 40); step > 0; step -= 1) {
        const kind = random.between(0, 9);
        running.do(kind < 6 ? log.trade(run) : kind < 8 ? log.other() : log.undo(random.between(1, 4)));
        if (kind === 9) await running.flush();
      }
      t.strictSame(running.sizes(), log.sizes(0), where);
      if (random.between(0, 1) === 0) {
        await running.stop();
        log.since = random.between(log.since, log.events.length);
        continue;
      }
      await running.flush();
      await running.kill();
      // The log was cut at what the files have at most; a tail that is torn may be of what came since.
      const isTorn = random.between(0, 1) === 0 && log.since === 0;
      if (isTorn) await directory.tearTail(random.between(1, 300));
    }
  }
});
