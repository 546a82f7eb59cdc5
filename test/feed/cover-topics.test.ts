import fc from 'fast-check';
import t from 'tap';
import { Engine } from '../../src/engine/engine.js';
import { OrderBook } from '../../src/engine/order-book.js';
import { type Hex, type Order, sideOf, ZERO_ADDRESS } from '../../src/engine/quote.js';
import type { CoverJson } from '../../src/wire/feed-messages.js';
import { CommandMaker, MAKERS, POOLS, steps, TAKERS } from '../engine/random-commands.js';
import { at, enter, originAt, POOL, quoteIdOf, REORG_DEPTH, sampleQuote, sha256, START } from '../engine/samples.js';
import type { FakeSocket } from '../ws/fake-net.js';
import { FeedFixture, filter, JSON_V2, MSGPACK_V2, takeMessages } from './feed-fixture.js';

const { poolAddress } = POOL;

interface CoverBody {
  readonly poolAddress: Hex;
  readonly side: 'bid' | 'ask';
  readonly size: string;
  readonly taker?: Hex;
  readonly provider?: Hex;
}

const coverBody: fc.Arbitrary<CoverBody> = fc
  .record({
    poolAddress: fc.constantFrom(...POOLS.map((pool) => pool.poolAddress)),
    side: fc.constantFrom('bid' as const, 'ask' as const),
    size: fc.integer({ min: 1, max: 30 }).map(String),
    taker: fc.constantFrom(undefined, ...TAKERS),
    provider: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.constantFrom(...MAKERS)),
  })
  .map((body) => JSON.parse(JSON.stringify(body)) as CoverBody);

/** The legs of a cover, found by sorting every order that the engine knows. */
function trueLegs(engine: Engine, { poolAddress, side, size, taker, provider }: CoverBody, maxLegs: number) {
  const isOffered = ({ quote, state }: Order): boolean =>
    state === 'live' &&
    quote.pool.poolAddress === poolAddress &&
    sideOf(quote) === side &&
    (provider === undefined || quote.provider === provider) &&
    (quote.taker === ZERO_ADDRESS || quote.taker === taker);
  const better = side === 'ask' ? 1 : -1;
  const offered = [...engine.known()].filter(isOffered).sort(({ quote: a }, { quote: b }) => {
    if (a.price !== b.price) return a.price < b.price ? -better : better;
    return a.origin.blockNumber - b.origin.blockNumber || a.origin.logIndex - b.origin.logIndex;
  });
  const legs: { quoteId: Hex; fillableSize: string; take: string; price: bigint; deadline: number }[] = [];
  let rest = BigInt(size);
  for (const { quote, fillableSize } of offered) {
    if (rest === 0n || legs.length === maxLegs) break;
    const take = fillableSize < rest ? fillableSize : rest;
    rest -= take;
    const { quoteId, price, deadline } = quote;
    legs.push({ quoteId, fillableSize: fillableSize.toString(), take: take.toString(), price, deadline });
  }
  return legs;
}

/** A client that keeps the newest cover. */
class CoverReader {
  cover: CoverJson | null = null;
  /** Covers received. */
  count = 0;

  constructor(
    readonly socket: FakeSocket,
    readonly body: CoverBody,
  ) {}

  read(): void {
    for (const message of takeMessages(this.socket)) {
      if (message.type === 'COVER') {
        if (JSON.stringify(message.body) === JSON.stringify(this.cover)) throw new Error('published without a change');
        this.cover = message.body;
        this.count += 1;
      } else if (message.type !== 'INFO' && message.type !== 'HEARTBEAT') throw new Error(message.type);
    }
  }
}

function follow(fixture: FeedFixture, protocol: string, body: CoverBody): CoverReader {
  const socket = fixture.authorized(protocol);
  socket.says(filter('COVER', body));
  return new CoverReader(socket, body);
}

/** The average price that a cover of these legs has, by the words of the documentation. */
function trueAverage(legs: ReturnType<typeof trueLegs>, side: 'bid' | 'ask'): string | null {
  const covered = legs.reduce((sum, { take }) => sum + BigInt(take), 0n);
  if (covered === 0n) return null;
  const paid = legs.reduce((sum, { take, price }) => sum + BigInt(take) * price, 0n);
  const isCut = side === 'ask' && paid % covered !== 0n;
  return (paid / covered + (isCut ? 1n : 0n)).toString();
}

