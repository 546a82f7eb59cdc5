import fc from 'fast-check';
import t from 'tap';
import type { Engine } from '../../src/engine/engine.js';
import { type Hex, isPrivate } from '../../src/engine/quote.js';
import type { TickerJson } from '../../src/wire/feed-messages.js';
import { CommandMaker, steps } from '../engine/random-commands.js';
import { at, enter, originAt, quoteIdOf, samplePool, sampleQuote, START } from '../engine/samples.js';
import { FakeSocket } from '../ws/fake-net.js';
import { chainId, FeedFixture, filter, JSON_V2, MSGPACK_V2, takeMessages } from './feed-fixture.js';

interface Glance {
  readonly bid: TickerJson['bid'];
  readonly ask: TickerJson['ask'];
}

/** The expected tickers, computed from the book. */
function bestOf(engine: Engine): Map<Hex, Glance> {
  const best = (poolAddress: Hex, side: 'bid' | 'ask') => {
    const [level] = engine.levels({ poolAddress, side, taker: null }, 1);
    return level === undefined ? null : { price: level.price.toString(), size: level.size.toString() };
  };
  const quoted = [...engine.known()].filter(({ quote, state }) => state === 'live' && !isPrivate(quote));
  const pools = [...[...engine.pools()].map(({ pool }) => pool), ...quoted.map(({ quote }) => quote.pool)];
  return new Map(
    pools.map(({ poolAddress }) => [poolAddress, { bid: best(poolAddress, 'bid'), ask: best(poolAddress, 'ask') }]),
  );
}

/** A client that keeps the last ticker of each pool. */
class TickerReader {
  readonly tickers = new Map<string, TickerJson>();

  constructor(readonly socket: FakeSocket) {}

  read(): void {
    for (const message of takeMessages(this.socket)) {
      if (message.type === 'TICKER_SNAPSHOT') for (const ticker of message.body) this.#set(ticker);
      else if (message.type === 'TICKER') this.#set(message.body);
      else if (message.type !== 'INFO' && message.type !== 'HEARTBEAT') throw new Error(message.type);
    }
  }

  #set(ticker: TickerJson): void {
    this.tickers.set(ticker.poolAddress, ticker);
  }
}

function follow(fixture: FeedFixture, protocol: string, body: object = {}): TickerReader {
  const socket = fixture.authorized(protocol);
  socket.says(filter('TICKER', body));
  return new TickerReader(socket);
}

function tickersOf(fixture: FeedFixture): readonly TickerJson[] {
  return (JSON.parse([...fixture.feed.tickersJson()].map(({ text }) => text).join('')) as { tickers: TickerJson[] })
    .tickers;
}

