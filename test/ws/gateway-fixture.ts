import type { KeyHolder } from '../../src/auth/key-store.js';
import { type Privacy, TakerAccess } from '../../src/auth/taker-access.js';
import { arbitrum } from '../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../src/chain/options/option-series.js';
import type { Rfq } from '../../src/engine/command.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Feed } from '../../src/feed/feed.js';
import type { Publish } from '../../src/feed/topics.js';
import { TopicIndex } from '../../src/feed/topic-index.js';
import { TurnBudget } from '../../src/system/turn-budget.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { ReadableJson } from '../../src/wire/readable.js';
import { Gateway } from '../../src/ws/gateway.js';
import type { CarryOutCall, RfqPorts, SocketLimits } from '../../src/ws/ports.js';
import { PlainPublisher, plainForm, readableForm } from '../../src/ws/publisher.js';
import { ManualClock } from '../system/manual-clock.js';
import { FakeNet, type FakeSocket } from './fake-net.js';

export const chainId = '421613';
export const goodKey = 'good-key';
export const otherKey = 'other-key';
/** More than the tests of anything else send. */
const MAX_STRIKES = 1_000;

function holder(id: string): KeyHolder {
  return { id, tier: 'free' };
}

export const quoteJson = new QuoteJson(chainId, 100);
const series = new OptionSeries(arbitrum);
/** Its engine time is that of the sample quotes. */
export const readableJson = new ReadableJson({
  optionOf: (poolKey) => series.optionOf(poolKey),
  nowSeconds: () => 1_700_000_000,
});

/** Small numbers, so that tests reach them. */
export const socketLimits: SocketLimits = {
  wsAuthDeadlineMs: 60_000,
  wsBadMessages: 100,
  wsBadMessageWindowMs: 10_000,
  wsSubscribes: 200,
  wsSubscribeWindowMs: 10_000,
  wsWaitingRfqs: 4,
  wsWaitingCalls: 3,
  wsRfqLookupMs: 5_000,
  wsConnections: 1_000,
  wsConnectionsPerAddress: 1_000,
  wsSlowBytes: 10_000,
  wsCatchUpMs: 50,
  logBusyMs: 500,
  wsHeartbeatMs: 5_000,
  wsBookLevels: 6,
  wsSnapshotQuotes: 20,
  wsSnapshotPageQuotes: 3,
  wsSnapshotPageTickers: 2,
  wsReplayEvents: 4,
  wsWaitingFilters: 4,
};

const nothingRead = { block: null, lateMs: null, stale: 'no block has been read yet', readTo: null };

/** A gateway and a publisher between a network without wires and a log without a disk. */
export class GatewayFixture {
  readonly clock = new ManualClock();
  readonly topics = new TopicIndex(chainId);
  readonly readableTopics = new TopicIndex(chainId, 'readable ');
  readonly keys = new Map([
    [goodKey, holder('key-1')],
    [otherKey, holder('key-2')],
  ]);
  /** Tests reach them by lowering them; messages are refused once there are none left. */
  readonly quotas = { connections: 1_000, channels: 1_000, messages: Infinity, rfqs: Infinity, waitMs: 1_000 };
  readonly refused: string[] = [];
  /** Unknown keys that were sent. */
  strikes = 0;
  /** RFQs that reached the log, oldest first. */
  readonly log: Rfq[] = [];
  readonly faults: unknown[] = [];
  /** Those that the readable form knows by their address. */
  readonly pools = new Map<Hex, Pool>();
  readonly gateway: Gateway;
  readonly net: FakeNet;
  /** Where messages go; a test with a real server puts that in its place. */
  publish: Publish;
  readonly #publishers: readonly PlainPublisher[];
  #seq = 0;

  /** Carries out what sockets call; a test puts its own in place. */
  carryOutCall: CarryOutCall = () => Promise.reject(new Error('there are no calls here'));

  constructor(
    rfqs: Partial<RfqPorts> = {},
    limits: Partial<SocketLimits> = {},
    corsOrigins = ['*'],
    privacy: Privacy = 'open',
  ) {
    const feed = new Feed({
      chainId,
      epoch: '00000000000000e1',
      start: { index: 0, seq: 0, tsMs: 0, orders: [], pools: [] },
      older: null,
      quoteJson,
      keccak256: () => new Uint8Array(32),
      publish: (...message) => this.publish(...message),
      limits: {
        recentEvents: 100,
        changedLevels: 100,
        coverLegs: 20,
        coverTopics: 100,
        recentFills: 100,
        tradesKept: 100,
        unreadEvents: 3,
        writtenQuotes: 100,
        sharedSnapshotBytes: 1 << 20,
        rowsPerSlice: 100,
      },
    });
    this.gateway = new Gateway({
      chainId,
      takers: new TakerAccess(privacy, () => null),
      topics: { plain: this.topics, readable: this.readableTopics },
      feed,
      chains: () => ({ settlement: nothingRead, stream: nothingRead }),
      keys: {
        verify: (apiKey) => this.keys.get(apiKey) ?? (apiKey === '' ? 'MISSING' : 'NOT_FOUND'),
        strike: () => (++this.strikes > MAX_STRIKES ? 60_000 : 0),
      },
      quotas: {
        of: () => this.quotas,
        charge: () => undefined,
        debtMs: () => 0,
        takeMessage: () => (--this.quotas.messages < 0 ? this.quotas.waitMs : 0),
        takeRfqs: (_, count) => ((this.quotas.rfqs -= count) < 0 ? this.quotas.waitMs : 0),
        refused: (quota, tier) => this.refused.push(`${quota} ${tier}`),
      },
      turns: new TurnBudget(this.clock, 1_000),
      poolNamed: () => null,
      carryOutCall: (...call) => this.carryOutCall(...call),
      rfqs: { poolAddressOf: async () => poolAddress, publish: async (rfq) => this.commit(rfq), ...rfqs },
      clock: this.clock,
      corsOrigins,
      limits: { ...socketLimits, ...limits },
      onFault: (fault) => this.faults.push(fault),
    });
    this.net = new FakeNet(this.gateway);
    this.publish = (...message) => this.net.publish(...message);
    const publish: Publish = (...message) => this.publish(...message);
    this.#publishers = [
      new PlainPublisher(this.topics, plainForm(quoteJson), publish),
      new PlainPublisher(
        this.readableTopics,
        readableForm(readableJson, (pool) => this.pools.get(pool)),
        publish,
      ),
    ];
  }

  /** Does what the sequencer does with an RFQ: makes it durable, publishes it, acknowledges it. */
  commit(rfq: Rfq): 'OK' {
    this.log.push(rfq);
    this.tell({ type: 'RFQ_PUBLISHED', seq: ++this.#seq, cause: null, rfq });
    return 'OK';
  }

  tell(...events: readonly EngineEvent[]): void {
    for (const publisher of this.#publishers) publisher.onEvents(events);
  }

  /** A socket that has said who it is. */
  authorized(apiKey = goodKey, protocol?: string): FakeSocket {
    const socket = this.net.open(protocol);
    socket.says({ type: 'AUTH', apiKey, body: null });
    socket.take();
    return socket;
  }

  /** A socket with a filter. */
  subscribed(channel: 'QUOTES' | 'RFQ', body: object = {}, protocol?: string): FakeSocket {
    const socket = this.authorized(goodKey, protocol);
    socket.says({ type: 'FILTER', channel, body: { chainId, ...body } });
    socket.take();
    return socket;
  }
}

export function address(n: number): Hex {
  return `0x${n.toString(16).padStart(40, '0')}`;
}

export const poolAddress = address(0xa1);

/** Lets every promise that can settle do so. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
