import fc from 'fast-check';
import t from 'tap';
import { tierQuotas } from '../../src/config/limits.js';
import {
  type PoolDeployments,
  type PoolQueries,
  poolRoutes,
  settlementRoutes,
  type Settlements,
} from '../../src/http/options-routes.js';
import type { LargeAnswerRunner } from '../../src/http/responses.js';
import type { GasRefusal } from '../../src/quota/gas-budget.js';
import { LargeAnswers } from '../../src/quota/large-answers.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { systemClock } from '../../src/system/clock.js';
import type { PacedWork } from '../../src/system/paced-work.js';
import { TurnBudget } from '../../src/system/turn-budget.js';
import { type OptionTerms, readAmount } from '../../src/wire/options.js';
import type { DeployedItem, SettledItem } from '../../src/wire/answers.js';
import { formatDecimal, parseDecimal } from '../../src/wire/primitives.js';
import { POOL } from '../engine/samples.js';
import { until } from '../until.js';
import { ask, requestOf } from './ask-route.js';
import { tellsWhenToComeAgain } from './gas-refusals.js';

const limits = { bodyParts: 1_000, poolsPerRequest: 100, queryPairs: 10, rowsPerSlice: 2, schemaErrors: 3 };
const symbols = ['WETH', 'USDC'];
const option = { base: 'WETH', quote: 'USDC', expiration: '29NOV30', strike: 1800, type: 'C' };
const ADDRESS = `0x${'ab'.repeat(20)}` as const;
/** Of each large answer the rows that were charged. */
const charged: number[] = [];
const work: PacedWork = { turn: () => Promise.resolve(), charge: (rows) => charged.push(rows) };
const answers: LargeAnswerRunner = { run: async (_, make) => make(work) };
const noPools: PoolQueries = { list: () => [], instruments: () => [], whenDurable: () => null };

/** Answers every option with the next item, and keeps what it was asked. */
function deploying(items: readonly DeployedItem[]): PoolDeployments & { asked: OptionTerms[] } {
  const asked: OptionTerms[] = [];
  return {
    asked,
    refusal: () => null,
    deploy(_, options) {
      asked.push(...options);
      return Promise.resolve({ type: 'ANSWERED', items });
    },
  };
}

t.test('the list is written with exact strikes, in the order in which it comes', async (t) => {
  const strike = 1234_567_890_123_456_789n;
  const pools: PoolQueries = {
    list: () => [
      { base: 'WETH', quote: 'USDC', expiration: '29NOV30', strike, type: 'C', poolAddress: ADDRESS },
      { base: 'WETH', quote: 'USDC', expiration: '29NOV30', strike: 10n ** 11n, type: 'P', poolAddress: ADDRESS },
    ],
    instruments: () => [],
    whenDurable: () => null,
  };
  const { status, text } = await ask(
    poolRoutes(pools, () => null, symbols, answers, limits),
    requestOf('GET', '/pools'),
  );
  const same = '"base":"WETH","quote":"USDC","expiration":"29NOV30"';
  t.equal(status, 200);
  t.equal(
    text,
    `[{${same},"strike":1.234567890123456789,"type":"C","poolAddress":"${ADDRESS}"},` +
      `{${same},"strike":0.0000001,"type":"P","poolAddress":"${ADDRESS}"}]`,
  );
});

t.test('filters reach the index, the expiration as a moment', async (t) => {
  const filters: unknown[] = [];
  const pools: PoolQueries = {
    list(filter) {
      filters.push(filter);
      return [];
    },
    instruments: () => [],
    whenDurable: () => null,
  };
  const routes = poolRoutes(pools, () => null, symbols, answers, limits);
  await ask(routes, requestOf('GET', '/pools'));
  await ask(routes, requestOf('GET', '/pools?&base=WETH&&quote=USDC&expiration=29NOV30'));
  t.strictSame(filters, [{}, { base: 'WETH', quote: 'USDC', maturity: Date.UTC(2030, 10, 29, 8) / 1000 }]);
});

