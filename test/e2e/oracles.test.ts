import t from 'tap';
import { encodeFunctionData } from 'viem';
import { oracleAdapterAbi, volatilityOracleAbi } from '../../src/chain/contracts/abi.js';
import { devVolatilityAbi, priceOracleAbi } from '../../src/chain/dev/contracts.js';
import { listStrikes } from '../../src/wire/oracles.js';
import { parseExpiration } from '../../src/wire/expiration.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

// None of these routes needs a wallet.
const running = await startTestService({ walletKey: null });
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const rest = new RestClient(running.httpUrl, running.apiKey);
const { oracleAdapter, volatilityOracle } = chain.contracts;
const YEAR = 365n * 86_400n;

function listOf({ body }: RestAnswer): readonly unknown[] {
  return body as unknown as readonly unknown[];
}

await t.test('spot prices are those that the oracle adapter says', async (t) => {
  const spot = { address: oracleAdapter, abi: oracleAdapterAbi, functionName: 'getPrice' } as const;
  const args = [market.token('WBTC'), market.token('USDC')] as const;
  const price = await market.client.readContract({ ...spot, args });
  t.match(await rest.get('/oracles/spot?markets=WBTC&markets=USDC'), {
    status: 200,
    body: [
      { market: 'WBTC', price: Number(price / ONE) },
      { market: 'USDC', price: 1 },
    ],
  });
});

await t.test('strikes of a market are those of its spot price', async (t) => {
  const { body } = await rest.get('/pools/strikes?market=WETH');
  t.strictSame(
    body,
    listStrikes(1800n * ONE).map((strike) => Number(strike / ONE)),
  );
});

await t.test('volatilities are those that the volatility oracle says of each strike', async (t) => {
  const expiration = String(listOf(await rest.get('/pools/maturities')).at(-1));
  const answer = await rest.get(`/oracles/iv?market=WETH&expiration=${expiration}`);
  t.equal(answer.status, 200);
  const seconds = BigInt((parseExpiration(expiration) ?? 0) - (await market.now()));
  for (const { strike, iv } of listOf(answer) as { strike: number; iv: number }[]) {
    const args = [market.token('WETH'), 1800n * ONE, BigInt(strike) * ONE, (seconds * ONE) / YEAR] as const;
    const oracle = { address: volatilityOracle, abi: volatilityOracleAbi, functionName: 'getVolatility' } as const;
    const said = await market.client.readContract({ ...oracle, args });
    t.ok(Math.abs(iv - Number(said) / 1e18) <= 0.005_001, `${strike}`);
  }
});

await t.test('a token that an oracle does not know has an error, not a number', async (t) => {
  const [dai, arb] = [market.token('DAI'), market.token('ARB')];
  const [{ address: from } = { address: '0x' }] = chain.accounts;
  const noPrice = encodeFunctionData({ abi: priceOracleAbi, functionName: 'setUsdPrice', args: [dai, 0n] });
  await market.send(from as `0x${string}`, oracleAdapter, noPrice);
  t.match(await rest.get('/oracles/spot?markets=DAI'), {
    status: 500,
    body: { message: 'Failed to get spot prices from oracle: it has no price of DAI' },
  });
  t.match(await rest.get('/pools/strikes?market=DAI'), {
    status: 500,
    body: { message: 'Failed to get spot price from oracle, try again or provide spot price' },
  });
  const noVolatility = encodeFunctionData({
    abi: devVolatilityAbi,
    functionName: 'setAtTheMoney',
    args: [[arb], [0n]],
  });
  await market.send(from as `0x${string}`, volatilityOracle, noVolatility);
  const expiration = String(listOf(await rest.get('/pools/maturities'))[0]);
  t.match(await rest.get(`/oracles/iv?market=ARB&expiration=${expiration}`), {
    status: 500,
    body: { message: "Failed to get IV's from oracle" },
  });
});

await t.test('a query that is wrong is refused in the words of the container', async (t) => {
  const expiration = String(listOf(await rest.get('/pools/maturities'))[0]);
  const refusal = async (target: string): Promise<unknown> => {
    const { status, body } = await rest.get(target);
    return [status, Array.isArray(body) ? (body as { message: string }[]).map(({ message }) => message) : body];
  };
  const symbols = `must match pattern "${chain.profile.tokens.map(({ symbol }) => `^${symbol}$`).join('|')}"`;
  const [market, spotPrice] = ["must have required property 'market'", "must have required property 'spotPrice'"];
  const [more, one] = ['must NOT have additional properties', 'must match exactly one schema in oneOf'];
  for (const [target, wanted] of [
    ['/pools/strikes', [market, spotPrice, one]],
    ['/pools/strikes?market=WETH&spotPrice=1', [more, more, one]],
    ['/pools/strikes?market=DOGE', [symbols, spotPrice, one]],
    ['/pools/strikes?spotPrice=12abc', { message: 'spotPrice must be a number', spotPrice: '12abc' }],
    ['/pools/strikes?spotPrice=-1', { message: 'spotPrice must be a number', spotPrice: '-1' }],
    ['/pools/strikes?spotPrice=1e400', { message: 'spotPrice must be a number', spotPrice: '1e400' }],
    ['/pools/strikes?spotPrice=0', { message: 'spotPrice must be > 0', spotPrice: '0' }],
    ['/pools/maturities?market=WETH', [more]],
    ['/oracles/spot', ["must have required property 'markets'"]],
    ['/oracles/spot?markets[]=WETH&markets[]=DOGE', [symbols]],
    ['/oracles/iv', [market, "must have required property 'expiration'"]],
    [
      `/oracles/iv?market=WETH&expiration=${expiration}&spotPrice=0`,
      { message: 'spotPrice must be > 0', spotPrice: '0' },
    ],
    [
      '/oracles/iv?market=WETH&expiration=31FEB30',
      { message: 'Invalid expiration date: 31FEB30', expiration: '31FEB30' },
    ],
    [
      '/oracles/iv?market=WETH&expiration=03NOV23',
      { message: 'Invalid expiration date: 03NOV23 is in the past', expiration: '03NOV23' },
    ],
  ] as const) {
    t.strictSame(await refusal(target), [400, wanted], target);
  }
  const [status, patterns] = (await refusal(`/oracles/iv?market=USDC&expiration=${expiration}`)) as [number, string[]];
  t.equal(status, 400);
  t.match(patterns[0], /^must match pattern "\^testWETH\$\|.*"$/, 'a base that has no vault');
});

await t.test('each of the routes needs a key', async (t) => {
  for (const path of ['/pools/strikes?spotPrice=1', '/pools/maturities', '/oracles/spot?markets=USDC', '/oracles/iv']) {
    t.equal((await fetch(`${running.httpUrl}${path}`)).status, 401, path);
  }
});

await t.test('a chain that does not answer is a failed price', async (t) => {
  await chain.stop();
  t.match(await rest.get('/oracles/spot?markets=WETH'), {
    status: 500,
    body: { message: 'Failed to get spot prices from oracle' },
  });
  t.match(await rest.get('/pools/strikes?spotPrice=1800'), { status: 200 }, 'what needs no chain is answered');
});
