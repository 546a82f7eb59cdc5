import { OrderStore } from '../../src/engine/order-store.js';
import { cover } from '../../src/engine/queries.js';
import type { Hex } from '../../src/engine/quote.js';
import { contest, type Contestant, durationRow } from '../contest.js';
import { atMost, type Row, type Scale, type Scenario } from '../scenario.js';
import { SeededRandom } from '../workload/random.js';
import { CONTRACT, hex, makerOf, poolOf, quoteOf } from '../workload/quotes.js';

const LEVELS = 1000;
const MAKERS = 100;
const BLOCK = 500;
const TAKER = hex(0x7a6e, 40);
const pool = poolOf(0);

/** Asks of one contract each; every tenth is private to the taker. */
function bookOf(resting: number): OrderStore {
  const store = new OrderStore();
  const random = new SeededRandom(13);
  for (let n = 0; n < resting; n++) {
    const price = BigInt(1 + random.below(LEVELS)) * 10n ** 14n;
    const terms = { n, pool, price, isBuy: false, provider: makerOf(random.below(MAKERS)) };
    const quote = quoteOf(n % 10 === 0 ? { ...terms, taker: TAKER } : terms);
    store.set(store.add(quote), quote.size, null, BLOCK, true);
  }
  return store;
}

function asking(store: OrderStore, quotes: number, taker: Hex | undefined, times: number): Contestant {
  const query = { poolAddress: pool.poolAddress, side: 'ask' as const, size: BigInt(quotes) * CONTRACT, taker };
  return {
    name: 'cover',
    prepare: () => () => {
      let found = 0;
      for (let i = 0; i < times; i++) found += cover(store.book, query).length;
      if (found !== quotes * times) throw new Error(`${found} quotes cover what ${quotes * times} do`);
      return times;
    },
  };
}

interface Books {
  readonly small: OrderStore;
  readonly large: OrderStore;
}

async function rowOf(quotes: number, taker: Hex | undefined, { small, large }: Books, scale: Scale): Promise<Row> {
  const times = scale === 'full' ? Math.round(100_000 / (quotes + 2)) : 10;
  const contestants = [large, large, small].map((store) => asking(store, quotes, taker, times));
  const [ours = [], again = [], theirs = []] = await contest(contestants, {
    rounds: scale === 'full' ? 9 : 1,
    warmUps: scale === 'full' ? 4 : 0,
    clock: 'cpu',
  });
  const label = `${quotes} ${quotes === 1 ? 'quote' : 'quotes'}, ${taker === undefined ? 'public' : "with a taker's own"}`;
  return durationRow(label, { ours, again, theirs }, '1,000 resting', atMost(3));
}

export const coverQueries: Scenario = {
  name: 'cover',
  title: 'Cover queries',
  workload: `The cheapest 1, 10 and 100 quotes of a side with 100,000 resting at 1,000 prices: public ones, and merged with a
taker's private ones, a tenth of all. The baseline is the same query with 1,000 resting: its levels hold one quote
each, so it may be the slower one.`,
  async run(scale) {
    const books = { small: bookOf(1000), large: bookOf(scale === 'full' ? 100_000 : 3000) };
    const rows: Row[] = [];
    for (const taker of [undefined, TAKER]) {
      for (const quotes of [1, 10, 100]) rows.push(await rowOf(quotes, taker, books, scale));
    }
    return { rows };
  },
};
