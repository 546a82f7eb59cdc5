import t from 'tap';
import { devTokens, devVolatilityAbi, priceOracleAbi } from '../../../src/chain/dev/contracts.js';
import { LiveMarket, MarketWalk, type TokenMarket } from '../../../src/chain/dev/live-market.js';
import { ManualClock } from '../../system/manual-clock.js';
import { Market } from './market.js';

const STEPS = 2_000;
const EVERY_MS = 2_000;

function walk(seed: number, steps: number): TokenMarket[][] {
  const market = new MarketWalk(seed);
  return Array.from({ length: steps }, () => market.next());
}

t.test('the same seed gives the same walk, another one another', async (t) => {
  t.strictSame(walk(7, 20), walk(7, 20));
  t.strictNotSame(walk(7, 20), walk(8, 20));
});

t.test('each step is small, and no price or volatility leaves a fifth of where it began', async (t) => {
  const start = new Map(devTokens.map((token) => [token.symbol, token]));
  let before = new Map([...start].map(([symbol, { usdPrice }]) => [symbol, usdPrice]));
  const isFar = (value: bigint, from: bigint): boolean => value * 5n < from * 4n || value * 5n > from * 6n;
  const wrong: string[] = [];
  for (const step of walk(1, STEPS)) {
    for (const { symbol, usdPrice, volatility } of step) {
      const token = start.get(symbol);
      const last = before.get(symbol);
      if (token === undefined || last === undefined) throw new Error(`${symbol} is no token`);
      if (isFar(usdPrice, token.usdPrice) || isFar(volatility, token.volatility)) wrong.push(`${symbol} went far`);
      const moved = usdPrice > last ? usdPrice - last : last - usdPrice;
      if (moved * 100n > last) wrong.push(`${symbol} jumped`);
    }
    before = new Map(step.map(({ symbol, usdPrice }) => [symbol, usdPrice]));
  }
  t.strictSame(wrong, []);
});

t.test('a test token moves with the token that it stands for, and stable tokens do not move', async (t) => {
  const [step = []] = walk(3, 1);
  const price = (symbol: string) => step.find((token) => token.symbol === symbol)?.usdPrice;
  t.equal(price('testWETH'), price('WETH'));
  t.equal(price('USDC'), undefined);
});

t.test('a walk continues from the market that it finds', async (t) => {
  const weth = devTokens.find(({ symbol }) => symbol === 'WETH');
  if (weth === undefined) throw new Error('The local chain has WETH');
  const now = { symbol: 'WETH', usdPrice: (weth.usdPrice * 11n) / 10n, volatility: weth.volatility };
  const next = new MarketWalk(1, [now]).next().find(({ symbol }) => symbol === 'WETH');
  t.ok(next !== undefined && next.usdPrice > (weth.usdPrice * 108n) / 100n);
});

t.test('on a chain both oracles follow the walk, until it is stopped', async (t) => {
  const market = await Market.open(t);
  const { chain, client } = market;
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const live = await LiveMarket.start(chain, { seed: 5, everyMs: EVERY_MS, clock, onError });
  t.equal((await client.getAddresses()).length, chain.accounts.length, 'the node signs for the funded accounts alone');
  const [expected = []] = walk(5, 1);
  const before = await client.getBlockNumber();
  clock.advance(EVERY_MS);
  await live.stop();
  t.strictSame(errors, []);
  for (const { symbol, usdPrice, volatility } of expected) {
    const args = [market.token(symbol)] as const;
    const price = { address: chain.contracts.oracleAdapter, abi: priceOracleAbi, functionName: 'usdPrice' } as const;
    t.equal(await client.readContract({ ...price, args }), usdPrice, symbol);
    const atm = { address: chain.contracts.volatilityOracle, abi: devVolatilityAbi } as const;
    t.equal(await client.readContract({ ...atm, functionName: 'atTheMoney', args }), volatility, symbol);
  }
  t.equal(await client.getBlockNumber(), before + 2n);
  t.equal(clock.pending, 0, 'nothing more is sent');
});

t.test('a step that fails is reported, and the next one is tried', async (t) => {
  const market = await Market.open(t);
  const clock = new ManualClock();
  let failed: () => void = () => undefined;
  const failure = new Promise<void>((resolve) => (failed = resolve));
  const live = await LiveMarket.start(market.chain, { seed: 5, everyMs: EVERY_MS, clock, onError: () => failed() });
  await market.chain.stop();
  clock.advance(EVERY_MS);
  await failure;
  await new Promise(setImmediate);
  t.equal(clock.pending, 1);
  await live.stop();
});
