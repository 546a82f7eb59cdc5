import fc from 'fast-check';
import t from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import { EventPages } from '../../src/feed/event-pages.js';
import { TradeStore } from '../../src/market/trade-store.js';
import { UNPACED } from '../../src/system/paced-work.js';
import type { EventsPage, ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { tradeJson, type TradeJson } from '../../src/wire/market.js';
import { CommandMaker, MAKERS, POOLS, steps } from '../engine/random-commands.js';
import type { FakeSocket } from '../ws/fake-net.js';
import { chainId, epoch, FeedFixture, filter, JSON_V2, MSGPACK_V2, takeMessages } from './feed-fixture.js';

const limits = {
  eventsPerPage: 4,
  eventsPerBookPage: 100,
  eventsSnapshotQuotes: 100,
  wsSnapshotPageQuotes: 3,
  rowsPerSlice: 2,
  wsBookLevels: 100,
};

interface Selected {
  readonly poolAddress?: Hex;
  readonly provider?: Hex;
}

const poolAddress = POOLS[1]?.poolAddress ?? '0x';
const provider = MAKERS[1] ?? '0x';
const selections: readonly Selected[] = [{}, { poolAddress }, { provider }, { poolAddress, provider }];

/** Puts the trades together from the messages, as the documentation says. */
class TradeReader {
  readonly trades = new Map<string, TradeJson>();
  at = 0;

  take(messages: readonly ServerMessageV2[]): void {
    for (const message of messages) {
      if (message.type === 'INFO' && message.body !== null) this.at = message.body.seq;
      if (message.type !== 'TRADE' && message.type !== 'UNDO_TRADES') continue;
      if (message.prevSeq > this.at) throw new Error(`a gap: ${this.at}, the next follows ${message.prevSeq}`);
      if (message.seq <= this.at) continue;
      this.at = message.seq;
      if (message.type === 'TRADE') this.trades.set(placeOf(message.body), message.body);
      else this.#undo(message.body.blockNumber);
    }
  }

  #undo(blockNumber: number): void {
    for (const [place, trade] of this.trades) if (trade.blockNumber > blockNumber) this.trades.delete(place);
  }
}

const placeOf = ({ blockNumber, logIndex }: TradeJson) => `${blockNumber} ${logIndex}`;
const sorted = (trades: Iterable<TradeJson>) => [...trades].map((trade) => JSON.stringify(trade)).sort();

/** The rows of GET /trades. */
function rowsOf(fixture: FeedFixture, { poolAddress, provider }: Selected): string[] {
  const store = new TradeStore(1_000, Number.MAX_SAFE_INTEGER);
  for (const { events } of fixture.committed) for (const event of events) store.apply(event);
  const all = { isBuy: null, taker: null, from: 0, to: Infinity };
  const found = store.newest({ ...all, poolAddress: poolAddress ?? null, provider: provider ?? null }, null);
  return sorted([...found].map((trade) => tradeJson(trade, trade, null)));
}

function compare(reader: TradeReader, fixture: FeedFixture, selected: Selected): void {
  const [own, rows] = [sorted(reader.trades.values()), rowsOf(fixture, selected)];
  if (JSON.stringify(own) !== JSON.stringify(rows)) throw new Error(`${own.join()} is not ${rows.join()}`);
}

function follow(fixture: FeedFixture, selected: Selected, more: object, protocol = JSON_V2): FakeSocket {
  const socket = fixture.authorized(protocol);
  socket.says(filter('TRADES', { ...selected, ...more }));
  return socket;
}

