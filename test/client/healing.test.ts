import fc from 'fast-check';
import t from 'tap';
import { OrderbookClient } from '../../src/client/node.js';
import type { FollowedBook, FollowedQuotes } from '../../src/client/exports.js';
import { CommandMaker, POOLS, TAKERS, steps, type Step } from '../engine/random-commands.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { levelsHash, quotesHash } from '../feed/model-reader.js';
import { goodKey } from '../ws/gateway-fixture.js';
import { LossyLink } from './lossy-link.js';

type Act =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'deliver' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'wait'; readonly ms: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Act>({ kind: 'deliver' }) },
  { weight: 1, arbitrary: fc.constant<Act>({ kind: 'cut' }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(100, 1_000, 6_000) }) },
);
const acts: fc.Arbitrary<Act[]> = fc
  .tuple(steps, fc.infiniteStream(fc.array(act, { maxLength: 2 })))
  .map(([ofEngine, between]) =>
    ofEngine.flatMap((step): Act[] => [{ kind: 'step', step }, ...(between.next().value as Act[])]),
  );

const [pool] = POOLS;
const [taker] = TAKERS;
const resyncs = new Map<string, number>();

/** A server whose every change is committed at once, and a client that follows it over a link that loses things. */
class World {
  readonly fixture = new FeedFixture({ limits: { recentEvents: 8, wsSubscribes: 10_000 } });
  readonly link = new LossyLink(this.fixture);
  readonly quotes: FollowedQuotes;
  readonly books: readonly FollowedBook[];
  readonly #commands = new CommandMaker();

  constructor(encoding: 'json' | 'msgpack', random: () => number) {
    const options = { url: 'http://quotes.test', apiKey: goodKey, chainId, encoding } as const;
    const client = new OrderbookClient(options, this.link.ports(random));
    this.quotes = client.followQuotes({ taker: taker ?? '*' });
    const poolAddress = pool?.poolAddress ?? '0x';
    this.books = [
      client.followBook({ poolAddress }),
      client.followBook({ poolAddress, depth: 2, taker: taker ?? '0x' }),
    ];
    for (const followed of [this.quotes, ...this.books]) {
      followed.onResync((why) => resyncs.set(why, (resyncs.get(why) ?? 0) + 1));
    }
  }

  act(each: Act): void {
    const { fixture, link } = this;
    if (each.kind === 'deliver') link.deliver();
    else if (each.kind === 'cut') link.cut();
    else if (each.kind === 'wait') fixture.clock.advance(each.ms);
    else if (each.step.kind !== 'restart') {
      if (each.step.kind === 'pass') fixture.clock.advance(each.step.ms);
      fixture.do(this.#commands.make(each.step, fixture.engine));
    }
  }

  /** Nothing is lost any more: within two minutes every book has to be the server's. */
  settle(): void {
    this.link.loses = () => false;
    for (let ms = 0; ms < 120_000; ms += 3_000) {
      this.link.deliver();
      this.fixture.clock.advance(3_000);
    }
    this.link.deliver();
  }

  check(): void {
    const { engine } = this.fixture;
    for (const { state } of [this.quotes, ...this.books]) if (state !== 'LIVE') throw new Error(`it is ${state}`);
    const seen = [...engine.known()]
      .filter(({ quote, state }) => state === 'live' && (/^0x0+$/.test(quote.taker) || quote.taker === taker))
      .map(({ quote, fillableSize }) => ({ quoteId: quote.quoteId, fillableSize: String(fillableSize) }));
    if (quotesHash(this.quotes.book.all()) !== quotesHash(seen)) throw new Error('other quotes than the server’s');
    this.books.forEach(({ book }, i) => {
      const view = { poolAddress: pool?.poolAddress ?? '0x', taker: i === 0 ? null : (taker ?? null) } as const;
      const side = (of: 'bid' | 'ask') =>
        engine
          .levels({ ...view, side: of }, i === 0 ? Infinity : 2)
          .map(({ price, size, count }) => ({ price: String(price), size: String(size), count }));
      if (book.hash !== levelsHash(side('bid'), side('ask'))) throw new Error(`book ${i} is another than the server’s`);
    });
  }
}

t.test('whatever is lost on the way, the books end as the server’s', async (t) => {
  fc.assert(
    fc.property(acts, fc.constantFrom('json', 'msgpack'), fc.infiniteStream(fc.nat(99)), (script, encoding, drawn) => {
      const draw = (): number => drawn.next().value as number;
      const world = new World(encoding, () => draw() / 100);
      world.link.loses = () => draw() < 4;
      for (const each of script) world.act(each);
      world.settle();
      world.check();
    }),
    { numRuns: 300, endOnFailure: true },
  );
  for (const why of ['GAP', 'HASH', 'RESYNC']) t.ok((resyncs.get(why) ?? 0) > 0, `${why} came up`);
});

t.test('where nothing is lost nothing is wrong, however often the connection is', async (t) => {
  const wrong: string[] = [];
  fc.assert(
    fc.property(acts, fc.constantFrom('json', 'msgpack'), (script, encoding) => {
      const world = new World(encoding, () => 0.5);
      for (const followed of [world.quotes, ...world.books]) {
        followed.onResync((why) => {
          if (why !== 'RESYNC') wrong.push(why);
        });
      }
      for (const each of script) world.act(each);
      world.settle();
      world.check();
      return wrong.length === 0;
    }),
    { numRuns: 100, endOnFailure: true },
  );
  t.strictSame(wrong, []);
});
