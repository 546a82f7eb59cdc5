import t from 'tap';
import { marketRoutes } from '../../src/http/market-routes.js';
import { limits } from '../../src/config/limits.js';
import { TradeHistory } from '../../src/market/trade-history.js';
import { systemClock } from '../../src/system/clock.js';
import type { CandlesResult, TradesResult } from '../../src/wire/market.js';
import { blockHashOf, MAKER, POOL, quoteIdOf, samplePool, TAKER, txHashOf } from '../engine/samples.js';
import { answersAtOnce, ask, requestOf } from './ask-route.js';

const NAME = 'A-B-27NOV26-1-C';
const OTHER = samplePool(1);
const trades = new TradeHistory({ ...limits, tradeDays: 1 });
await trades.readPast(null, { index: 0, seq: 0, tsMs: 0 }, systemClock, () => false);
for (const [blockNumber, pool] of [POOL, OTHER, POOL].entries()) {
  const origin = { blockNumber, txHash: txHashOf(blockNumber), logIndex: 0 };
  const trade = {
    pool,
    quoteId: quoteIdOf(blockNumber),
    provider: MAKER,
    taker: TAKER,
    price: 7n,
    size: 1n,
    fee: 0n,
    isBuy: true,
    time: 60 * blockNumber,
    blockHash: blockHashOf(blockNumber, 0),
  };
  trades.store.apply({ type: 'TRADE_RECORDED', seq: 0, cause: { chain: 'settlement', ...origin }, trade });
}
const routes = marketRoutes({
  trades,
  instrument: (pool) => (pool === POOL ? NAME : null),
  poolNamed: (name) => (name === NAME ? POOL.poolAddress : null),
  nowSeconds: () => 180,
  chainId: '421613',
  answers: answersAtOnce(),
  limits: { queryPairs: 10, schemaErrors: 5, rowsPerSlice: 100, candles: 10 },
});

async function get(path: string, query: string): Promise<[number, unknown]> {
  const { status, text } = await ask(routes, requestOf('GET', `${path}?chainId=421613&${query}`));
  return [status, JSON.parse(text)];
}

async function blocks(query: string): Promise<number[]> {
  const [, body] = await get('/trades', query);
  return (body as TradesResult).trades.map(({ blockNumber }) => blockNumber);
}

t.test('the name of an option stands for the address of its pool', async (t) => {
  t.strictSame(await blocks(''), [2, 1, 0]);
  t.strictSame(await blocks(`instrument=${NAME}`), [2, 0]);
  t.strictSame(await blocks(`poolAddress=${POOL.poolAddress.toUpperCase().replace('X', 'x')}`), [2, 0]);
  const byName = await get('/candles', `instrument=${NAME}&interval=1m`);
  t.equal((byName[1] as CandlesResult).candles.length, 2);
  t.strictSame(byName, await get('/candles', `poolAddress=${POOL.poolAddress}&interval=1m`));
});

t.test('a pool that is named twice or unknown is refused, and so are candles of none', async (t) => {
  const either = [400, { message: 'Name the pool by either poolAddress or instrument' }];
  const unknown = [400, { message: 'No deployed pool is named A-B-27NOV26-2-C' }];
  const twice = `poolAddress=${POOL.poolAddress}&instrument=${NAME}`;
  t.strictSame(await get('/trades', twice), either);
  t.strictSame(await get('/candles', `${twice}&interval=1m`), either);
  t.strictSame(await get('/candles', 'interval=1m'), either);
  t.strictSame(await get('/trades', 'instrument=A-B-27NOV26-2-C'), unknown);
  t.strictSame(await get('/candles', 'instrument=A-B-27NOV26-2-C&interval=1m'), unknown);
});
