import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import type { Command } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { OrderbookQuote } from '../../src/wire/orderbook.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { FeedClient, type Subprotocol } from '../e2e/feed-client.js';
import { CommandMaker, type Step, steps } from '../engine/random-commands.js';
import { quoteIdOf, START } from '../engine/samples.js';
import { type Backend, eachBackend, serve } from '../net/serving.js';
import { goodKey } from '../ws/gateway-fixture.js';
import { FeedFixture, filter } from './feed-fixture.js';
import { ModelReader, quotesHash } from './model-reader.js';
import { ownHash, quotesBody, trueHash, type Wish, wish } from './wishes.js';

const READERS = 200;
const PLAIN = 40;
/** Drawn for one run and played one after the other, each with quotes of its own. */
const SCRIPTS = 8;
/** A maturity beyond all that is played, Unix seconds. */
const FAR = START + 1_000_000;
/** Readers that come and go between two writes, on average. */
const CHANGES_PER_STEP = 0.5;

/** A reader of the feed: it may be away for a while, and then goes on where it was. */
class Reader {
  readonly reader = new ModelReader();
  client: FeedClient | null = null;
  #coming: Promise<void> | null = null;

  constructor(
    readonly wish: Wish,
    private readonly protocol: Subprotocol,
    private readonly wsUrl: string,
  ) {}

  come(): void {
    if (this.client !== null || this.#coming !== null) return;
    this.#coming = this.#connect();
  }

  leave(): void {
    this.client?.break();
    this.client = null;
  }

  /** Rejects after a wrong message. */
  async here(): Promise<FeedClient> {
    this.come();
    await this.#coming;
    if (this.client === null) throw new Error('it has just come');
    return this.client;
  }

  async #connect(): Promise<void> {
    const client = await FeedClient.open(this.wsUrl, goodKey, this.protocol, this.reader);
    client.follow(this.wish.channel, this.wish.body, this.reader.canResume);
    this.client = client;
    this.#coming = null;
  }
}

/** A client of the plain protocol, there from the first event on: puts its book together from nothing. */
class PlainReader {
  readonly quotes = new Map<string, OrderbookQuote>();
  fault: Error | null = null;
  #isReady: () => void = () => undefined;
  readonly ready = new Promise<void>((resolve) => (this.#isReady = resolve));

  constructor(
    readonly body: object,
    private readonly ws: WebSocket,
  ) {
    ws.on('message', (data: Buffer, isBinary: boolean) => {
      try {
        if (isBinary) throw new Error('a binary frame');
        this.#take(JSON.parse(data.toString()) as { type: string; body: OrderbookQuote; message?: string });
      } catch (fault) {
        this.fault ??= fault as Error;
      }
    });
  }

  static async open(wsUrl: string, body: object): Promise<PlainReader> {
    const ws = new WebSocket(wsUrl);
    const reader = new PlainReader(body, ws);
    await once(ws, 'open');
    ws.send(JSON.stringify({ type: 'AUTH', apiKey: goodKey, body: null }));
    ws.send(JSON.stringify(filter('QUOTES', body)));
    await reader.ready;
    return reader;
  }

  /** Everything that was sent by now has come. */
  async settled(): Promise<void> {
    this.ws.ping();
    await once(this.ws, 'pong');
    if (this.fault !== null) throw this.fault;
  }

  #take(frame: { readonly type: string; readonly body: OrderbookQuote; readonly message?: string }): void {
    assertDocumentedFrame(frame, 'plain');
    const { type, body } = frame;
    if (frame.message?.startsWith('Subscribed') === true) this.#isReady();
    if (type === 'POST_QUOTE') this.quotes.set(body.quoteId, body);
    else if (type === 'FILL_QUOTE') {
      // A withdrawn quote can still be filled: it is no longer shown.
      if (this.quotes.has(body.quoteId)) this.quotes.set(body.quoteId, body);
    } else if (type === 'DELETE_QUOTE') this.quotes.delete(body.quoteId);
    else if (type !== 'INFO') throw new Error(`${type} on a plain connection`);
  }
}

interface Script {
  readonly scripts: readonly (readonly Step[])[];
  readonly wishes: readonly Wish[];
  readonly plain: readonly object[];
  /** Which reader comes or goes, by turns. */
  readonly changes: readonly number[];
}

const script: fc.Arbitrary<Script> = fc.record({
  scripts: fc.array(steps, { minLength: SCRIPTS, maxLength: SCRIPTS }),
  wishes: fc.array(wish, { minLength: READERS, maxLength: READERS }),
  plain: fc.array(quotesBody, { minLength: PLAIN, maxLength: PLAIN }),
  changes: fc.array(fc.nat(READERS - 1), { minLength: 400, maxLength: 400 }),
});

/** Commands as they are drawn, but about quotes that no script before had, and that live from now on. */
class FreshCommands {
  readonly #maker = new CommandMaker();

