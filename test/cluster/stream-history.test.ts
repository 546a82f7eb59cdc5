import { isDeepStrictEqual } from 'node:util';
import pino from 'pino';
import t, { type Test } from 'tap';
import { startGateway } from '../../src/app/gateway-process.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { ClusterKeyFiles } from '../../src/cluster/kept-values.js';
import {
  type GroupMessage,
  type LogStream,
  messagesFrom,
  openLogStream,
  type StreamMessage,
  type TermContent,
} from '../../src/cluster/log-stream.js';
import type { SnapshotSource } from '../../src/cluster/snapshot-store.js';
import { limits } from '../../src/config/limits.js';
import type { Command } from '../../src/engine/command.js';
import { eventsBefore, type TimedEvent } from '../../src/feed/event-history.js';
import type { Disk } from '../../src/persistence/disk/disk.js';
import { LogHistory } from '../../src/persistence/log/log-history.js';
import { spareDescriptors, systemClock, systemRandom } from '../../src/system/clock.js';
import { profileAtOnce, rpcOfNobody } from '../../bench/servers/chains-at-once.js';
import { blockHashOf, MAKER, quoteIdOf, samplePool, START, TAKER, txHashOf } from '../engine/samples.js';
import { SeededRandom, seedOf } from '../simulation/seeded-random.js';
import { silent } from '../simulation/simulated-log.js';
import { until } from '../until.js';
import { settingsOf } from './behind-gateway.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo } from './nats-servers.js';
import { counted, streamWithSnapshot } from './stream-with-snapshot.js';

const RECORDS = 1_800;
const LATER = 60;
const GROUPS = (RECORDS + LATER) / 3;

/** All events of a log, as its own files have them. */
async function eventsIn(disk: Disk, epoch: Buffer): Promise<TimedEvent[]> {
  const events: TimedEvent[] = [];
  for await (const records of new LogHistory(disk, epoch).recordsAfter(0, RECORDS + LATER)) {
    for (const { stamp, events: told } of records) events.push(...told.map((event) => ({ event, tsMs: stamp.tsMs })));
  }
  return events;
}

async function openReplica(t: Test, stream: LogStream, snapshots: SnapshotSource | null): Promise<GatewayReplica> {
  const onFault = (error: Error): void => void t.error(error);
  const from = { stream, snapshots, clock: systemClock, logger: silent, limits: CLUSTER_LIMITS };
  const replica = await GatewayReplica.open({ ...from, onFault });
  t.teardown(() => replica.stop());
  return replica;
}

t.test('what a gateway reads of the past does not grow with the log, however young its snapshot is', async (t) => {
  const { disk, stream, store, at, bytes, epoch } = await streamWithSnapshot(t, RECORDS, { startSeconds: START });
  await store.put(epoch, at, bytes, 2);
  const expected = await eventsIn(disk, epoch);
  const reading = counted(stream);
  const replica = await openReplica(t, reading.stream, store);
  const { engine } = replica;
  const history = replica.history();
  /** A group has 3 records: the gets of a bisection, what is asked for, and a batch at the most behind that. */
  const reads = async (events: number, read: () => Promise<unknown>): Promise<void> => {
    const before = reading.messages();
    await read();
    const messages = reading.messages() - before;
    const most = 2 * Math.ceil(Math.log2(GROUPS)) + events / 3 + 3 * CLUSTER_LIMITS.clusterReadMessages;
    t.ok(messages <= most && messages > 0, `${messages} messages read, of ${GROUPS}, for ${events} events`);
  };

  const kept = LATER + 90;
  await reads(kept, async () => {
    t.strictSame(await eventsBefore(engine, history, kept), expected.slice(-kept), 'events older than the snapshot');
  });
  for (const afterSeq of [0, 1, 40, 700, 1_201, RECORDS - 1, RECORDS + LATER - 1, RECORDS + LATER]) {
    await reads(20, async () => {
      const page = await history.read(afterSeq, 20, engine.index);
      t.strictSame(page, expected.slice(afterSeq, afterSeq + 20), `a page behind event ${afterSeq}`);
    });
  }
  const sinceMs = expected[1_500]?.tsMs ?? 0;
  const since = expected.filter(({ tsMs }) => tsMs >= sinceMs);
  t.ok(since.length < RECORDS / 2);
  await reads(since.length, async () => {
    const read: TimedEvent[] = [];
    for await (const part of history.readSince(sinceMs, engine.index)) read.push(...part);
    t.strictSame(read, since, 'all since a time');
  });
});

/** Groups of a new term, at most. */
const TERM_GROUPS = 3 * 4 * CLUSTER_LIMITS.clusterWindow;

/**
 * Appends a log's groups, under leaders that depose one another. Behind a TERM the stream has what its servers took of
 * the deposed leader's window, and of its successor's behind a place that was lost to those.
 */
async function appendUnderMany(stream: LogStream, groups: readonly GroupMessage[], term: TermContent): Promise<void> {
  const random = new SeededRandom(seedOf(t));
  let last = 0;
  const append = async ({ group, firstIndex, previous, eventSeq, bytes }: GroupMessage, termSeq: number) => {
    const before = { index: firstIndex - 1, seq: 0, group: group - 1, chain: Buffer.from(previous, 'hex') };
    last = await stream.appendGroup({ before, after: { ...before, group, seq: eventSeq }, bytes }, termSeq, last);
  };
  let deposed = 0;
  for (let next = 0; next < groups.length;) {
    const at = { index: 0, seq: groups[next - 1]?.eventSeq ?? 0, group: next, chain: Buffer.alloc(0) };
    const leader = await stream.appendTerm({ ...term, nonce: `${last}` }, at, last);
    last = leader;
    const most = CLUSTER_LIMITS.clusterWindow - 1;
    const [lost, behind] = deposed === 0 ? [0, 0] : [random.below(most + 1), random.below(most + 1)];
    for (const group of groups.slice(next + 1, next + 1 + lost)) await append(group, deposed);
    if (lost > 0) for (const group of groups.slice(next + 1, next + 1 + behind)) await append(group, leader);
    const own = groups.slice(next, next + random.below(TERM_GROUPS));
    for (const group of own) await append(group, leader);
    next += own.length;
    deposed = leader;
  }
}

