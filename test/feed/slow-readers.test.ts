import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { QuoteDigest } from '../../src/auth/quote-signature.js';
import type { Command } from '../../src/engine/command.js';
import type { NetSocket } from '../../src/net/net.js';
import { FeedClient } from '../e2e/feed-client.js';
import { at, enter, POOL, quoteIdOf, sampleQuote, START } from '../engine/samples.js';
import { type Backend, eachBackend, serve } from '../net/serving.js';
import { goodKey } from '../ws/gateway-fixture.js';
import { FeedFixture } from './feed-fixture.js';
import { ModelReader } from './model-reader.js';

const QUOTES = 200;
/** As long as real ones. */
const PRICE = 10n ** 17n;
const SIZE = 10n ** 24n;
const SLOW_BYTES = 32 << 10;
const BUDGET_BYTES = 128 << 10;
/** The kernel takes some megabytes for a peer that does not read, before anything waits in our memory. */
const MOST_COMMITS = 2_000;

/** The feed on real connections, with as much happening as a test asks for. */
class Market {
  /** The server's ends, in the order in which they were opened. */
  readonly sockets: NetSocket[] = [];
  mostBuffered = 0;
  #wsUrl = '';
  #commits = 0;

  private constructor(readonly fixture: FeedFixture) {}

  static async open(t: Test, backend: Backend): Promise<Market> {
    const digests = new QuoteDigest(421_613, 1);
    const fixture = new FeedFixture({
      keccak256: (bytes) => digests.keccak256(bytes),
      limits: { wsSlowBytes: SLOW_BYTES, recentEvents: 1_000_000, changedLevels: 2 * QUOTES },
    });
    const market = new Market(fixture);
    const { gateway } = fixture;
    const { server, wsUrl } = await serve(t, backend, {
      sockets: {
        upgrade: (request) => gateway.upgrade(request),
        open(socket) {
          market.sockets.push(socket);
          gateway.open(socket);
        },
        message: (socket, data, isBinary) => gateway.message(socket, data, isBinary),
        close: (socket) => gateway.close(socket),
        overBudgetReason: (socket) => gateway.overBudgetReason(socket),
      },
      limits: { wsBufferedBytes: BUDGET_BYTES, drainMs: 60_000 },
    });
    fixture.publish = (...message) => server.publish(...message);
    market.#wsUrl = wsUrl;
    fixture.do({ type: 'ADVANCE_POSITION', position: at('settlement', 50) });
    for (let n = 0; n < QUOTES; n++) {
      const about = { n, price: PRICE + BigInt(n), size: 2n * SIZE, deadline: START + 1_000_000 };
      fixture.do(enter(sampleQuote(about), {}, 60));
    }
    return market;
  }

