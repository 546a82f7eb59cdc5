import t from 'tap';
import type { Pool } from '../../src/engine/quote.js';
import type { ServerMessageV2, TickerJson } from '../../src/wire/feed-messages.js';
import { at, enter, originAt, quoteIdOf, samplePool, sampleQuote, START } from '../engine/samples.js';
import { FeedFixture } from './feed-fixture.js';

type Ticker = Extract<ServerMessageV2, { type: 'TICKER' }>;

const DAY_SECONDS = 86_400;
const FAR = START + 10 * DAY_SECONDS;

/** A market that is followed, where nothing happens but what time brings. */
class Market {
  readonly fixture = new FeedFixture();
  #told: TickerJson[] = [];

  constructor() {
    this.fixture.feed.tickerTopics.join(null, 'json');
    this.fixture.publish = (_topic, message) => {
      this.#told.push((JSON.parse(Buffer.from(message).toString()) as Ticker).body);
    };
  }

  quote(n: number, pool: Pool): void {
    this.fixture.do(enter(sampleQuote({ n, pool, deadline: FAR })));
  }

  fill(n: number, size: bigint): void {
    const position = at('settlement', 60 + n);
    this.fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(n), size, origin: originAt(60 + n), position });
  }

  /** Messages published by then. */
  after(seconds: number): TickerJson[] {
    this.#told = [];
    this.fixture.clock.advance(seconds * 1_000);
    this.fixture.do({ type: 'TICK' });
    return this.#told;
  }

  get pools(): string[] {
    return [...this.fixture.feed.tickers.all()].map(({ pool }) => pool.poolAddress);
  }
}

t.test('a fill stops counting after 24 hours, and the ticker is published without another event', async (t) => {
  const market = new Market();
  const pool = samplePool(1, FAR);
  market.quote(1, pool);
  market.fill(1, 3n);
  market.after(3_600);
  market.fill(1, 4n);
  t.strictSame(market.after(DAY_SECONDS - 3_600 - 60), []);
  t.match(market.after(60), [{ poolAddress: pool.poolAddress, filledSize24h: '4' }]);
  t.match(market.after(3_600), [{ filledSize24h: '0' }]);
});

t.test('each pool leaves with its own maturity, without a word', async (t) => {
  const market = new Market();
  const [first, second, last] = [100, 200, 300].map((seconds) => samplePool(seconds, START + seconds));
  if (first === undefined || second === undefined || last === undefined) throw new Error('three pools');
  for (const [n, pool] of [second, first, last].entries()) {
    const position = at('settlement', 50 + n);
    market.fixture.do({ type: 'DEPLOY_POOL', pool, deployedAt: START, origin: originAt(50 + n), position });
  }
  const left = [[second, first, last], [second, last], [last], []].map((pools) =>
    pools.map((pool) => pool.poolAddress),
  );
  for (const pools of left) {
    t.strictSame(market.pools, pools);
    t.strictSame(market.after(100), []);
  }
});
