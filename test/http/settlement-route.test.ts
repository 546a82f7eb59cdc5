import t from 'tap';
import { type SettledItem, settlementRoute, type Settlements } from '../../src/http/settlement-route.js';
import type { GasRefusal } from '../../src/quota/gas-budget.js';
import { ask, requestOf } from './ask-route.js';
import { tellsWhenToComeAgain } from './gas-refusals.js';

const limits = { bodyParts: 10_000, settlementsPerRequest: 1000, queryPairs: 10, schemaErrors: 20 };
const symbols = ['WETH', 'USDC'];
const option = { base: 'WETH', quote: 'USDC', expiration: '06JAN23', strike: 1800, type: 'C' };

function answering(items: readonly SettledItem[]): Settlements {
  return { refusal: () => null, settle: () => Promise.resolve({ type: 'ANSWERED', items }) };
}

t.test('options come back as they were posted, in the order of the request', async (t) => {
  const options = [1, 2, 3].map((strike) => ({ ...option, strike }));
  const settlements = answering([{ type: 'SETTLED' }, { type: 'FAILED', reason: 'why' }, { type: 'SETTLED' }]);
  const { status, text } = await ask(
    [settlementRoute(settlements, symbols, limits)],
    requestOf('POST', '/pool/settle', options),
  );
  t.equal(status, 200);
  t.strictSame(JSON.parse(text), {
    success: [options[0], options[2]],
    failed: [{ failedOption: options[1], reason: 'why' }],
  });
});

t.test('a thousand options are one request, one more is too many', async (t) => {
  const settlements = answering(Array.from({ length: 1000 }, () => ({ type: 'SETTLED' as const })));
  const routes = [settlementRoute(settlements, symbols, limits)];
  const many = (length: number) => Array.from({ length }, () => option);
  t.equal((await ask(routes, requestOf('POST', '/pool/settle', many(1000)))).status, 200);
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle', many(1001)));
  t.equal(status, 400);
  t.match(JSON.parse(text), [{ keyword: 'maxItems', message: 'must NOT have more than 1000 items' }]);
});

t.test('without a wallet the missing setting is named', async (t) => {
  const routes = [settlementRoute(null, symbols, limits)];
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle', [option]));
  t.equal(status, 501);
  t.match(text, 'walletKey');
});

t.test('a chain that does not answer is 503, to be tried again', async (t) => {
  const settlements: Settlements = { ...answering([]), settle: () => Promise.resolve({ type: 'CHAIN_UNREACHABLE' }) };
  const routes = [settlementRoute(settlements, symbols, limits)];
  const { status, headers } = await ask(routes, requestOf('POST', '/pool/settle', [option]));
  t.strictSame([status, headers['retry-after']], [503, '1']);
});

t.test('nothing is settled that could not be written down before it is sent', async (t) => {
  const settle = (): Promise<never> => Promise.reject(new Error('Nothing is to be settled'));
  const routes = [settlementRoute({ refusal: () => 'STORAGE_FULL', settle }, symbols, limits)];
  const { status, headers, text } = await ask(routes, requestOf('POST', '/pool/settle', [option]));
  t.strictSame([status, headers['retry-after'], text], [503, '1', '{"message":"STORAGE_FULL"}']);
});

t.test('a parameter is refused, and nothing is settled: there is no dry run here', async (t) => {
  const settlements: Settlements = {
    ...answering([]),
    settle: () => Promise.reject(new Error('Nothing is to be settled')),
  };
  const routes = [settlementRoute(settlements, symbols, limits)];
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle?dryRun=true', [option]));
  t.equal(status, 400);
  t.match(JSON.parse(text), [
    { params: { additionalProperty: 'dryRun' }, message: 'must NOT have additional properties' },
  ]);
});

t.test('what nobody pays for now is refused, and says when to come again', (t) => {
  const routesOf = (refusal: GasRefusal) => [
    settlementRoute({ ...answering([]), settle: () => Promise.resolve(refusal) }, symbols, limits),
  ];
  return tellsWhenToComeAgain(t, routesOf, '/pool/settle', [option]);
});
