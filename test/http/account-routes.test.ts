import t from 'tap';
import { type AccountQueries, accountRoutes } from '../../src/http/account-routes.js';
import type { Hex } from '../../src/engine/quote.js';
import { ask, requestOf } from './ask-route.js';

const OPERATOR: Hex = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const OTHER: Hex = '0x00000000000000000000000000000000000000bB';

function serve(given: Partial<AccountQueries> = {}, operator: Hex | null = OPERATOR) {
  const asked: Hex[] = [];
  const noting = <T>(value: T) => {
    return (wallet: Hex) => {
      asked.push(wallet);
      return Promise.resolve({ type: 'READ' as const, value });
    };
  };
  const accounts = { collateral: noting([]), native: noting(1n), options: noting([]), ...given };
  const limits = { queryPairs: 10, schemaErrors: 20 };
  const routes = accountRoutes({ accounts, operator: () => operator, chainId: '42161', limits });
  const get = async (target: string): Promise<[number, string]> => {
    const { status, text } = await ask(routes, requestOf('GET', target));
    return [status, text];
  };
  return { asked, get };
}

t.test('amounts are written digit by digit, in whole units', async (t) => {
  const { get } = serve({
    collateral: () =>
      Promise.resolve({
        type: 'READ',
        value: [
          { symbol: 'WETH', address: OTHER, units: 12_345_678_901_234_567_890_123_456_789n, decimals: 18 },
          { symbol: 'DAI', reason: 'because' },
          { symbol: 'USDC', address: OTHER, units: 1n, decimals: 6 },
        ],
      }),
    native: () => Promise.resolve({ type: 'READ', value: 1n }),
    options: () => {
      const position = { poolAddress: OTHER, name: 'A-B-27NOV2026-1-C', amount: 5n * 10n ** 17n };
      return Promise.resolve({
        type: 'READ',
        value: [
          { ...position, exposure: 'SHORT', isOpen: true },
          { ...position, exposure: 'LONG', isOpen: false },
        ],
      });
    },
  });
  t.strictSame(await get('/account/collateral_balances'), [
    200,
    `{"success":[{"token_address":"${OTHER}","symbol":"WETH","balance":12345678901.234567890123456789},` +
      `{"token_address":"${OTHER}","symbol":"USDC","balance":0.000001}],"failed":[{"token":"DAI","reason":"because"}]}`,
  ]);
  t.strictSame(await get('/account/native_balance'), [200, '0.000000000000000001']);
  const [start, name] = [`{"token_address":"${OTHER}","amount":0.5,`, '"name":"A-B-27NOV2026-1-C"'];
  t.strictSame(await get('/account/option_balances'), [
    200,
    `{"open":[${start}${name},"exposure":"SHORT"}],"expired":[${start}${name},"exposure":"LONG"}]}`,
  ]);
});

t.test('the wallet is the one that is named, else that of the operator', async (t) => {
  const { asked, get } = serve();
  for (const path of ['collateral_balances', 'native_balance', 'option_balances']) {
    await get(`/account/${path}`);
    await get(`/account/${path}?walletAddr=${OTHER}`);
  }
  await get(`/account/option_balances?chainId=42161&wallet=${OTHER}`);
  await get(`/account/option_balance?chainId=42161&wallet=${OTHER}`);
  t.strictSame(asked, [OPERATOR, OTHER, OPERATOR, OTHER, OPERATOR, OTHER, OTHER, OTHER]);
});

t.test('without a wallet only a named account is answered for', async (t) => {
  const { asked, get } = serve({}, null);
  for (const path of ['collateral_balances', 'native_balance', 'option_balances']) {
    const [status, text] = await get(`/account/${path}`);
    t.equal(status, 501);
    t.match(text, 'walletKey');
    t.equal((await get(`/account/${path}?walletAddr=${OTHER}`))[0], 200);
  }
  t.strictSame(asked, [OTHER, OTHER, OTHER]);
});

t.test('both forms of the query at once, half of one, and another chain are refused', async (t) => {
  const { asked, get } = serve();
  for (const query of [
    `walletAddr=${OTHER}&wallet=${OTHER}`,
    `walletAddr=${OTHER}&chainId=42161`,
    `wallet=${OTHER}`,
    'chainId=42161',
    `chainId=421613&wallet=${OTHER}`,
    `walletAddr=${OTHER}&walletAddr=${OTHER}`,
    'walletAddr=',
    'walletAddr=%zz',
  ]) {
    t.equal((await get(`/account/option_balances?${query}`))[0], 400, query);
  }
  t.strictSame(asked, []);
});

t.test('a chain that does not answer is 503', async (t) => {
  const down = () => Promise.resolve({ type: 'CHAIN_UNREACHABLE' as const });
  const { get } = serve({ collateral: down, native: down, options: down });
  for (const path of ['collateral_balances', 'native_balance', 'option_balances']) {
    t.strictSame(await get(`/account/${path}`), [503, '{"message":"The chain does not answer"}']);
  }
});