t.test('at every commit the streamed cover equals the query, and the best quotes of the committed book', async (t) => {
  const maxLegs = 4;
  let found = 0;
  const joins = fc.array(fc.tuple(coverBody, fc.boolean(), fc.nat(20)), { minLength: 6, maxLength: 12 });
  fc.assert(
    fc.property(steps, joins, fc.array(fc.nat(1), { minLength: 1 }), (script, wishes, pauses) => {
      const fixture = new FeedFixture({ limits: { coverLegs: maxLegs } });
      const committed = new Engine({ reorgDepth: REORG_DEPTH, sha256 });
      const commands = new CommandMaker();
      const readers: CoverReader[] = [];
      let replayed = 0;
      for (const [i, step] of script.entries()) {
        for (const [body, isBinary, when] of wishes) {
          if (when === i) readers.push(follow(fixture, isBinary ? MSGPACK_V2 : JSON_V2, body));
        }
        if (step.kind === 'restart') continue;
        if (step.kind === 'pass') fixture.clock.advance(step.ms);
        fixture.submit(commands.make(step, fixture.engine));
        if (pauses[i % pauses.length] !== 0) continue;
        fixture.commit();
        for (const { command, stamp } of fixture.committed.slice(replayed)) committed.apply(command, stamp);
        replayed = fixture.committed.length;
        for (const reader of readers) {
          reader.read();
          const legs = trueLegs(committed, reader.body, maxLegs);
          const shown = reader.cover?.legs.map(({ take, quote }) => `${quote.quoteId} ${quote.fillableSize} ${take}`);
          const expected = legs.map(({ quoteId, fillableSize, take }) => `${quoteId} ${fillableSize} ${take}`);
          if (shown?.join() !== expected.join()) throw new Error(`${String(shown)} instead of ${expected.join()}`);
          const covered = legs.reduce((sum, { take }) => sum + BigInt(take), 0n);
          if (reader.cover?.covered !== covered.toString()) throw new Error('another size is covered');
          if (reader.cover.shortfall !== (BigInt(reader.body.size) - covered).toString()) throw new Error('shortfall');
          if (reader.cover.worstPrice !== (legs.at(-1)?.price.toString() ?? null)) throw new Error('worst price');
          if (reader.cover.averagePrice !== trueAverage(legs, reader.body.side)) throw new Error('average price');
          const deadlines = legs.map(({ deadline }) => deadline);
          if (reader.cover.deadline !== (legs.length === 0 ? null : Math.min(...deadlines)))
            throw new Error('deadline');
          // What GET /quotes answers from the committed state.
          const answered = committed
            .cover({ ...reader.body, size: BigInt(reader.body.size) })
            .slice(0, maxLegs)
            .map(({ quote, fillableSize }) => `${quote.quoteId} ${fillableSize}`);
          const streamed = reader.cover.legs.map(({ quote }) => `${quote.quoteId} ${quote.fillableSize}`);
          if (streamed.join() !== answered.join()) throw new Error(`GET /quotes: ${answered.join()}`);
          found += answered.length;
        }
      }
      if (fixture.faults.length > 0) throw new Error('a port failed');
    }),
    { numRuns: 500, endOnFailure: true },
  );
  t.ok(found > 1_000, `${found} legs were compared`);
});

t.test('the average price is weighted by size and rounded against the taker', (t) => {
  for (const [side, expected] of [
    ['ask', '34'],
    ['bid', '33'],
  ] as const) {
    const fixture = new FeedFixture();
    const isBuy = side === 'bid';
    for (const [n, price, size] of [
      [0, 30n, 2n],
      [1, 40n, 1n],
    ] as const) {
      fixture.do(enter(sampleQuote({ n, price, isBuy, size, deadline: START + 100 - n }), {}, 60));
    }
    const reader = follow(fixture, JSON_V2, { poolAddress, side, size: '3' });
    reader.read();
    t.equal(reader.cover?.averagePrice, expected);
    t.equal(reader.cover?.deadline, START + 99, 'the earliest deadline of the legs');
    t.equal(reader.cover?.shortfall, '0');
  }
  t.end();
});