  make(script: number, step: Exclude<Step, { kind: 'restart' }>, engine: Engine, nowMs: number): Command {
    const command = this.#maker.make(step, engine);
    const n = script * 100 + ('n' in step ? step.n : 0);
    if (command.type === 'ENTER_QUOTE') {
      const { pool, deadline } = command.quote;
      const lasts = { ...pool, poolKey: { ...pool.poolKey, maturity: FAR } };
      const until = deadline - START + Math.floor(nowMs / 1_000);
      return { ...command, quote: { ...command.quote, quoteId: quoteIdOf(n), pool: lasts, deadline: until } };
    }
    return 'quoteId' in command ? { ...command, quoteId: quoteIdOf(n) } : command;
  }
}

async function play(t: Test, backend: Backend, { scripts, wishes, plain, changes }: Script): Promise<void> {
  const fixture = new FeedFixture({ limits: { recentEvents: 60, changedLevels: 2 } });
  const { server, wsUrl } = await serve(t, backend, { sockets: fixture.gateway });
  fixture.publish = (...message) => server.publish(...message);
  const commands = new FreshCommands();
  const plainReaders = await Promise.all(plain.map((body) => PlainReader.open(wsUrl, body)));
  const readers = wishes.map(
    (each, i) => new Reader(each, i % 2 === 0 ? 'quotebook.v2.json' : 'quotebook.v2.msgpack', wsUrl),
  );
  for (const reader of readers.slice(0, READERS / 2)) reader.come();

  let changed = 0;
  const played = scripts.flatMap((steps, script) => steps.map((step) => ({ script, step })));
  for (const [place, { script, step }] of played.entries()) {
    if (step.kind === 'restart' || step.kind === 'rfq') continue;
    if (step.kind === 'pass') fixture.clock.advance(step.ms);
    fixture.submit(commands.make(script, step, fixture.engine, fixture.time.nowMs()));
    if (place % 3 === 0) fixture.commit(fixture.engine.index - (place % 2));
    for (; changed < place * CHANGES_PER_STEP; changed++) {
      const reader = readers[changes[changed % changes.length] ?? 0];
      if (reader?.client == null) reader?.come();
      else reader.leave();
    }
    fixture.clock.advance(100);
    await turn();
  }
  fixture.commit();

  const clients = await Promise.all(readers.map((reader) => reader.here()));
  const isThere = async (client: FeedClient): Promise<void> => {
    // The first heartbeat after it has everything tells the hash of that book.
    await client.until(() => client.reader.canResume && client.reader.seq === fixture.feed.seq);
    const beats = client.reader.heartbeats;
    await client.until(() => client.reader.heartbeats > beats);
  };
  const progress = { isOver: false };
  const all = Promise.all(clients.map(isThere)).finally(() => (progress.isOver = true));
  while (!progress.isOver) {
    fixture.clock.advance(1_000);
    await turn();
  }
  await all;
  for (const { reader, wish: followed } of readers) {
    if (ownHash(reader, followed) !== trueHash(fixture.engine, followed)) {
      throw new Error(`${JSON.stringify(followed)}: another book than the server's`);
    }
  }
  for (const plainReader of plainReaders) {
    await plainReader.settled();
    const own = quotesHash(plainReader.quotes.values());
    if (own !== trueHash(fixture.engine, { channel: 'QUOTES', body: plainReader.body })) {
      throw new Error(`${JSON.stringify(plainReader.body)}: a plain reader has another book than the server's`);
    }
  }
  if (fixture.faults.length > 0) throw new AggregateError(fixture.faults);
  const came = (type: string) => readers.reduce((sum, { reader }) => sum + (reader.counts.get(type) ?? 0), 0);
  t.comment(
    `${fixture.feed.seq} events; heartbeats with the right hashes: ${came('HEARTBEAT')}; RESYNC: ${came('RESYNC')}`,
  );
  for (const reader of readers) reader.leave();
}

eachBackend(t, async (t, backend) => {
  t.test(`${READERS} readers come and go among ${PLAIN} plain ones while quotes are written`, async (t) => {
    await fc.assert(
      fc.asyncProperty(script, (drawn) => play(t, backend, drawn)),
      {
        numRuns: 1,
        endOnFailure: true,
        // A counterexample of this size tells nobody anything; its seed draws it again.
        reporter({ failed, seed, errorInstance }) {
          if (failed) throw new Error(`failed with seed ${seed}`, { cause: errorInstance });
        },
      },
    );
  });
});
