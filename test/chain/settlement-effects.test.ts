import t from 'tap';
import type { ChainLog } from '../../src/chain/chain-log.js';
import { inTurn, touchedOrders, whyIgnored } from '../../src/chain/settlement-effects.js';
import type { SettlementEvent } from '../../src/chain/settlement-events.js';
import type { Hex } from '../../src/engine/quote.js';
import {
  MAKER,
  POOL,
  START,
  address,
  blockHashOf,
  enter,
  newEngine,
  quoteIdOf,
  samplePool,
  sampleQuote,
  txHashOf,
} from '../engine/samples.js';

const FACTORY = address(0xfac);
const OTHER_POOL = samplePool(1);
const OTHER_MAKER = address(0x11);
const BASE = POOL.poolKey.base.toLowerCase() as Hex;
const QUOTE = POOL.poolKey.quote.toLowerCase() as Hex;

function logOf(emitter: Hex, logIndex = 0): ChainLog {
  const blockNumber = 60;
  const place = { blockNumber, blockHash: blockHashOf(blockNumber), txHash: txHashOf(blockNumber), logIndex };
  return { address: emitter, topics: [], data: '0x', timestamp: null, ...place };
}

/** Quotes 1 and 2 of one maker in two pools, quote 3 of another in the first; all are asks of a call, paid in `BASE`. */
function newBook() {
  const engine = newEngine();
  const quotes = [
    sampleQuote({ n: 1 }),
    sampleQuote({ n: 2, pool: OTHER_POOL }),
    sampleQuote({ n: 3, provider: OTHER_MAKER }),
  ];
  for (const [i, quote] of quotes.entries()) engine.apply(enter(quote), { index: i + 1, tsMs: START * 1_000 });
  const orders = [...engine.known()];
  return {
    get: (quoteId: Hex) => engine.get(quoteId),
    ordersOf: (provider: Hex) => orders.filter(({ quote }) => quote.provider === provider),
    ordersIn: (poolAddress: Hex) => orders.filter(({ quote }) => quote.pool.poolAddress === poolAddress),
  };
}

function touchedSalts(changes: readonly SettlementEvent[], means: Parameters<typeof touchedOrders>[1]): number[] {
  return [...touchedOrders(changes, means, newBook()).keys()].map(({ quote }) => quote.salt).sort();
}

t.test('a fill counts when it comes from the pool of a quote that is known', async (t) => {
  const fillOf = (n: number, emitter: Hex) =>
    whyIgnored({ type: 'FILL', log: logOf(emitter), quoteId: quoteIdOf(n), size: 1n }, newBook(), FACTORY);
  t.equal(fillOf(1, POOL.poolAddress), null);
  t.equal(fillOf(1, OTHER_POOL.poolAddress), 'UNKNOWN_QUOTE');
  t.equal(fillOf(9, POOL.poolAddress), 'UNKNOWN_QUOTE');
});

t.test('a cancel counts when it is the provider who cancels', async (t) => {
  const cancelBy = (provider: Hex) =>
    whyIgnored({ type: 'CANCEL', log: logOf(POOL.poolAddress), quoteId: quoteIdOf(1), provider }, newBook(), FACTORY);
  t.equal(cancelBy(MAKER), null);
  t.equal(cancelBy(OTHER_MAKER), 'OTHER_PROVIDER');
});

t.test('a deployment counts when the factory tells of it', async (t) => {
  const deployedBy = (emitter: Hex) =>
    whyIgnored({ type: 'POOL', log: logOf(emitter), pool: POOL }, newBook(), FACTORY);
  t.equal(deployedBy(FACTORY), null);
  t.equal(deployedBy(POOL.poolAddress), 'OTHER_CONTRACT');
});

t.test('a moved balance touches the orders of its owner that are paid in that token, in every pool', async (t) => {
  t.strictSame(touchedSalts([], [{ log: logOf(BASE), accounts: [MAKER] }]), [1, 2]);
  t.strictSame(touchedSalts([], [{ log: logOf(QUOTE), accounts: [MAKER] }]), []);
});

t.test('a moved position touches the orders of its owner in that pool alone', async (t) => {
  t.strictSame(touchedSalts([], [{ log: logOf(OTHER_POOL.poolAddress), accounts: [MAKER, OTHER_MAKER] }]), [2]);
});

t.test('a fill touches its order, a deployment all of its pool, a cancel none: it ends one', async (t) => {
  const log = logOf(POOL.poolAddress);
  t.strictSame(touchedSalts([{ type: 'FILL', log, quoteId: quoteIdOf(3), size: 1n }], []), [3]);
  t.strictSame(touchedSalts([{ type: 'POOL', log: logOf(FACTORY), pool: POOL }], []), [1, 3]);
  t.strictSame(touchedSalts([{ type: 'CANCEL', log, quoteId: quoteIdOf(1), provider: MAKER }], []), []);
});

t.test('of several logs that touch an order the last is named, in whatever order they were read', (t) => {
  const means = [1, 3, 2].map((logIndex) => ({ log: logOf(BASE, logIndex), accounts: [OTHER_MAKER] }));
  means.push({ log: logOf(POOL.poolAddress, 0), accounts: [OTHER_MAKER] });
  const indexes = [means, means.toReversed()].map((all) =>
    [...touchedOrders([], all, newBook()).values()].map(({ logIndex }) => logIndex),
  );
  t.strictSame(indexes, [[3], [3]]);
  t.end();
});

t.test('a later block counts before a higher index', (t) => {
  const [first, second] = [logOf(BASE, 7), { ...logOf(BASE, 1), blockNumber: 61 }];
  const means = [second, first].map((log) => ({ log, accounts: [OTHER_MAKER] }));
  t.strictSame([...touchedOrders([], means, newBook()).values()], [second]);
  t.end();
});

t.test('any number of logs that name a maker take no more than one walk through the maker’s orders', (t) => {
  const book = newBook();
  let walks = 0;
  const counted = { ...book, ordersOf: (provider: Hex) => (walks++, book.ordersOf(provider)) };
  const means = Array.from({ length: 100 }, (_, logIndex) => ({ log: logOf(BASE, logIndex), accounts: [MAKER] }));
  touchedOrders([], means, counted);
  t.equal(walks, 1);
  t.end();
});

t.test('of more orders than are asked about at once, each maker has as many', async (t) => {
  const engine = newEngine();
  for (const n of [1, 2, 3, 4, 5, 6]) {
    const quote = sampleQuote({ n, provider: n === 6 ? OTHER_MAKER : MAKER });
    engine.apply(enter(quote), { index: n, tsMs: START * 1_000 });
  }
  const touched = new Map([...engine.known()].map((order) => [order, null]));
  const salts = (most: number) => inTurn(touched, most).map(({ quote }) => quote.salt);
  t.strictSame(salts(2), [1, 6]);
  t.strictSame(salts(4), [1, 6, 2, 3]);
  t.strictSame(salts(6), [1, 2, 3, 4, 5, 6]);
});
