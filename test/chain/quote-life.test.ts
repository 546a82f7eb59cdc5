import t from 'tap';
import type { EngineEvent } from '../../src/engine/event.js';
import { ManualClock } from '../system/manual-clock.js';
import { Market, ONE } from './dev/market.js';
import { httpRpc } from './following.js';
import { MarketBook } from './market-book.js';
import { RpcProxy } from './rpc-proxy.js';

const market = await Market.open(t);
const { maker, taker } = market;
const call = market.pool('testWETH', 1800n, true);

const onChainAlone = MarketBook.tests(t, market);

t.test('a quote enters as it was at the block that the book shows, and what came after counts once', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const before = await market.sign(call);
    await market.fill(taker.address, before, ONE / 2n);
    await book.upToDate();
    const shown = await market.client.request({ method: 'eth_getBlockByNumber', params: ['latest', false] });
    proxy.trick = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { rewrite: () => shown } : 'PASS';
    const [after, cancelled] = [await market.sign(call), await market.sign(call)];
    await market.fill(taker.address, before, ONE / 4n);
    await market.fill(taker.address, after, ONE / 4n);
    await market.cancel(maker.address, call.poolAddress, [cancelled.quoteId]);
    await market.publish(maker.address, [before, after, cancelled]);
    const offers = [before, after, cancelled];
    await book.following.until(() => book.ids.length === offers.length);
    t.strictSame(
      offers.map((offer) => book.fillable(offer)),
      [ONE / 2n, ONE, ONE],
    );
    proxy.trick = () => 'PASS';
    await book.upToDate();
    t.strictSame(
      offers.map((offer) => book.fillable(offer)),
      [ONE / 4n, (3n * ONE) / 4n, 0n],
    );
  });
});

onChainAlone('what the chain says is filled counts, whatever was heard', {}, async (t, book) => {
  const offer = await market.sign(call);
  await market.fill(taker.address, offer, (2n * ONE) / 3n);
  await book.publish(offer);
  t.equal(book.fillable(offer), ONE - (2n * ONE) / 3n);
  await book.publish(offer);
  t.equal(book.fillable(offer), ONE - (2n * ONE) / 3n, 'a repeated publication changes nothing');
  await market.fill(taker.address, offer, ONE - (2n * ONE) / 3n);
  await book.publish(offer);
  t.equal(book.reasonOf(offer), null, 'nor does it bring back what is gone');
});

const events: EngineEvent[] = [];
const frozen = { timeClock: new ManualClock(), onEvents: (all: readonly EngineEvent[]) => void events.push(...all) };
const expired = () => events.flatMap((event) => (event.type === 'QUOTE_REMOVED' ? [[event.why, event.valid]] : []));

onChainAlone('a quote is there in the second of its deadline, and gone in the next', frozen, async (t, book) => {
  const deadline = (await market.now()) + 1000;
  const [offer, longer] = [await market.sign(call, { deadline }), await market.sign(call, { deadline: deadline + 1 })];
  await book.publish(offer, longer);
  await market.moveTimeTo(deadline);
  await book.upToDate();
  t.strictSame([book.reasonOf(offer), book.reasonOf(longer)], [0, 0]);
  events.length = 0;
  await market.moveTimeTo(deadline + 1);
  await book.following.until(() => events.length > 0);
  t.strictSame([book.reasonOf(offer), book.reasonOf(longer)], [null, 0]);
  t.strictSame(expired(), [['EXPIRED', true]]);
});

onChainAlone('a quote goes in the second of its pool’s maturity', frozen, async (t, book) => {
  const { maturity } = call.poolKey;
  const offer = await market.sign(call, { deadline: maturity + 1000 });
  await book.publish(offer);
  await market.moveTimeTo(maturity - 1);
  await book.upToDate();
  t.equal(book.reasonOf(offer), 0);
  events.length = 0;
  await market.moveTimeTo(maturity);
  await book.following.until(() => events.length > 0);
  t.strictSame(expired(), [['EXPIRED', true]]);
  t.equal(book.following.engine.pool(call.poolAddress), undefined, 'with the pool itself');
});

onChainAlone('a quote goes on time where no block tells the time', {}, async (t, book) => {
  const deadline = (await market.now()) + 1;
  const offer = await market.sign(call, { deadline });
  await book.publish(offer);
  const height = await market.client.getBlockNumber();
  await book.following.until(() => book.reasonOf(offer) === null);
  t.ok(book.following.engine.tsMs >= (deadline + 1) * 1000);
  t.equal(await market.client.getBlockNumber(), height);
});
