import t from 'tap';
import { Market } from '../chain/dev/market.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf } from './wire-option.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { maker, taker } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const pool = market.pool('testWETH', 1600n, false);
const option = optionOf(chain, pool);

const posted = await rest.post(
  '/quotes',
  await Promise.all([
    signQuote(maker.privateKey, pool, { price: ONE / 20n, size: 2n * ONE }),
    signQuote(maker.privateKey, pool, { price: ONE / 10n, size: ONE / 2n }),
    signQuote(maker.privateKey, pool, { price: ONE / 40n, taker: taker.address }),
  ]),
);
if (posted.status !== 201) throw new Error('the quotes were not created');

function best(more: Readonly<Record<string, string>>): ReturnType<RestClient['get']> {
  const { base, quote, expiration, strike, type } = option;
  const query = { base, quote, expiration, strike: String(strike), type, side: 'ask', size: '1', ...more };
  return rest.get(`/orderbook/quotes?${new URLSearchParams(query).toString()}`);
}

await t.test('the best quotes for a size are written with symbols and whole units', async (t) => {
  const { status, body } = await best({ size: '2.1' });
  t.equal(status, 200);
  const [first, second] = body as unknown as Record<string, unknown>[];
  t.match(first, { ...option, side: 'ask', remainingSize: 2, price: 0.05, provider: maker.address.toLowerCase() });
  t.match(second, { price: 0.1, remainingSize: 0.5 });
  // Signed for an hour. Engine time, which is that of the newest record, may be some seconds behind.
  t.ok(Number(first?.deadline) > 3_300 && Number(first?.deadline) <= 3_660, 'seconds left');
  const own = await best({ taker: taker.address });
  t.match((own.body as unknown as object[])[0], { price: 0.025, taker: taker.address.toLowerCase() });
});

await t.test('what ends the process of the public container is answered', async (t) => {
  t.match(await best({ strike: '1601' }), { status: 400, body: { message: 'Can not get pool address' } });
  t.match(await best({ strike: '2500' }), { status: 200, body: [] }, 'possible, and not deployed');
  t.match(await best({ expiration: '31FEB27' }), {
    status: 400,
    body: { message: 'Invalid expiration date: 31FEB27', quotesRequest: { expiration: '31FEB27' } },
  });
  for (const wrong of [{ base: 'DOGE' }, { size: '-1' }, { side: 'both' }]) {
    t.equal((await best(wrong)).status, 400, JSON.stringify(wrong));
  }
});

await t.test('orders are filtered by size in contracts, newest first', async (t) => {
  const list = async (query: string) => (await rest.get(`/orderbook/orders?${query}`)).body as unknown as object[];
  t.match(await list(`provider=${maker.address}`), [{ price: 0.1 }, { price: 0.05 }]);
  t.match(await list('size=1'), [{ price: 0.05 }]);
  t.strictSame(await list('side=bid'), []);
  t.strictSame(await list('type=invalid'), []);
  t.equal((await rest.get('/orderbook/orders?size=x')).status, 400);
});

await t.test("an account's orders are those of the wallet that is named, else of the operator", async (t) => {
  t.equal(((await rest.get(`/account/orders?walletAddr=${maker.address}`)).body as unknown as object[]).length, 2);
  t.strictSame((await rest.get('/account/orders')).body, []);
  const own = await signQuote(market.operator.privateKey, pool, { price: ONE / 3n, taker: taker.address });
  t.equal((await rest.post('/quotes', [own])).status, 201);
  t.match((await rest.get('/account/orders')).body, [{ taker: taker.address.toLowerCase() }], 'private ones, too');
});
