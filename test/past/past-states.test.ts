import t from 'tap';
import { deployments } from '../../src/chain/contracts/deployments.js';
import { limits } from '../../src/config/limits.js';
import type { Engine } from '../../src/engine/engine.js';
import type { OrdersQuery } from '../../src/engine/queries.js';
import type { Hex, Side } from '../../src/engine/quote.js';
import { Feed } from '../../src/feed/feed.js';
import { OrderLists } from '../../src/http/order-lists.js';
import type { PastPoint } from '../../src/past/questions.js';
import { snapshotIndexes, snapshotName } from '../../src/persistence/format/file-names.js';
import { readManifest } from '../../src/persistence/format/manifest.js';
import { LogHistory } from '../../src/persistence/log/log-history.js';
import type { OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { PastLog } from '../../src/past/past-log.js';
import { PastStates } from '../../src/past/past-states.js';
import type { BookResult, PastTickersResult } from '../../src/wire/feed-messages.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { keccak256 } from '../feed/keccak.js';
import { MemoryDisk } from '../persistence/memory-disk.js';
import { World } from '../persistence/world.js';
import { SeededRandom } from '../simulation/seeded-random.js';

const seed = Number(process.env.SEED ?? 34);
t.comment(`SEED=${seed}`);
const CHAIN_ID = '421613';
const [deployment] = deployments;
if (deployment === undefined) throw new Error('there are deployments');
const LIMITS = {
  pastReplayRecords: 1_000,
  pastEngines: 2,
  pastSearchBytes: 1 << 30,
  writtenQuotes: 100,
  recentFills: 10_000,
  tradesKept: 10_000,
};
const WITHOUT_BOUND = 1_000_000_000_000_000;

/** What the running engine was after one record. */
interface Recorded {
  readonly index: number;
  readonly seq: number;
  readonly tsMs: number;
  /** -1: no block was read. */
  readonly block: number;
  readonly stateHash: string;
  /** Answers that it gave, by the questions' names. */
  readonly answers: ReadonlyMap<string, string>;
}

const quoteJson = new QuoteJson(CHAIN_ID, 100);
const lists = new OrderLists(quoteJson, () => '', { rowsPerSlice: Infinity, rememberedAnswerBytes: 0 });

interface CoverQuestion {
  readonly poolAddress: Hex;
  readonly side: Side;
  readonly size: bigint;
  readonly taker?: Hex;
}

/** Questions of every kind that an engine can be asked; the taker is one that has private quotes, if there is one. */
function questionsFor(engine: Engine): Map<string, OrdersQuery | CoverQuestion> {
  const questions = new Map<string, OrdersQuery | CoverQuestion>();
  // By id: two engines in the same state may list them in another order.
  const known = [...engine.known()].sort((a, b) => (a.quote.quoteId < b.quote.quoteId ? -1 : 1));
  const taker = known.map(({ quote }) => quote.taker).find((address) => !/^0x0+$/.test(address));
  questions.set('orders', {});
  questions.set('orders of any taker', { taker: '*' });
  if (taker !== undefined) questions.set(`orders of ${taker}`, { taker });
  for (const { quote } of known.slice(0, 2)) {
    questions.set(`id ${quote.quoteId}`, { quoteIds: [quote.quoteId] });
    const { poolAddress } = quote.pool;
    for (const side of ['bid', 'ask'] as const) {
      const target = { poolAddress, side, size: 10n ** 24n };
      questions.set(`cover ${poolAddress} ${side}`, target);
      if (taker !== undefined) questions.set(`cover ${poolAddress} ${side} ${taker}`, { ...target, taker });
    }
  }
  return questions;
}

function textOf(body: string | Uint8Array): string {
  return Buffer.from(body).toString();
}

function answersOf(engine: Engine): Map<string, string> {
  const answers = new Map<string, string>();
  for (const [name, query] of questionsFor(engine)) {
    const { answer } = isCover(query)
      ? lists.best(engine.cover(query), engine.index)
      : lists.newest(engine.orders(query), false, false);
    answers.set(name, textOf(answer.body));
  }
  return answers;
}

function isCover(query: object): query is CoverQuestion {
  return 'size' in query;
}

/** A log with reorgs, restarts of time and private quotes, and what its engine was after each record. */
async function recordedLog(records: number, options: Partial<OpenLogOptions>) {
  const world = new World(seed);
  const process = await world.start({
    segmentBytes: 8 << 10,
    snapshotEveryRecords: 60,
    pastSnapshots: 1_000,
    retainLogBytes: Infinity,
    ...options,
  });
  const { engine, journal } = process.log;
  const seen: Recorded[] = [];
  for (let record = 0; record < records; record += 1) {
    world.submit(process, 1);
    const { index, seq, tsMs } = engine;
    const block = engine.positions().settlement?.blockNumber ?? -1;
    seen.push({ index, seq, tsMs, block, stateHash: engine.stateHash(), answers: answersOf(engine) });
    if (record % 5 === 4) {
      await world.clock.until(journal.flush());
      await world.clock.advance(100);
    }
  }
  await world.clock.until(journal.flush());
  const disk = new MemoryDisk(world.disk.fileNames().map((name) => [name, world.disk.contentOf(name)]));
  const manifest = await readManifest(disk);
  if (manifest === null) throw new Error('a log that was opened has its stamp');
  return { disk, seen, reorgDepth: manifest.reorgDepth, epoch: manifest.epoch };
}

const log = await recordedLog(400, {});
const { seen } = log;
const now = { throughIndex: seen.length, nowMs: (seen.at(-1)?.tsMs ?? 0) + 5 };
const states = (disk = log.disk, limits = LIMITS): PastStates => new PastStates(disk, log.reorgDepth, limits);

/** By the words of the documents, from all that was recorded. */
function expected(point: PastPoint): Recorded | undefined {
  if (point.type === 'TIME') return seen.findLast(({ tsMs }) => tsMs <= point.tsMs);
  if (point.type === 'BLOCK') return seen.findLast(({ block }) => block <= point.blockNumber);
  const reached = seen.find(({ seq }) => seq >= point.seq)?.seq;
  return seen.findLast(({ seq }) => seq === reached);
}

/** Every event, block and time that was recorded, in an order of no use for what is kept between two answers. */
function points(): PastPoint[] {
  const all: PastPoint[] = [
    ...Array.from({ length: seen.at(-1)?.seq ?? 0 }, (_, n): PastPoint => ({ type: 'SEQ', seq: n + 1 })),
    ...[...new Set(seen.map(({ block }) => block))]
      .filter((block) => block >= 0)
      .map((blockNumber): PastPoint => ({ type: 'BLOCK', blockNumber })),
    ...[...new Set(seen.map(({ tsMs }) => tsMs))].map((tsMs): PastPoint => ({ type: 'TIME', tsMs })),
  ];
  const random = new SeededRandom(seed);
  return all
    .map((point) => ({ point, place: random.below(2 ** 31) }))
    .sort((a, b) => a.place - b.place)
    .map(({ point }) => point);
}

await t.test('the state as of every event, block and time is the one that was recorded there', async (t) => {
  const past = states();
  const found = { SEQ: 0, BLOCK: 0, TIME: 0 };
  let rewound = false;
  for (const point of points()) {
    const state = await past.at(point, now);
    const wanted = expected(point);
    if (state.type !== 'STATE' || wanted === undefined) {
      t.fail(`${JSON.stringify(point)} is ${state.type}`);
      continue;
    }
    found[point.type] += 1;
    const { index, stateHash } = wanted;
    if (point.type === 'BLOCK') rewound ||= seen.slice(0, index).some(({ block }) => block > point.blockNumber);
    t.strictSame([state.at.index, state.engine.stateHash()], [index, stateHash], JSON.stringify(point));
  }
  t.ok(
    Object.values(found).every((count) => count > 20),
    JSON.stringify(found),
  );
  t.ok(rewound, 'a block was read again after a reorg');
});

await t.test('answers as of each event are those that the running engine gave', async (t) => {
  const past = await PastLog.open(log.disk, { chainId: CHAIN_ID, profile: deployment, limits: LIMITS });
  const beside = states();
  let compared = 0;
  for (const point of points().filter(({ type }) => type === 'SEQ')) {
    const wanted = expected(point);
    const at = seen[(wanted?.index ?? 0) - 1];
    const state = await beside.at(point, now);
    if (state.type !== 'STATE' || at === undefined) throw new Error(`${JSON.stringify(point)} is ${state.type}`);
    for (const [name, query] of questionsFor(state.engine)) {
      const about = isCover(query)
        ? { type: 'QUOTES' as const, query }
        : { type: 'ORDERS' as const, query, takers: null, isPage: false };
      const answer = await past.answer({ ...about, fields: null, point, ...now });
      const body = answer.type === 'FOUND' ? textOf(answer.body) : answer.type;
      if (body !== at.answers.get(name)) t.fail(`${JSON.stringify(point)}: ${name}`);
      compared += 1;
    }
  }
  t.ok(compared > 500, `${compared} answers`);
});

const EPOCH = '00000000000000e3';

/** Of an answer of GET /tickers; two states may list them in another order. */
function tickersOf(answer: string): readonly PastTickersResult['tickers'][number][] {
  const { tickers } = JSON.parse(answer) as PastTickersResult;
  return [...tickers].sort((a, b) => (a.poolAddress < b.poolAddress ? -1 : 1));
}

interface FeedAnswers {
  readonly books: ReadonlyMap<Hex, object>;
  readonly tickers: ReturnType<typeof tickersOf>;
}

/** The state of a feed that reads the whole log, after each record, by the record's index. */
async function answersOfFeed(depth: number): Promise<Map<number, FeedAnswers>> {
  const feed = new Feed({
    chainId: CHAIN_ID,
    epoch: EPOCH,
    start: { index: 0, seq: 0, tsMs: 0, orders: [], pools: [] },
    older: null,
    quoteJson,
    keccak256,
    publish: () => undefined,
    limits,
  });
  const answers = new Map<number, FeedAnswers>();
  const pools = new Set<Hex>();
  for await (const records of new LogHistory(log.disk, log.epoch).recordsAfter(-1, seen.length)) {
    for (const record of records) {
      feed.onRecords([record]);
      const tickers = tickersOf([...feed.tickersJson()].map(({ text }) => text).join(''));
      for (const { poolAddress } of tickers) pools.add(poolAddress);
      const bookOf = (poolAddress: Hex) => feed.levels.read({ poolAddress, taker: null, depth });
      answers.set(record.stamp.index, { books: new Map([...pools].map((pool) => [pool, bookOf(pool)])), tickers });
    }
  }
  return answers;
}

await t.test('books and tickers as of each event are those of a feed that saw the log go by', async (t) => {
  const live = await answersOfFeed(2);
  const past = await PastLog.open(log.disk, { chainId: CHAIN_ID, profile: deployment, limits: LIMITS });
  const found = { levels: 0, filled: 0, traded: 0 };
  for (const point of points().filter(({ type }) => type === 'SEQ')) {
    const wanted = live.get(expected(point)?.index ?? 0);
    if (wanted === undefined) throw new Error(`nothing was recorded at ${JSON.stringify(point)}`);
    for (const [pool, book] of wanted.books) {
      const answer = await past.answer({ type: 'BOOK', epoch: EPOCH, pool, depth: 2, point, ...now });
      if (answer.type !== 'FOUND') throw new Error(`the answer is ${answer.type}`);
      const { bids, asks, levelsHash } = JSON.parse(textOf(answer.body)) as BookResult;
      t.strictSame({ levelsHash, body: { bids, asks } }, book, `${JSON.stringify(point)}: ${pool}`);
      found.levels += bids.length + asks.length;
    }
    const answer = await past.answer({ type: 'TICKERS', epoch: EPOCH, point, ...now });
    if (answer.type !== 'FOUND') throw new Error(`the answer is ${answer.type}`);
    t.strictSame(tickersOf(textOf(answer.body)), wanted.tickers, JSON.stringify(point));
    found.filled += wanted.tickers.filter(({ filledSize24h }) => filledSize24h !== '0').length;
    found.traded += wanted.tickers.filter(({ volume24h }) => volume24h !== '0').length;
  }
  t.ok(
    Object.values(found).every((count) => count > 10),
    JSON.stringify(found),
  );
});

await t.test('tickers do not say what was filled in a day that is not kept, or is too long to read', async (t) => {
  const { disk, seen: all } = await recordedLog(400, { retainLogBytes: 0 });
  const last = all.at(-1);
  if (last === undefined) throw new Error('something was recorded');
  const until = { throughIndex: last.index, nowMs: last.tsMs };
  const question = { type: 'TICKERS', epoch: EPOCH, point: { type: 'SEQ', seq: last.seq }, ...until } as const;
  const tickersFrom = async (from: MemoryDisk, pastReplayRecords: number) => {
    const options = { chainId: CHAIN_ID, profile: deployment, limits: { ...LIMITS, pastReplayRecords } };
    const answer = await (await PastLog.open(from, options)).answer(question);
    return answer.type === 'FOUND' ? tickersOf(textOf(answer.body)) : [];
  };
  const partlyKept = await tickersFrom(disk, 1_000);
  const tooLong = await tickersFrom(new MemoryDisk(log.disk.files), 70);
  for (const tickers of [partlyKept, tooLong]) {
    t.ok(tickers.length > 0);
    for (const { filledSize24h, volume24h } of tickers) t.strictSame([filledSize24h, volume24h], [null, null]);
  }
});

await t.test('a point that the log has not come to is not answered', async (t) => {
  const last = seen.at(-1);
  if (last === undefined) throw new Error('something was recorded');
  const highest = Math.max(...seen.map(({ block }) => block));
  t.equal((await states().at({ type: 'SEQ', seq: last.seq + 1 }, now)).type, 'NOT_REACHED');
  t.equal((await states().at({ type: 'TIME', tsMs: now.nowMs + 1 }, now)).type, 'NOT_REACHED');
  t.equal((await states().at({ type: 'TIME', tsMs: now.nowMs }, now)).type, 'STATE', 'time that no record tells of');
  t.equal((await states().at({ type: 'BLOCK', blockNumber: highest + 100 }, now)).type, 'NOT_REACHED');
  t.equal((await states().at({ type: 'SEQ', seq: WITHOUT_BOUND }, now)).type, 'NOT_REACHED');
});

await t.test(
  'before the oldest snapshot that the log still goes with, the answer names the oldest point',
  async (t) => {
    const disk = new MemoryDisk(log.disk.files);
    const [first, second, third] = snapshotIndexes(await disk.list());
    if (first === undefined || second === undefined || third === undefined) throw new Error('there are snapshots');
    for (const index of [first, second]) await disk.remove(snapshotName(index));
    const before = seen[third - 1];
    if (before === undefined) throw new Error('it was recorded');
    // From the log's beginning it is further than an answer may replay.
    const past = states(disk, { ...LIMITS, pastReplayRecords: 100 });
    const gone = await past.at({ type: 'SEQ', seq: before.seq - 1 }, now);
    t.match(gone, { type: 'GONE', oldest: { index: third, seq: before.seq, blockNumber: before.block } });
    t.equal((await past.at({ type: 'SEQ', seq: before.seq }, now)).type, 'STATE');
  },
);

await t.test('where segments are dropped, the oldest point is the first snapshot that is left', async (t) => {
  const { disk, seen: all } = await recordedLog(400, { retainLogBytes: 0 });
  const [first = 0] = snapshotIndexes(await disk.list());
  const last = all.at(-1);
  const oldest = all[first - 1];
  if (last === undefined || oldest === undefined) throw new Error('it was recorded');
  const past = states(disk);
  const until = { throughIndex: last.index, nowMs: last.tsMs };
  const gone = await past.at({ type: 'TIME', tsMs: oldest.tsMs - 1 }, until);
  t.match(gone, { type: 'GONE', oldest: { index: first, seq: oldest.seq, tsMs: oldest.tsMs } });
  const kept = await past.at({ type: 'SEQ', seq: last.seq }, until);
  t.equal(kept.type === 'STATE' && kept.engine.stateHash(), last.stateHash);
});

await t.test('a snapshot that has rotted is passed over for the one before', async (t) => {
  const disk = new MemoryDisk(log.disk.files);
  const [, second] = snapshotIndexes(await disk.list());
  if (second === undefined) throw new Error('there are snapshots');
  const bytes = Buffer.from(disk.files.get(snapshotName(second)) ?? []);
  bytes[bytes.length - 10] = (bytes[bytes.length - 10] ?? 0) ^ 1;
  disk.files.set(snapshotName(second), bytes);
  const recorded = seen[second];
  if (recorded === undefined) throw new Error('it was recorded');
  const point: PastPoint = { type: 'SEQ', seq: recorded.seq };
  const state = await states(disk).at(point, now);
  t.equal(state.type === 'STATE' && state.engine.stateHash(), expected(point)?.stateHash);
});
