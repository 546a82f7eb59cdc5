import t from 'tap';
import { TakerAccess } from '../../src/auth/taker-access.js';
import type { Caller } from '../../src/http/router.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import { address, enter, newEngine, MAKER, POOL, quoteIdOf, sampleQuote, START, TAKER } from '../engine/samples.js';
import { ask, requestOf } from './ask-route.js';
import { CHAIN_ID, orderbookOver } from './orderbook-over.js';

const proven: Caller = { id: 'proven', tier: 'free', proven: [TAKER] };
const stranger: Caller = { id: 'stranger', tier: 'free', proven: [address(0x77)] };
const maker: Caller = { id: 'maker', tier: 'free', proven: [MAKER] };
const all: Caller = { id: 'all', tier: 'free', scopes: ['takers:all'] };
const engine = newEngine();
for (const quote of [sampleQuote({ n: 1 }), sampleQuote({ n: 2, taker: TAKER })]) {
  engine.apply(enter(quote), { index: engine.index + 1, tsMs: START * 1000 });
}
const about = `poolAddress=${POOL.poolAddress}&chainId=${CHAIN_ID}`;

for (const [what, ordersPerTurn] of [
  ['short', 10],
  ['long', 1],
] as const) {
  const routes = orderbookOver(engine, { ordersPerTurn, takers: new TakerAccess('proven', () => null) });
  const get = (target: string, caller: Caller) => ask(routes, requestOf('GET', target), caller);
  const ids = ({ text }: { text: string }): string[] =>
    (JSON.parse(text) as OrdersResponse).validQuotes.map(({ quoteId }) => quoteId);

  t.test(`a ${what} answer that is remembered for one key is refused to another`, async (t) => {
    for (const target of [
      `/orders?${about}&taker=${TAKER}`,
      `/quotes?${about}&side=ask&size=15&taker=${TAKER}`,
      `/rfq_quotes?${about}&side=ask&taker=${TAKER}`,
      // Percent-encoded, in capitals and repeated names are the same parameter.
      `/orders?${about}&%74aker=${TAKER.toUpperCase().replace('X', 'x')}`,
    ]) {
      for (let n = 0; n < 3; n++) t.equal((await get(target, proven)).status, 200, target);
      const refused = await get(target, stranger);
      t.equal(refused.status, 403, target);
      t.strictSame(JSON.parse(refused.text), {
        message: 'This key has not proven the address of the taker: sign in with it',
      });
      t.equal((await get(target, all)).status, 200, target);
    }
  });

  t.test(`all private quotes are in a ${what} answer to the scope, and to their maker`, async (t) => {
    const ofAll = [quoteIdOf(2), quoteIdOf(1)];
    const refusal = "Every taker's quotes and requests take a key with the scope takers:all";
    const ofMaker = `/orders?${about}&taker=*&provider=${MAKER}`;
    for (let n = 0; n < 3; n++) {
      t.strictSame(ids(await get(`/orders?${about}&taker=*`, all)), ofAll);
      t.strictSame(ids(await get(ofMaker, maker)), ofAll);
      t.strictSame(
        ids(await get(`/orders?${about}&provider=${MAKER}`, maker)),
        [quoteIdOf(1)],
        'as ever without a taker',
      );
      for (const [target, caller] of [
        [`/orders?${about}&taker=*`, maker],
        [`/orders?${about}&taker=*&provider=${TAKER}`, maker],
        [ofMaker, stranger],
        [ofMaker, proven],
      ] as const) {
        const refused = await get(target, caller);
        t.strictSame([refused.status, JSON.parse(refused.text)], [403, { message: refusal }], target);
      }
    }
    const body = { chainId: CHAIN_ID, taker: '*', provider: MAKER.toUpperCase().replace('X', 'x') };
    const posted = (caller: Caller) => ask(routes, requestOf('POST', '/orders/query', body), caller);
    t.strictSame(ids(await posted(maker)), ofAll);
    t.equal((await posted(stranger)).status, 403);
  });

  t.test(`a private quote that is named by id is in a ${what} answer to its taker and maker alone`, async (t) => {
    const target = `/orders?chainId=${CHAIN_ID}&quoteIds=${quoteIdOf(1)}&quoteIds=${quoteIdOf(2)}`;
    for (let n = 0; n < 3; n++) {
      t.strictSame(ids(await get(target, proven)), [quoteIdOf(2), quoteIdOf(1)]);
      t.strictSame(ids(await get(target, maker)), [quoteIdOf(2), quoteIdOf(1)]);
      t.strictSame(ids(await get(target, stranger)), [quoteIdOf(1)]);
      t.strictSame(ids(await get(target, all)), [quoteIdOf(2), quoteIdOf(1)]);
    }
    const body = { chainId: CHAIN_ID, quoteIds: [quoteIdOf(2)] };
    t.strictSame(ids(await ask(routes, requestOf('POST', '/orders/query', body), stranger)), []);
    t.strictSame(ids(await ask(routes, requestOf('POST', '/orders/query', body), proven)), [quoteIdOf(2)]);
    const ofTaker = { ...body, taker: TAKER };
    t.equal((await ask(routes, requestOf('POST', '/orders/query', ofTaker), stranger)).status, 403);
  });
}