t.test('a symbol of the service that this chain lacks gives an empty list', async (t) => {
  const { status, text } = await ask(
    poolRoutes(noPools, () => null, symbols, answers, limits),
    requestOf('GET', '/pools?base=testWETH'),
  );
  t.strictSame([status, text], [200, '[]']);
});

t.test('each pool of a list is charged as a row, and a list waits where the key has none left', async (t) => {
  const pool = { ...option, type: 'C', strike: 1n, poolAddress: ADDRESS } as const;
  const one = { instrument: 'WETH-USDC-29NOV30-1800-C', pool: POOL };
  const pools: PoolQueries = { ...noPools, list: () => [pool, pool], instruments: () => [one, one] };
  charged.length = 0;
  await ask(
    poolRoutes(pools, () => null, symbols, answers, limits),
    requestOf('GET', '/pools'),
  );
  t.strictSame(charged, [2]);
  const later: LargeAnswerRunner = { run: () => ({ retryAfterMs: 1_500 }) };
  for (const path of ['/pools', '/instruments']) {
    const routes = poolRoutes(pools, () => null, symbols, later, limits);
    const { status, headers } = await ask(routes, requestOf('GET', path));
    t.strictSame([status, headers['retry-after']], [429, '2'], path);
  }
});

t.test('the list waits until what it tells is durable', async (t) => {
  let commit: () => void = () => undefined;
  const durable = new Promise<void>((resolve) => (commit = resolve));
  const routes = poolRoutes(
    { list: () => [], instruments: () => [], whenDurable: () => durable },
    () => null,
    symbols,
    answers,
    limits,
  );
  let answered = false;
  const answer = ask(routes, requestOf('GET', '/pools')).then(() => (answered = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(answered, false);
  commit();
  t.equal(await answer, true);
});

t.test('each option is answered in the list of what became of it, in the order of the request', async (t) => {
  const options = [1, 2, 3, 4].map((i) => ({ ...option, strike: i * 1e-7 }));
  const deployments = deploying([
    { type: 'FAILED', reason: 'because' },
    { type: 'CREATED', poolAddress: ADDRESS },
    { type: 'EXISTED', poolAddress: ADDRESS },
    { type: 'CREATED', poolAddress: ADDRESS },
  ]);
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  const { status, text } = await ask(routes, requestOf('POST', '/pools', options));
  t.equal(status, 200);
  t.strictSame(JSON.parse(text), {
    created: [
      { ...options[1], poolAddress: ADDRESS },
      { ...options[3], poolAddress: ADDRESS },
    ],
    existed: [{ ...options[2], poolAddress: ADDRESS }],
    failed: [{ ...options[0], reason: 'because' }],
  });
  t.strictSame(
    deployments.asked.map(({ strike }) => strike),
    [10n ** 11n, 2n * 10n ** 11n, 3n * 10n ** 11n, 4n * 10n ** 11n],
    'strikes are read without a float in between',
  );
});

t.test('a pool is named as the list names it, however its month was written', async (t) => {
  const reason = 'because';
  const deployments = deploying([
    { type: 'CREATED', poolAddress: ADDRESS },
    { type: 'EXISTED', poolAddress: ADDRESS },
    { type: 'FAILED', reason },
  ]);
  const posted = { ...option, expiration: '29nov30' };
  const { text } = await ask(
    poolRoutes(noPools, () => deployments, symbols, answers, limits),
    requestOf('POST', '/pools', [posted, posted, posted]),
  );
  const pool = { ...option, poolAddress: ADDRESS };
  t.strictSame(JSON.parse(text), { created: [pool], existed: [pool], failed: [{ ...posted, reason }] });
});

t.test('nothing is deployed when one option of the request is malformed', async (t) => {
  const deployments = deploying([]);
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  for (const bad of [{ ...option, type: 'p' }, { ...option, base: 'DOGE' }, { ...option, strike: 0 }, null]) {
    t.equal((await ask(routes, requestOf('POST', '/pools', [option, bad]))).status, 400);
  }
  t.strictSame(deployments.asked, []);
});

t.test('a strike is deployed as it was written, or refused; 17 digits of a double mean the double', async (t) => {
  const deployments = deploying([{ type: 'CREATED', poolAddress: ADDRESS }]);
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  const double = JSON.stringify([option]).replace('1800', '1800.0999999999999');
  t.equal((await ask(routes, requestOf('POST', '/pools', double))).status, 200);
  t.equal(deployments.asked.pop()?.strike, 18_001n * 10n ** 17n);
  const meant = (strike: bigint): bigint => {
    const read = Number(formatDecimal(strike, 18));
    const is17Digits = parseDecimal(read.toPrecision(17), 18) === strike;
    return is17Digits ? readAmount(String(read)) : strike;
  };
  const outcomes = { exact: 0, refused: 0 };
  const strikes = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.integer({ min: 0, max: 18 }));
  await fc.assert(
    fc.asyncProperty(strikes, async ([digits, dropped]) => {
      const strike = digits - (digits % 10n ** BigInt(dropped)) + 10n ** 18n;
      const body = JSON.stringify([option]).replace('1800', formatDecimal(strike, 18));
      const { status, text } = await ask(routes, requestOf('POST', '/pools', body));
      if (status === 200) {
        outcomes.exact += 1;
        t.equal(deployments.asked.pop()?.strike, meant(strike));
      } else {
        outcomes.refused += 1;
        t.match(JSON.parse(text), [{ keyword: 'exactNumber' }]);
      }
    }),
  );
  t.ok(outcomes.exact > 0 && outcomes.refused > 0);
  t.strictSame(deployments.asked, []);
});

t.test('a parameter is refused, and nothing is deployed: there is no dry run here', async (t) => {
  const deployments = deploying([{ type: 'CREATED', poolAddress: ADDRESS }]);
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  for (const [query, first] of [
    ['dryRun=true', { params: { additionalProperty: 'dryRun' }, message: 'must NOT have additional properties' }],
    ['%zz', undefined],
  ] as const) {
    const { status, text } = await ask(routes, requestOf('POST', `/pools?${query}`, [option]));
    t.equal(status, 400);
    const body: unknown = JSON.parse(text);
    t.match(body, first === undefined ? { message: 'The query has a malformed percent-encoding' } : [first]);
  }
  t.strictSame(deployments.asked, []);
  t.equal((await ask(routes, requestOf('POST', '/pools?&', [option]))).status, 200, 'stray signs are none');
});

t.test('every unknown symbol is named, up to the limit of errors', async (t) => {
  const routes = poolRoutes(noPools, () => deploying([]), symbols, answers, limits);
  const options = [option, { ...option, base: 'A', quote: 'B' }, { ...option, quote: 'C' }, { ...option, base: 'D' }];
  const { text } = await ask(routes, requestOf('POST', '/pools', options));
  const errors = JSON.parse(text) as { instancePath: string; keyword: string; message: string }[];
  t.strictSame(
    errors.map(({ instancePath }) => instancePath),
    ['/1/base', '/1/quote', '/2/quote'],
  );
  t.match(errors[0], { keyword: 'pattern', message: 'must match pattern "^WETH$|^USDC$"' });
});

t.test('the list is filtered by the symbols of every deployment and by those of this one', async (t) => {
  const routes = poolRoutes(noPools, () => null, ['WETH', 'TOK.1'], answers, limits);
  for (const symbol of ['ARB', 'WETH', 'TOK.1']) {
    t.equal((await ask(routes, requestOf('GET', `/pools?base=${symbol}&quote=${symbol}`))).status, 200, symbol);
  }
  const { status, text } = await ask(routes, requestOf('GET', '/pools?base=TOKx1'));
  const pattern = '^testWETH$|^WETH$|^WBTC$|^PREMIA$|^LINK$|^USDC$|^DAI$|^ARB$|^TOK\\.1$';
  const refused = { keyword: 'pattern', instancePath: '/base', message: `must match pattern "${pattern}"` };
  t.match([status, JSON.parse(text)], [400, [refused]]);
});

t.test('POST /pools: a chain that does not answer is 503, to be tried again', async (t) => {
  const deployments: PoolDeployments = {
    refusal: () => null,
    deploy: () => Promise.resolve({ type: 'CHAIN_UNREACHABLE' }),
  };
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  const { status, headers, text } = await ask(routes, requestOf('POST', '/pools', [option]));
  t.strictSame([status, headers['retry-after'], text], [503, '1', '{"message":"The chain does not answer"}']);
});

t.test('nothing is deployed that could not be listed', async (t) => {
  const deployments = { ...deploying([]), refusal: () => 'STORAGE_FULL' };
  const routes = poolRoutes(noPools, () => deployments, symbols, answers, limits);
  const { status, headers, text } = await ask(routes, requestOf('POST', '/pools', [option]));
  t.strictSame([status, headers['retry-after'], text], [503, '1', '{"message":"STORAGE_FULL"}']);
  t.strictSame(deployments.asked, []);
});

t.test('POST /pools: what nobody pays for now is refused, and says when to come again', (t) => {
  const routesOf = (refusal: GasRefusal) => {
    const deployments: PoolDeployments = { refusal: () => null, deploy: () => Promise.resolve(refusal) };
    return poolRoutes(noPools, () => deployments, symbols, answers, limits);
  };
  return tellsWhenToComeAgain(t, routesOf, '/pools', [option]);
});

const settlementLimits = { bodyParts: 10_000, settlementsPerRequest: 1000, queryPairs: 10, schemaErrors: 20 };
const settlementSymbols = ['WETH', 'USDC'];
const settledOption = { base: 'WETH', quote: 'USDC', expiration: '06JAN23', strike: 1800, type: 'C' };

const NOT_SETTLED: SettledItem = { type: 'FAILED', reason: 'why' };

function answering(items: readonly SettledItem[]): Settlements {
  const answer = () => Promise.resolve({ type: 'ANSWERED' as const, items });
  return { refusal: () => null, settle: answer, exercise: answer, annihilate: answer };
}

t.test('options come back as they were posted, in the order of the request', async (t) => {
  const options = [1, 2, 3].map((strike) => ({ ...settledOption, strike }));
  const settlements = answering([{ type: 'SETTLED' }, { type: 'FAILED', reason: 'why' }, { type: 'SETTLED' }]);
  const { status, text } = await ask(
    [...settlementRoutes(() => settlements, settlementSymbols, answers, settlementLimits)],
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
  const routes = [...settlementRoutes(() => settlements, settlementSymbols, answers, settlementLimits)];
  const many = (length: number) => Array.from({ length }, () => settledOption);
  t.equal((await ask(routes, requestOf('POST', '/pool/settle', many(1000)))).status, 200);
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle', many(1001)));
  t.equal(status, 400);
  t.match(JSON.parse(text), [{ keyword: 'maxItems', message: 'must NOT have more than 1000 items' }]);
});

t.test('without a wallet the missing setting is named', async (t) => {
  const routes = [...settlementRoutes(() => null, settlementSymbols, answers, settlementLimits)];
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle', [settledOption]));
  t.equal(status, 501);
  t.match(text, 'walletKey');
});

t.test('POST /pool/settle: a chain that does not answer is 503, to be tried again', async (t) => {
  const settlements: Settlements = { ...answering([]), settle: () => Promise.resolve({ type: 'CHAIN_UNREACHABLE' }) };
  const routes = [...settlementRoutes(() => settlements, settlementSymbols, answers, settlementLimits)];
  const { status, headers } = await ask(routes, requestOf('POST', '/pool/settle', [settledOption]));
  t.strictSame([status, headers['retry-after']], [503, '1']);
});

t.test('nothing is settled that could not be written down before it is sent', async (t) => {
  const settle = (): Promise<never> => Promise.reject(new Error('Nothing is to be settled'));
  const routes = [
    ...settlementRoutes(
      () => ({ ...answering([]), refusal: () => 'STORAGE_FULL', settle }),
      settlementSymbols,
      answers,
      settlementLimits,
    ),
  ];
  const { status, headers, text } = await ask(routes, requestOf('POST', '/pool/settle', [settledOption]));
  t.strictSame([status, headers['retry-after'], text], [503, '1', '{"message":"STORAGE_FULL"}']);
});

t.test('a parameter is refused, and nothing is settled: there is no dry run here', async (t) => {
  const settlements: Settlements = {
    ...answering([]),
    settle: () => Promise.reject(new Error('Nothing is to be settled')),
  };
  const routes = [...settlementRoutes(() => settlements, settlementSymbols, answers, settlementLimits)];
  const { status, text } = await ask(routes, requestOf('POST', '/pool/settle?dryRun=true', [settledOption]));
  t.equal(status, 400);
  t.match(JSON.parse(text), [
    { params: { additionalProperty: 'dryRun' }, message: 'must NOT have additional properties' },
  ]);
});

t.test('three rows an option are charged before anything is asked, or 429 where too many requests wait', async (t) => {
  for (const close of ['settle', 'exercise', 'annihilate']) {
    charged.length = 0;
    const chargedBefore: number[] = [];
    const answer = () => {
      chargedBefore.push(...charged);
      return Promise.resolve({ type: 'ANSWERED' as const, items: [{ type: 'SETTLED' as const }, NOT_SETTLED] });
    };
    const settlements = { refusal: () => null, settle: answer, exercise: answer, annihilate: answer };
    const request = requestOf('POST', `/pool/${close}`, [settledOption, settledOption]);
    const { status } = await ask(
      settlementRoutes(() => settlements, settlementSymbols, answers, settlementLimits),
      request,
    );
    t.strictSame([status, chargedBefore], [200, [6]], close);
    const later: LargeAnswerRunner = { run: () => ({ retryAfterMs: 1_500 }) };
    chargedBefore.length = 0;
    const refused = await ask(
      settlementRoutes(() => settlements, settlementSymbols, later, settlementLimits),
      request,
    );
    t.strictSame([refused.status, refused.headers['retry-after'], chargedBefore], [429, '2', []], close);
  }
});

t.test('a settlement that waits for its transactions holds up no other request of the key', async (t) => {
  const quotas = new Quotas(tierQuotas, 1, () => undefined);
  const chainReads = new LargeAnswers(quotas, new TurnBudget(systemClock, 1), systemClock);
  const mined: (() => void)[] = [];
  const settle: Settlements['settle'] = () =>
    new Promise((resolve) => mined.push(() => resolve({ type: 'ANSWERED', items: [{ type: 'SETTLED' }] })));
  const settlements = { ...answering([]), settle };
  const routes = settlementRoutes(() => settlements, settlementSymbols, chainReads, settlementLimits);
  const post = () => ask(routes, requestOf('POST', '/pool/settle', [settledOption]));
  const posted = [post(), post()];
  await until(() => mined.length === 2);
  for (const resolve of mined) resolve();
  for (const { status } of await Promise.all(posted)) t.equal(status, 200);
});

t.test('POST /pool/settle: what nobody pays for now is refused, and says when to come again', (t) => {
  const routesOf = (refusal: GasRefusal) => [
    ...settlementRoutes(
      () => ({ ...answering([]), settle: () => Promise.resolve(refusal) }),
      settlementSymbols,
      answers,
      settlementLimits,
    ),
  ];
  return tellsWhenToComeAgain(t, routesOf, '/pool/settle', [settledOption]);
});