t.test('a change behind the worst price of a full cover publishes nothing', (t) => {
  const fixture = new FeedFixture();
  const offer = (n: number, price: bigint) =>
    fixture.do(enter(sampleQuote({ n, price, isBuy: false, size: 10n, deadline: START + 100 }), {}, 60));
  offer(0, 50n);
  const reader = follow(fixture, JSON_V2, { poolAddress, side: 'ask', size: '10' });
  reader.read();
  offer(1, 51n);
  reader.read();
  t.equal(reader.count, 1);
  offer(2, 49n);
  reader.read();
  t.equal(reader.count, 2);
  t.equal(reader.cover?.legs[0]?.quote.price, '49');
  const position = at('settlement', 61);
  fixture.do({ type: 'CANCEL_QUOTE', quoteId: quoteIdOf(2), origin: originAt(61), position });
  reader.read();
  t.equal(reader.cover?.legs[0]?.quote.price, '50');
  t.end();
});

t.test('a cover without quotes has null prices, and all of its size is missing', (t) => {
  const reader = follow(new FeedFixture(), MSGPACK_V2, { poolAddress, side: 'ask', size: '7' });
  reader.read();
  t.strictSame(reader.cover, {
    covered: '0',
    shortfall: '7',
    averagePrice: null,
    worstPrice: null,
    deadline: null,
    legs: [],
  });
  t.end();
});

t.test('a size of 0, and one distinct cover too many, are refused', (t) => {
  const fixture = new FeedFixture({ limits: { coverTopics: 1 } });
  const answer = (body: CoverBody) => {
    const socket = fixture.authorized();
    socket.says(filter('COVER', body));
    const [first] = takeMessages(socket);
    return first?.type === 'ERROR' ? first.message : first?.type;
  };
  t.equal(answer({ poolAddress, side: 'ask', size: '0' }), 'Invalid FILTER: body.size must be > 0');
  t.equal(answer({ poolAddress, side: 'ask', size: '1' }), 'INFO');
  t.equal(answer({ poolAddress, side: 'ask', size: '1' }), 'INFO', 'the same cover shares its topic');
  t.equal(answer({ poolAddress, side: 'ask', size: '2' }), 'Too many covers are followed: try again later');
  t.end();
});

t.test('a reader that leaves, and a FILTER in place of another, free their covers', (t) => {
  const fixture = new FeedFixture();
  const socket = fixture.authorized();
  socket.says(filter('COVER', { poolAddress, side: 'ask', size: '1' }));
  socket.says(filter('COVER', { poolAddress, side: 'ask', size: '2' }));
  t.equal(fixture.feed.covers.size, 1);
  socket.says({ type: 'UNSUBSCRIBE', channel: 'COVER', body: null });
  t.equal(fixture.feed.covers.size, 0);
  t.end();
});

t.test('a change touches only the covers that reach its price, of ten thousand', (t) => {
  const fixture = new FeedFixture({ limits: { coverTopics: 10_000, coverLegs: 200 }, connections: 20_000 });
  const offer = (n: number, price: bigint) =>
    enter(sampleQuote({ n, price, isBuy: false, size: 100n, deadline: START + 100 }), {}, 60);
  fixture.do(...Array.from({ length: 100 }, (_, n) => offer(n, BigInt(100 + n))));
  const joined = Array.from({ length: 10_000 }, (_, n) =>
    fixture.feed.covers.join({ poolAddress, side: 'ask', size: BigInt(n + 1), taker: null, provider: null }, 'json'),
  );
  const published: string[] = [];
  fixture.publish = (topic) => published.push(topic);
  // Each cover that is computed looks for its pool.
  const computed = t.capture(OrderBook.prototype, 'pool', Reflect.get(OrderBook.prototype, 'pool') as () => unknown);
  // Every hundredth size reaches the next price: just the covers of more than 9,800 contracts reach 198.
  fixture.do(offer(100, 198n));
  t.equal(published.filter((topic) => topic.startsWith('json:cover:')).length, 100, 'those that end at 199');
  t.equal(computed().length, 200, 'and those that end at 198, behind which the quote is');
  for (const each of joined) each.leave();
  t.equal(fixture.feed.covers.size, 0);
  t.end();
});
