import fc from 'fast-check';
import t from 'tap';
import { Engine } from '../../src/engine/engine.js';
import { CommandMaker, steps, type Step } from '../engine/random-commands.js';
import { REORG_DEPTH, sha256 } from '../engine/samples.js';
import type { FakeSocket } from '../ws/fake-net.js';
import { FeedFixture, filter, JSON_V2, MSGPACK_V2, takeMessages } from './feed-fixture.js';
import { ModelReader } from './model-reader.js';
import { ownHash, trueHash, wish, type Wish } from './wishes.js';

type Act =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'commit'; readonly share: number }
  | { readonly kind: 'join'; readonly wish: Wish; readonly isBinary: boolean }
  | { readonly kind: 'leave'; readonly n: number }
  | { readonly kind: 'change'; readonly n: number; readonly wish: Wish }
  | { readonly kind: 'reconnect'; readonly n: number }
  | { readonly kind: 'drop'; readonly n: number }
  | { readonly kind: 'slow'; readonly n: number; readonly unread: number };

const n = fc.nat(400);
const others: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('commit' as const), share: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('join' as const), wish, isBinary: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), n }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('change' as const), n, wish }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('reconnect' as const), n }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('drop' as const), n }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('slow' as const), n, unread: fc.constantFrom(0, 6_000, 20_000) }),
  },
);
/** What happens to the engine, with what readers and the log do mixed in. */
const acts: fc.Arbitrary<Act[]> = fc
  .tuple(steps, fc.array(fc.tuple(others, fc.nat(79)), { minLength: 20, maxLength: 120, size: 'max' }))
  .map(([ofEngine, rest]) => [
    ...ofEngine.flatMap((step, place): Act[] => [
      { kind: 'step', step },
      ...rest.filter(([, after]) => after === place).map(([act]) => act),
    ]),
    ...rest.filter(([, after]) => after >= ofEngine.length).map(([act]) => act),
  ]);

interface Client {
  readonly protocol: string;
  readonly reader: ModelReader;
  wish: Wish;
  /** Null while it is disconnected. */
  socket: FakeSocket | null;
}

/**
 * The server, its readers, and an engine that is given just what was committed: the truth that they are held against.
 */
class World {
  readonly fixture = new FeedFixture({ limits: { wsSlowBytes: 10_000, recentEvents: 40, changedLevels: 0 } });
  readonly committed = new Engine({ reorgDepth: REORG_DEPTH, sha256 });
  readonly clients: Client[] = [];
  readonly #commands = new CommandMaker();
  #replayed = 0;

