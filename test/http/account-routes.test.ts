import t from 'tap';
import { tierQuotas } from '../../src/config/limits.js';
import { type AccountQueries, accountRoutes } from '../../src/http/account-routes.js';
import type { Hex } from '../../src/engine/quote.js';
import { LargeAnswers } from '../../src/quota/large-answers.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { systemClock } from '../../src/system/clock.js';
import { TurnBudget } from '../../src/system/turn-budget.js';
import { until } from '../until.js';
import { answersAtOnce, ask, requestOf } from './ask-route.js';

const OPERATOR: Hex = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const OTHER: Hex = '0x00000000000000000000000000000000000000bB';

const noRead = (): Promise<never> => Promise.reject(new Error('nothing is read'));

function serve(given: Partial<AccountQueries> = {}, operator: Hex | null = OPERATOR, chainReads = answersAtOnce()) {
  const asked: Hex[] = [];
  const noting = <T>(value: T) => {
    return (wallet: Hex) => {
      asked.push(wallet);
      return Promise.resolve({ type: 'READ' as const, value });
    };
  };
  const accounts = { collateral: noting([]), native: noting(1n), options: noting([]), ...given };
  const limits = { queryPairs: 10, schemaErrors: 20 };
  const routes = accountRoutes({ accounts, operator: () => operator, chainReads, chainId: '42161', limits });
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

t.test('positions are read one wallet at a time for each key, and charged to it; one too many is 429', async (t) => {
  const quotas = new Quotas(tierQuotas, 1, () => undefined);
  const charged: unknown[] = [];
  quotas.onUsed = ({ id }, kind, amount) => {
    if (kind === 'rows') charged.push([id, amount]);
  };
  const reads: (() => void)[] = [];
  const options: AccountQueries['options'] = (_, work) => {
    work.charge(100, 0);
    return new Promise((resolve) => reads.push(() => resolve({ type: 'READ', value: [] })));
  };
  const routes = accountRoutes({
    accounts: { collateral: noRead, native: noRead, options },
    operator: () => OPERATOR,
    chainReads: new LargeAnswers(quotas, new TurnBudget(systemClock, 1), systemClock),
    chainId: '42161',
    limits: { queryPairs: 10, schemaErrors: 20 },
  });
  const free = { id: 'free', tier: 'free' } as const;
  const get = (i: number) =>
    ask(routes, requestOf('GET', `/account/option_balances?walletAddr=0x${String(i).padStart(40, '0')}`), free);
  const { answersWaiting } = tierQuotas.free;
  const asked = Array.from({ length: 1 + answersWaiting }, (_, i) => get(i));
  t.equal((await get(99)).status, 429);
  await until(() => reads.length === 1);
  for (const [i, answer] of asked.entries()) {
    await until(() => reads.length > i);
    t.equal(reads.length, i + 1, 'the next one waits');
    reads[i]?.();
    t.equal((await answer).status, 200);
  }
  t.strictSame(
    charged,
    asked.map(() => ['free', 100]),
  );
});