t.test('it begins with a group that is part of the log, whatever deposed leaders have left behind', async (t) => {
  const { servers, disk, stream, epoch } = await streamWithSnapshot(t, RECORDS, { startSeconds: START });
  const messages: StreamMessage[] = [];
  for await (const message of messagesFrom(stream, 1, await stream.lastSequence(), 100)) messages.push(message);
  const [term, ...groups] = messages;
  if (term?.type !== 'TERM') throw new Error('a stream begins with a TERM');
  const led = await openLogStream(await connectTo(t, servers, { deployment: 'deposed', unsafe: true }));
  await appendUnderMany(led, groups as GroupMessage[], term.content);
  t.ok((await led.lastSequence()) > messages.length + 20, 'much of the stream is void');
  const replica = await openReplica(t, led, null);
  const expected = await eventsIn(disk, epoch);
  const { engine } = replica;
  t.equal(engine.index, RECORDS + LATER);
  const history = replica.history();
  for (let afterSeq = 0; afterSeq < expected.length; afterSeq += 3) {
    const page = await history.read(afterSeq, 60, engine.index);
    if (!isDeepStrictEqual(page, expected.slice(afterSeq, afterSeq + 60))) t.fail(`a page behind event ${afterSeq}`);
  }
  for (let from = 0; from < expected.length; from += 100) {
    const sinceMs = expected[from]?.tsMs ?? 0;
    const read: TimedEvent[] = [];
    for await (const part of history.readSince(sinceMs, engine.index)) read.push(...part);
    const since = expected.filter(({ tsMs }) => tsMs >= sinceMs);
    if (!isDeepStrictEqual(read, since)) t.fail(`all since the time of event ${from}`);
  }
});

const POOL = samplePool(0);
/** Unix seconds, of the settlement chain's first block. */
const FIRST_TIME = Math.floor(Date.now() / 1000) - RECORDS - LATER;

/** Each record is a trade in a block of its own. */
function tradeOf(n: number): Command {
  const origin = { blockNumber: n, txHash: txHashOf(n), logIndex: 0 };
  return {
    type: 'FILL_QUOTE',
    quoteId: quoteIdOf(n),
    size: BigInt(n),
    trade: {
      pool: POOL,
      provider: MAKER,
      taker: TAKER,
      price: BigInt(1 + (n % 7)),
      fee: 1n,
      isBuy: n % 2 === 0,
      time: FIRST_TIME + n,
    },
    origin,
    position: { chain: 'settlement', blockNumber: n, blockHash: blockHashOf(n), logIndex: 0 },
  };
}

t.test('a gateway from a young snapshot answers as one that has read the whole log', async (t) => {
  const { servers, store, at, bytes, epoch } = await streamWithSnapshot(t, 300, { recordOf: tradeOf });
  const connect = (member: string) => connectTo(t, servers, { member, deployment: 'test', unsafe: true, monitors: [] });
  const keys = await KeyStore.open({
    files: await ClusterKeyFiles.open(await connect('admin')),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  t.teardown(() => keys.close());
  const { key } = await keys.create('paid', 'test', ['operator']);
  const open = async (member: string): Promise<(path: string) => Promise<unknown>> => {
    const gateway = await startGateway({
      settings: settingsOf({}, ''),
      profile: profileAtOnce,
      rpc: { settlement: rpcOfNobody, stream: rpcOfNobody },
      limits: { ...limits, ...CLUSTER_LIMITS, recentEvents: 90, eventsPerPage: 50 },
      logger: pino({ level: 'silent' }),
      metrics: null,
      cluster: await connect(member),
      version: 'test',
      page: { files: [], localKey: null },
      spareDescriptors,
      onFault: (error) => void t.error(error),
    });
    t.teardown(() => gateway.stop());
    const get = async (path: string): Promise<unknown> => {
      const url = `http://127.0.0.1:${gateway.service.port}${path}`;
      const response = await fetch(url, { headers: { 'x-apikey': key } });
      return { status: response.status, body: await response.json() };
    };
    const { chainId } = profileAtOnce.settlement;
    await until(async () => ((await get(`/trades?chainId=${chainId}`)) as { status: number }).status === 200);
    return get;
  };
  const whole = await open('gateway-1');
  await store.put(epoch, at, bytes, 2);
  const young = await open('gateway-2');
  const { chainId } = profileAtOnce.settlement;
  for (const [path, most] of [
    [`/events?chainId=${chainId}&channel=TRADES&fromSeq=20`, 50],
    [`/events?chainId=${chainId}&channel=TRADES&fromSeq=250`, 50],
    [`/trades?chainId=${chainId}&limit=100`, 100],
    [`/candles?chainId=${chainId}&poolAddress=${POOL.poolAddress}&interval=1m`, 5],
  ] as const) {
    const answer = await young(path);
    t.strictSame(answer, await whole(path), path);
    const [list] = Object.values((answer as { body: Record<string, unknown> }).body).filter(Array.isArray);
    t.ok((list?.length ?? 0) >= Math.min(most, 5), `with ${list?.length} entries`);
  }
});
