import { TakerAccess } from '../../src/auth/taker-access.js';
import type { Command } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { JournalRecord } from '../../src/engine/ports.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import type { HashFunction } from '../../src/feed/book-hash.js';
import type { EventHistory } from '../../src/feed/event-history.js';
import { Feed, type FeedLimits } from '../../src/feed/feed.js';
import type { Publish } from '../../src/feed/topics.js';
import { TopicIndex } from '../../src/feed/topic-index.js';
import { TurnBudget } from '../../src/system/turn-budget.js';
import type { Heartbeat, ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { Gateway } from '../../src/ws/gateway.js';
import type { SocketLimits } from '../../src/ws/ports.js';
import { PlainPublisher, plainForm } from '../../src/ws/publisher.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { ManualJournal } from '../engine/manual-journal.js';
import { newEngine, START } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import { FakeNet, type FakeSocket } from '../ws/fake-net.js';
import { goodKey, socketLimits } from '../ws/gateway-fixture.js';
import { decodeMessage } from './decode-message.js';
import { keccak256 } from './keccak.js';

export const chainId = '421613';
export const epoch = '00000000000000e1';
export const JSON_V2 = 'quotebook.v2.json';
export const MSGPACK_V2 = 'quotebook.v2.msgpack';

export const chains: Heartbeat['chains'] = {
  settlement: {
    block: { blockNumber: 7, blockHash: `0x${'5e'.repeat(32)}`, timestamp: START },
    lateMs: 250,
    stale: null,
    readTo: 7,
  },
  stream: { block: null, lateMs: null, stale: 'stream: no block has been read yet', readTo: null },
};

export interface FeedFixtureOptions {
  readonly engine?: Engine;
  readonly epoch?: string;
  readonly older?: EventHistory | null;
  readonly limits?: Partial<FeedLimits & SocketLimits>;
  /** How many one key may have. */
  readonly connections?: number;
  /** Slices of all readers between two turns of the event loop. */
  readonly slicesPerTurn?: number;
  /** Another than the tests' own, which takes its time. */
  readonly keccak256?: HashFunction;
}

/** The engine, the sequencer, the feed and the gateway, between a log and a network that tests hold in their hands. */
export class FeedFixture {
  readonly clock = new ManualClock(START * 1000);
  readonly journal = new ManualJournal();
  readonly engine: Engine;
  readonly time: EngineTime;
  readonly sequencer: Sequencer;
  readonly feed: Feed;
  readonly gateway: Gateway;
  readonly net: FakeNet;
  /** Where messages go; a test with a real server puts that in its place. */
  publish: Publish;
  readonly faults: unknown[] = [];
  /** What the key was charged for, oldest first, and how long it waits until it has paid. */
  readonly charged: { readonly rows: number; readonly bytes: number }[] = [];
  debtMs = 0;
  /** Everything that was committed, oldest first. */
  readonly committed: JournalRecord[] = [];

  constructor({
    engine = newEngine(),
    older = null,
    limits = {},
    connections = 1_000,
    ...options
  }: FeedFixtureOptions = {}) {
    const { clock, journal } = this;
    this.engine = engine;
    this.time = new EngineTime(clock, Math.max(engine.tsMs, START * 1000));
    this.time.observe(START);
    const onFault = (fault: unknown) => {
      throw fault;
    };
    this.sequencer = new Sequencer({ engine, journal, time: this.time, expiredAtOnce: Infinity, onFault });
    const quoteJson = new QuoteJson(chainId, 100);
    this.feed = new Feed({
      chainId,
      epoch: options.epoch ?? epoch,
      start: {
        index: engine.index,
        seq: engine.seq,
        tsMs: engine.tsMs,
        orders: engine.known(),
        pools: [...engine.pools()].map(({ pool }) => pool),
      },
      older,
      quoteJson,
      keccak256: options.keccak256 ?? keccak256,
      publish: (topic, message, isBinary) => {
        this.publish(topic, message, isBinary);
        this.gateway.published(message.length);
      },
      limits: {
        recentEvents: 10_000,
        changedLevels: 100,
        coverLegs: 20,
        coverTopics: 100,
        recentFills: 100,
        tradesKept: 1_000,
        unreadEvents: 3,
        writtenQuotes: 100,
        sharedSnapshotBytes: 1 << 20,
        rowsPerSlice: 2,
        ...limits,
      },
    });
    const topics = new TopicIndex(chainId);
    this.gateway = new Gateway({
      takers: new TakerAccess('open', () => null),
      chainId,
      topics: { plain: topics, readable: new TopicIndex(chainId, 'readable ') },
      feed: this.feed,
      chains: () => chains,
      poolNamed: () => null,
      carryOutCall: () => Promise.reject(new Error('there are no calls here')),
      keys: { verify: (apiKey) => (apiKey === goodKey ? { id: 'key-1', tier: 'paid' } : 'NOT_FOUND'), strike: () => 0 },
      quotas: {
        of: () => ({ connections, channels: connections }),
        takeMessage: () => 0,
        takeRfqs: () => 0,
        charge: (_, rows, bytes) => this.charged.push({ rows, bytes }),
        debtMs: () => this.debtMs,
        refused: () => undefined,
      },
      turns: new TurnBudget(clock, options.slicesPerTurn ?? 1_000),
      rfqs: { poolAddressOf: async () => 'UNAVAILABLE', publish: async () => 'BUSY' },
      clock,
      corsOrigins: ['*'],
      limits: { ...socketLimits, wsBookLevels: 1_000, wsSnapshotQuotes: 1_000, ...limits },
      onFault: (fault) => this.faults.push(fault),
    });
    this.net = new FakeNet(this.gateway);
    this.publish = (...message) => this.net.publish(...message);
    const publisher = new PlainPublisher(topics, plainForm(quoteJson), (...message) => this.publish(...message));
    this.sequencer.onEvents((records) => this.committed.push(...records));
    this.sequencer.onEvents((records) => publisher.onEvents(records.flatMap(({ events }) => events)));
    this.sequencer.onEvents((records) => this.feed.onRecords(records));
  }

  submit(...commands: readonly Command[]): void {
    for (const command of commands) this.sequencer.submit(command);
  }

  /** Makes everything submitted durable, and so told. */
  commit(index = this.engine.index): void {
    this.journal.commit(index);
  }

  do(...commands: readonly Command[]): void {
    this.submit(...commands);
    this.commit();
  }

  /** A socket that has said who it is. */
  authorized(protocol = JSON_V2): FakeSocket {
    const socket = this.net.open(protocol);
    socket.says({ type: 'AUTH', apiKey: goodKey, body: null });
    takeMessages(socket);
    return socket;
  }
}

/** Takes the messages that a socket received since the last call, parsed from JSON. */
export function takeMessages(socket: FakeSocket): ServerMessageV2[] {
  const texts = socket.received.splice(0).map((text) => JSON.parse(text) as ServerMessageV2);
  const binaries = socket.receivedBinary.splice(0).map((bytes) => decodeMessage(bytes));
  const messages = [...texts, ...binaries];
  for (const message of messages) assertDocumentedFrame(message, socket.protocol === '' ? 'plain' : 'v2');
  return messages;
}

export function filter(channel: string, body: object = {}) {
  return { type: 'FILTER', channel, body: { chainId, ...body } };
}