  act(act: Act): void {
    const { fixture, clients } = this;
    switch (act.kind) {
      case 'step': {
        if (act.step.kind === 'restart') return;
        if (act.step.kind === 'pass') fixture.clock.advance(act.step.ms);
        fixture.submit(this.#commands.make(act.step, fixture.engine));
        return;
      }
      case 'commit':
        return this.commit(Math.floor((fixture.engine.index * (act.share + 1)) / 4));
      case 'join': {
        const protocol = act.isBinary ? MSGPACK_V2 : JSON_V2;
        const client: Client = { protocol, reader: new ModelReader(), wish: act.wish, socket: null };
        this.connect(client, false);
        clients.push(client);
        return;
      }
      case 'leave': {
        const [client] = clients.splice(act.n % Math.max(1, clients.length), 1);
        if (client?.socket) fixture.net.drop(client.socket);
        return;
      }
      default: {
        const client = clients[act.n % Math.max(1, clients.length)];
        if (client !== undefined) this.#actOn(client, act);
      }
    }
  }

  #actOn(client: Client, act: Extract<Act, { kind: 'change' | 'drop' | 'reconnect' | 'slow' }>): void {
    const { fixture } = this;
    if (act.kind === 'drop' && client.socket !== null) {
      client.reader.take(takeMessages(client.socket));
      fixture.net.drop(client.socket);
      client.socket = null;
    } else if (act.kind === 'reconnect' && client.socket === null) this.connect(client, true);
    else if (act.kind === 'slow' && client.socket !== null) client.socket.unreadBytes = act.unread;
    else if (act.kind === 'change' && client.socket !== null && act.wish.channel === client.wish.channel) {
      client.reader.take(takeMessages(client.socket));
      client.wish = act.wish;
      client.reader.quotes.clear();
      client.reader.isResuming = false;
      client.socket.says(this.#filterOf(client));
    }
  }

  commit(index: number): void {
    const { fixture, committed } = this;
    if (index <= this.#replayed) return;
    fixture.commit(index);
    for (const { command, stamp } of fixture.committed.slice(this.#replayed)) committed.apply(command, stamp);
    this.#replayed = index;
  }

  connect(client: Client, resumes: boolean): void {
    client.socket = this.fixture.authorized(client.protocol);
    client.reader.connected();
    client.reader.isResuming = resumes && client.reader.canResume;
    client.socket.says(this.#filterOf(client));
  }

  /** Everyone reads, the slow ones catch up; then each book is the server's. */
  check(): void {
    const { fixture } = this;
    for (const client of this.clients) {
      if (client.socket === null) this.connect(client, true);
      if (client.socket !== null) client.socket.unreadBytes = 0;
    }
    fixture.clock.advance(6_000);
    for (const { reader, socket, wish } of this.clients) {
      if (socket === null) continue;
      reader.take(takeMessages(socket));
      if (socket.closed) throw new Error(`closed: ${JSON.stringify(socket.closedWith)}`);
      if (reader.heartbeats === 0) throw new Error('no heartbeat came');
      if (reader.seq !== this.committed.seq) throw new Error(`at ${reader.seq} of ${this.committed.seq}`);
      if (ownHash(reader, wish) !== trueHash(this.committed, wish))
        throw new Error(`${JSON.stringify(wish)}: another book than the server's`);
    }
  }

  #filterOf({ wish, reader }: Client): unknown {
    const start = reader.isResuming ? { epoch: reader.epoch, fromSeq: reader.seq } : {};
    const snapshot = wish.channel === 'QUOTES' ? { snapshot: true } : {};
    return filter(wish.channel, { ...wish.body, ...start, ...snapshot });
  }
}

t.test('readers who come, go, change their minds and stall have the server’s book, by hash', async (t) => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(acts, (script) => {
      const world = new World();
      for (const act of script) world.act(act);
      world.commit(world.fixture.engine.index);
      world.check();
      if (world.fixture.faults.length > 0) throw new Error('a port failed');
      for (const { reader } of world.clients) {
        for (const [type, count] of reader.counts) seen.set(type, (seen.get(type) ?? 0) + count);
      }
    }),
    { numRuns: 1000, endOnFailure: true },
  );
  for (const type of [
    'RESYNC',
    'QUOTES_SNAPSHOT',
    'ORDERBOOK_UPDATE',
    'UNDO_QUOTE',
    'REVALIDATE_QUOTE',
    'EXPIRE_QUOTE',
    'WITHDRAW_QUOTE',
    'RESTORE_QUOTE',
  ]) {
    t.ok((seen.get(type) ?? 0) > 0, `${type} came up`);
  }
});

t.test('three hundred readers with random filters beside each other', { timeout: 120_000 }, async () => {
  fc.assert(
    fc.property(acts, fc.array(fc.tuple(wish, fc.boolean()), { minLength: 300, maxLength: 300 }), (script, wishes) => {
      const world = new World();
      const joins = wishes.map(([each, isBinary]): Act => ({ kind: 'join', wish: each, isBinary }));
      const pace = Math.ceil(joins.length / Math.max(1, script.length));
      for (const act of script) [...joins.splice(0, pace), act].forEach((each) => world.act(each));
      joins.forEach((each) => world.act(each));
      world.commit(world.fixture.engine.index);
      world.check();
    }),
    { numRuns: 5, endOnFailure: true },
  );
});