t.test('whatever happens, tickers show the book, and readers who came at any time have them all', async () => {
  fc.assert(
    fc.property(steps, fc.nat(60), (script, joinAt) => {
      const fixture = new FeedFixture();
      const commands = new CommandMaker();
      const readers = [follow(fixture, JSON_V2)];
      script.forEach((step, place) => {
        if (place === joinAt) readers.push(follow(fixture, MSGPACK_V2));
        if (step.kind === 'restart') return;
        if (step.kind === 'pass') fixture.clock.advance(step.ms);
        fixture.do(commands.make(step, fixture.engine));
        const told = new Map(tickersOf(fixture).map((ticker) => [ticker.poolAddress, ticker]));
        for (const [poolAddress, { bid, ask }] of bestOf(fixture.engine)) {
          const { bid: toldBid, ask: toldAsk } = told.get(poolAddress) ?? { bid: 'none', ask: 'none' };
          if (JSON.stringify([toldBid, toldAsk]) !== JSON.stringify([bid, ask])) throw new Error('another book');
        }
      });
      for (const reader of readers) {
        reader.read();
        for (const ticker of tickersOf(fixture)) {
          if (JSON.stringify(reader.tickers.get(ticker.poolAddress)) !== JSON.stringify(ticker)) {
            throw new Error(`a reader missed ${ticker.poolAddress}`);
          }
        }
      }
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

t.test('a request gets the same tickers as a reader, though no client followed them before', async () => {
  fc.assert(
    fc.property(steps, (script) => {
      const followed = new FeedFixture();
      const unfollowed = new FeedFixture();
      follow(followed, JSON_V2);
      const commands = new CommandMaker();
      for (const step of script) {
        if (step.kind === 'restart') continue;
        const command = commands.make(step, followed.engine);
        for (const fixture of [followed, unfollowed]) {
          if (step.kind === 'pass') fixture.clock.advance(step.ms);
          fixture.do(command);
        }
      }
      const [expected, asked] = [followed, unfollowed].map((fixture) =>
        tickersOf(fixture)
          .map((ticker) => JSON.stringify(ticker))
          .sort(),
      );
      if (expected?.join() !== asked?.join()) throw new Error('other tickers');
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

t.test('three pools are sent in pages, then as changes', async (t) => {
  const fixture = new FeedFixture();
  const commands = new CommandMaker();
  for (const pool of [0, 1, 2]) {
    fixture.do(commands.make({ kind: 'deploy', pool, ahead: 1 }, fixture.engine));
  }
  const socket = fixture.authorized();
  socket.says(filter('TICKER'));
  const messages = takeMessages(socket);
  t.match(messages, [
    {
      type: 'INFO',
      message: `Subscribed to ticker:${chainId}:* channel.`,
      body: { channel: 'TICKER', keys: [`ticker:${chainId}:*`], seq: 3 },
    },
    { type: 'TICKER_SNAPSHOT', more: true, seq: 3 },
    { type: 'TICKER_SNAPSHOT', more: false, seq: 3 },
  ]);
  const pages = messages.flatMap((message) => (message.type === 'TICKER_SNAPSHOT' ? [message.body.length] : []));
  t.strictSame(pages, [2, 1]);
  socket.says({ type: 'UNSUBSCRIBE', channel: 'TICKER', body: null });
  t.match(takeMessages(socket), [{ type: 'INFO', message: 'Unsubscribed from TICKER channel' }]);
  t.equal(fixture.feed.tickerTopics.size, 0);
});

t.test('a reader that leaves changes nothing for the others', async (t) => {
  const fixture = new FeedFixture();
  const readers = [JSON_V2, JSON_V2, MSGPACK_V2].map((protocol) => follow(fixture, protocol).socket);
  const told = (n: number) => {
    readers.forEach((socket) => takeMessages(socket));
    fixture.do(enter(sampleQuote({ n })));
    return readers.map((socket) => takeMessages(socket).map(({ type }) => type));
  };
  const leave = { type: 'UNSUBSCRIBE', channel: 'TICKER', body: null };
  readers[0]?.says(leave);
  t.strictSame(told(1), [[], ['TICKER'], ['TICKER']]);
  readers[1]?.says(leave);
  t.strictSame(told(2), [[], [], ['TICKER']]);
});

t.test('the last page of a snapshot has something on it', async (t) => {
  const fixture = new FeedFixture();
  for (const pool of [1, 2, 3, 4].map((n) => samplePool(n))) {
    fixture.do(enter(sampleQuote({ n: fixture.feed.seq, pool })));
    const socket = fixture.authorized();
    socket.says(filter('TICKER'));
    const pages = takeMessages(socket).filter((message) => message.type === 'TICKER_SNAPSHOT');
    t.equal(pages.length, Math.ceil(fixture.feed.seq / 2));
  }
});

t.test('a ticker is published when its best price or the size there changes, and not otherwise', async (t) => {
  const fixture = new FeedFixture();
  const socket = fixture.authorized();
  socket.says(filter('TICKER'));
  takeMessages(socket);
  const asks = (n: number, price: bigint) => {
    fixture.do(enter(sampleQuote({ n, price })));
    return takeMessages(socket).map((message) => (message.type === 'TICKER' ? message.body.ask : message.type));
  };
  t.strictSame(asks(1, 100n), [{ price: '100', size: '10' }]);
  t.strictSame(asks(2, 101n), []);
  t.strictSame(asks(3, 99n), [{ price: '99', size: '10' }]);
  t.strictSame(asks(4, 99n), [{ price: '99', size: '20' }]);
});

t.test('where no pool has a ticker, a snapshot says so', async (t) => {
  const socket = new FeedFixture().authorized();
  socket.says(filter('TICKER'));
  t.match(takeMessages(socket), [{ type: 'INFO' }, { type: 'TICKER_SNAPSHOT', more: false, body: { length: 0 } }]);
});

t.test('a pool emptied while a slow reader catches up is sent as empty', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  const reader = new TickerReader(fixture.authorized());
  reader.socket.unreadBytes = 20_000;
  reader.socket.says(filter('TICKER'));
  const position = at('settlement', 9);
  fixture.do({ type: 'CANCEL_QUOTE', quoteId: quoteIdOf(1), origin: originAt(9, 1), position });
  t.strictSame(tickersOf(fixture), []);
  reader.socket.unreadBytes = 0;
  fixture.clock.advance(50);
  reader.read();
  t.match([...reader.tickers.values()], [{ bid: null, ask: null, filledSize24h: '0' }]);
});

t.test('a pool that is deployed has a ticker, after a restart too, and none once a reorg took it back', async (t) => {
  const before = new FeedFixture();
  const [deployed, undone] = [samplePool(1), samplePool(2)];
  for (const [pool, blockNumber] of [
    [deployed, 50],
    [undone, 51],
  ] as const) {
    const position = at('settlement', blockNumber);
    before.do({ type: 'DEPLOY_POOL', pool, deployedAt: START, origin: originAt(blockNumber), position });
  }
  const after = new FeedFixture({ engine: before.engine });
  const position = at('settlement', 50, 1);
  for (const fixture of [before, after]) {
    const pools = () => tickersOf(fixture).map(({ poolAddress }) => poolAddress);
    t.strictSame(pools(), [deployed.poolAddress, undone.poolAddress]);
    if (fixture === before) continue;
    fixture.do({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 50, restated: [] });
    t.strictSame(pools(), [deployed.poolAddress]);
  }
});

t.test('a pool that has matured has no ticker, though it was filled in the last day', async (t) => {
  const fixture = new FeedFixture();
  const pool = samplePool(1, START + 100);
  fixture.do(enter(sampleQuote({ n: 1, pool })));
  const position = at('settlement', 60);
  fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(1), size: 1n, origin: originAt(60), position });
  fixture.clock.advance(99_999);
  fixture.do({ type: 'TICK' });
  t.match(tickersOf(fixture), [{ poolAddress: pool.poolAddress, filledSize24h: '1' }]);
  fixture.clock.advance(1);
  fixture.do({ type: 'TICK' });
  t.strictSame(tickersOf(fixture), []);
});

t.test('what is filled is what the chain says now, whatever it said before', async (t) => {
  const fixture = new FeedFixture();
  const filled = () => tickersOf(fixture).map(({ filledSize24h }) => filledSize24h);
  const fill = (n: number, size: bigint, blockNumber: number) => {
    const origin = originAt(blockNumber, n);
    fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(n), size, origin, position: at('settlement', blockNumber) });
  };
  for (const n of [1, 2]) fixture.do(enter(sampleQuote({ n })));
  fill(1, 3n, 51);
  fill(2, 4n, 52);
  t.strictSame(filled(), ['7']);
  const restated = [
    { quoteId: quoteIdOf(1), state: { fillableSize: 2n, reason: null } },
    { quoteId: quoteIdOf(2), state: { fillableSize: 10n, reason: null } },
  ];
  const position = at('settlement', 50, 1);
  fixture.do({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 53, restated });
  t.strictSame(filled(), ['8'], 'more of the first, nothing of the second');
});

t.test('what was filled of a quote before it entered never counts, whatever reorgs say of it', async (t) => {
  let fixture = new FeedFixture();
  const filled = () => tickersOf(fixture).map(({ filledSize24h }) => filledSize24h);
  const restate = (n: number, fillableSize: bigint) => {
    const restated = [{ quoteId: quoteIdOf(n), state: { fillableSize, reason: null } }];
    fixture.do({ type: 'REWIND_SETTLEMENT', position: at('settlement', 50, 1), settlementBlock: 51, restated });
  };
  fixture.do(enter(sampleQuote({ n: 1 }), { fillableSize: 7n }));
  restate(1, 5n);
  t.strictSame(filled(), ['2']);
  restate(1, 6n);
  t.strictSame(filled(), ['1']);
  restate(1, 10n);
  fixture.do(enter(sampleQuote({ n: 2 }), { fillableSize: 7n }));
  // After a restart nothing is remembered of its entry.
  fixture = new FeedFixture({ engine: fixture.engine });
  const position = at('settlement', 52);
  fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(2), size: 4n, origin: originAt(52), position });
  t.strictSame(filled(), ['4']);
  restate(2, 5n);
  t.strictSame(filled(), ['2']);
});

t.test('a reader of one pool hears of no other, and a plain connection of none', async (t) => {
  const fixture = new FeedFixture();
  const commands = new CommandMaker();
  for (const pool of [0, 2]) fixture.do(commands.make({ kind: 'deploy', pool, ahead: 1 }, fixture.engine));
  const poolAddress = tickersOf(fixture)[0]?.poolAddress ?? '';
  const one = follow(fixture, JSON_V2, { poolAddress: poolAddress.toUpperCase().replace('0X', '0x') });
  fixture.do(commands.make({ kind: 'deploy', pool: 1, ahead: 1 }, fixture.engine));
  one.read();
  t.strictSame([...one.tickers.keys()], [poolAddress]);
  const plain = fixture.authorized('');
  plain.says(filter('TICKER'));
  t.match(takeMessages(plain), [{ type: 'ERROR', message: /^Invalid FILTER: channel/ }]);
});