t.test('readers have the rows of GET /trades, live, after coming back, and over HTTP', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.array(fc.nat(79), { maxLength: 6 }), async (script, lost) => {
      const fixture = new FeedFixture({ limits: { recentEvents: 10_000 } });
      const commands = new CommandMaker();
      const clients = selections.map((selected, place) => {
        const protocol = place % 2 === 0 ? JSON_V2 : MSGPACK_V2;
        return { selected, protocol, reader: new TradeReader(), socket: follow(fixture, selected, {}, protocol) };
      });
      for (const [place, step] of script.entries()) {
        if (step.kind === 'restart') continue;
        if (step.kind === 'pass') fixture.clock.advance(step.ms);
        const comesBack = lost.includes(place);
        if (comesBack) for (const { socket } of clients) fixture.net.drop(socket);
        fixture.do(commands.make(step, fixture.engine));
        for (const client of clients) {
          const { selected, protocol, reader } = client;
          if (comesBack) client.socket = follow(fixture, selected, { epoch, fromSeq: reader.at }, protocol);
          // A replay of several parts waits for its turn between them.
          fixture.clock.advance(0);
          reader.take(takeMessages(client.socket));
          compare(reader, fixture, selected);
        }
      }
      const pages = new EventPages(fixture.feed, limits);
      for (const { selected } of clients) {
        const reader = new TradeReader();
        for (let [fromSeq, more] = [0, true]; more;) {
          const answer = await pages.read({ channel: 'TRADES', fromSeq: String(fromSeq), ...selected }, UNPACED);
          if (!answer.ok) throw new Error(answer.problem);
          const page = JSON.parse(Buffer.from(answer.page).toString()) as EventsPage;
          reader.take(page.messages);
          reader.at = page.seq;
          [fromSeq, more] = [page.seq, page.more];
        }
        compare(reader, fixture, selected);
      }
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

t.test('a reader that cannot go on is sent RESYNC, and what is traded from then on', async (t) => {
  const fixture = new FeedFixture();
  const socket = follow(fixture, { poolAddress }, { epoch: '0'.repeat(16), fromSeq: 0 });
  const keys = [`trades:${chainId}:${poolAddress}:*`];
  t.match(takeMessages(socket), [
    { type: 'INFO', body: { channel: 'TRADES', keys, seq: 0, epoch } },
    { type: 'RESYNC', channel: 'TRADES', keys, seq: 0, reason: 'OTHER_EPOCH' },
  ]);
  const pages = new EventPages(fixture.feed, limits);
  const answer = await pages.read({ channel: 'TRADES', epoch: '0'.repeat(16), fromSeq: '0' }, UNPACED);
  t.match(answer.ok && JSON.parse(Buffer.from(answer.page).toString()), {
    messages: [{ type: 'RESYNC', channel: 'TRADES', reason: 'OTHER_EPOCH' }],
  });
});

t.test('a reader that fell behind what is kept is sent RESYNC', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 1 } });
  const commands = new CommandMaker();
  for (let n = 0; n < 3; n += 1) {
    fixture.do(commands.make({ kind: 'fill', n: 1, size: 2, ahead: 1 }, fixture.engine));
  }
  const socket = follow(fixture, {}, { epoch, fromSeq: 0 });
  t.match(takeMessages(socket), [{ type: 'INFO' }, { type: 'RESYNC', reason: 'TOO_OLD' }]);
});

t.test('after UNSUBSCRIBE nothing follows', async (t) => {
  const fixture = new FeedFixture();
  const socket = follow(fixture, {}, {});
  t.equal(fixture.feed.trades.size, 1);
  socket.says({ type: 'UNSUBSCRIBE', channel: 'TRADES' });
  t.equal(fixture.feed.trades.size, 0);
  takeMessages(socket);
  fixture.do(new CommandMaker().make({ kind: 'fill', n: 1, size: 2, ahead: 1 }, fixture.engine));
  t.strictSame(takeMessages(socket), []);
});

t.test('a pool goes by its address or by its name, not by both, and plain sockets have no such channel', async (t) => {
  const fixture = new FeedFixture();
  const both = follow(fixture, { poolAddress }, { instrument: 'testWETH-USDC-27NOV26-1600-C' });
  t.match(takeMessages(both), [{ type: 'ERROR', code: 'invalid_parameter', message: /at most one of poolAddress/ }]);
  both.says(filter('TRADES', { instrument: 'testWETH-USDC-27NOV26-1600-C' }));
  t.match(takeMessages(both), [{ type: 'ERROR', code: 'pool_not_deployed' }]);
  both.says(filter('TRADES', { fromSeq: 0 }));
  t.match(takeMessages(both), [{ type: 'ERROR', message: /epoch and fromSeq together/ }]);
  t.match(takeMessages(follow(fixture, {}, {}, '')), [{ type: 'ERROR', message: /body|channel/ }]);
});
