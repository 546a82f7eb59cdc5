import t from 'tap';
import { type OperatorTrading, tradingRoutes, type TradingRouteParts } from '../../src/http/trading-routes.js';
import type { Hex } from '../../src/engine/quote.js';
import { ask, requestOf } from './ask-route.js';

function served(tradesPerRequest: number) {
  const cancelled: Hex[][] = [];
  const trading: Partial<OperatorTrading> = {
    refusal: () => null,
    cancel(_, quoteIds) {
      cancelled.push([...quoteIds]);
      return Promise.resolve({ type: 'ANSWERED', items: quoteIds.map(() => ({ type: 'DONE' })) });
    },
  };
  const limits = { bodyParts: 100, queryPairs: 10, schemaErrors: 20, signedQuotesPerRequest: 5, tradesPerRequest };
  const unused = {} as Pick<TradingRouteParts, 'publishing' | 'readable'>;
  const routes = tradingRoutes({
    ...unused,
    trading: () => trading as OperatorTrading,
    onPublished: () => undefined,
    symbols: ['WETH', 'USDC'],
    limits,
  });
  return {
    cancelled,
    cancel: (quoteIds: unknown) => ask(routes, requestOf('DELETE', '/orderbook/quotes', { quoteIds })),
  };
}

const idOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;

t.test('a request cancels as many quotes as the limit says, and no more', async (t) => {
  const { cancelled, cancel } = served(3);
  const ids = [1, 2, 3, 4].map(idOf);
  const refused = await cancel(ids);
  t.equal(refused.status, 400);
  t.match(JSON.parse(refused.text), [{ instancePath: '/quoteIds', message: 'must NOT have more than 3 items' }]);
  t.strictSame(cancelled, []);
  const { status, text } = await cancel(ids.slice(1));
  t.strictSame([status, JSON.parse(text)], [200, { success: ids.slice(1), failed: [], omitted: [] }]);
});