  async reader(channel: 'QUOTES' | 'ORDERBOOK', known?: ModelReader): Promise<FeedClient> {
    const client = await FeedClient.open(this.#wsUrl, goodKey, 'quotebook.v2.json', known);
    client.follow(channel, { poolAddress: POOL.poolAddress }, known?.canResume ?? false);
    while (!client.reader.canResume) await this.#turn();
    return client;
  }

  /** One commit in which every quote changes, read by all of `fast`. */
  async change(fast: readonly FeedClient[]): Promise<void> {
    if (++this.#commits > MOST_COMMITS) throw new Error('many events were published, and no reader is slow');
    const state = { fillableSize: SIZE + BigInt(this.#commits), reason: null };
    const restated = Array.from({ length: QUOTES }, (_, n) => ({ quoteId: quoteIdOf(n), state }));
    const command: Command = {
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 50),
      settlementBlock: 60,
      restated,
    };
    this.fixture.do(command);
    await this.#turn();
    await this.arrive(fast);
  }

  /** All of them have everything. */
  async arrive(readers: readonly FeedClient[]): Promise<void> {
    while (readers.some(({ reader }) => reader.seq < this.fixture.feed.seq)) {
      for (const client of readers) client.check();
      await this.#turn();
    }
  }

  /** More than it may, and not just because the connection has not had its turn yet. */
  async leavesUnread(socket: NetSocket): Promise<boolean> {
    for (let turns = 0; turns < 5; turns++) {
      if (socket.bufferedBytes() <= SLOW_BYTES) return false;
      await this.#turn();
    }
    return true;
  }

  /** Time goes on until `promise` is settled. */
  async while<T>(promise: Promise<T>): Promise<T> {
    const progress = { isOver: false };
    const over = promise.finally(() => (progress.isOver = true));
    over.catch(() => undefined);
    while (!progress.isOver) await this.#turn();
    return over;
  }

  async #turn(): Promise<void> {
    this.fixture.clock.advance(100);
    this.mostBuffered = Math.max(this.mostBuffered, ...this.sockets.map((socket) => socket.bufferedBytes()));
    await turn();
  }
}

eachBackend(t, (t, backend) => {
  t.test('who stops reading is closed with the number to go on from, beside others who miss nothing', async (t) => {
    const market = await Market.open(t, backend);
    const fast = [await market.reader('QUOTES'), await market.reader('ORDERBOOK')];
    const stopped = [await market.reader('QUOTES'), await market.reader('QUOTES')];
    for (const client of stopped) client.stopReading();
    const theirEnds = market.sockets.slice(-stopped.length);
    while (theirEnds.some(({ closed }) => !closed)) await market.change(fast);
    for (let more = 0; more < 3; more++) await market.change(fast);

    // Looked at each quarter of it, it is exceeded by no more than that and one tick's messages.
    t.ok(market.mostBuffered < 2 * BUDGET_BYTES + QUOTES * 1_000, `${market.mostBuffered} bytes waited at most`);
    for (const { messages } of fast) {
      t.notOk(messages.some(({ type }) => type === 'RESYNC'));
    }
    const { seq } = market.fixture.feed;
    for (const client of stopped) {
      client.readOn();
      const { code, reason } = await market.while(client.ended);
      t.equal(code, 1013);
      const [, number = ''] = /^Too slow, resume from seq (\d+)$/.exec(reason) ?? [];
      t.ok(Number(number) > 0 && Number(number) < seq, reason);
      t.ok(client.reader.seq >= Number(number), `everything up to it has come: ${client.reader.seq}`);
      const again = await market.reader('QUOTES', client.reader);
      await market.arrive([again]);
      t.equal(again.reader.counts.get('RESYNC'), undefined, 'it goes on without beginning anew');
      const beats = again.reader.heartbeats;
      while (again.reader.heartbeats < beats + 2) await market.while(turn());
      again.check();
      again.break();
    }
    for (const client of fast) client.break();
  });

  t.test('ORDERBOOK is merged for who reads too slowly, and goes on when it has read', async (t) => {
    const market = await Market.open(t, backend);
    const fast = [await market.reader('ORDERBOOK')];
    const slow = await market.reader('ORDERBOOK');
    slow.stopReading();
    const [its] = market.sockets.slice(-1);
    if (its === undefined) throw new Error('it is connected');
    while (!(await market.leavesUnread(its))) await market.change(fast);
    const unread = its.bufferedBytes();
    for (let more = 0; more < 20; more++) await market.change(fast);
    // Time goes on at every turn, and a slow machine takes enough of them for heartbeats, of some 350 bytes each.
    const sentSince = its.bufferedBytes() - unread;
    const [update] = fast
      .flatMap(({ messages }) => messages.filter(({ type }) => type === 'ORDERBOOK_UPDATE'))
      .slice(-1);
    const updateBytes = JSON.stringify(update).length;
    t.ok(
      sentSince < updateBytes,
      `from then on it is sent no update: ${sentSince} bytes, an update has ${updateBytes}`,
    );
    t.notOk(its.closed);

    slow.readOn();
    await market.arrive([slow]);
    const merged = slow.messages.flatMap((message) => (message.type === 'ORDERBOOK_UPDATE' ? [message] : []));
    const [whole] = merged.filter(({ from }) => from !== undefined);
    if (whole === undefined) throw new Error('nothing was merged');
    const before = merged[merged.indexOf(whole) - 1];
    t.equal(whole.prevSeq, before?.seq, 'it follows the last that was sent');
    t.ok(Number(whole.from) > whole.prevSeq && Number(whole.from) < whole.seq, 'and says which was the first merged');
    t.ok(whole.seq - whole.prevSeq >= 20 * QUOTES, `${whole.seq - whole.prevSeq} events in one update`);
    t.equal(slow.reader.levelsHash, fast[0]?.reader.levelsHash);
    await market.change([slow, ...fast]);
    t.equal(slow.reader.levelsHash, fast[0]?.reader.levelsHash, 'it reads each update again');
    for (const client of [slow, ...fast]) client.break();
  });
});
