import fc from 'fast-check';
import t, { type Test } from 'tap';
import { encodeAbiParameters, encodeFunctionData, getCreate2Address, keccak256, parseEventLogs } from 'viem';
import { poolAbi, poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import { devMaturities, fridayFrom } from '../../../src/chain/dev/dev-pools.js';
import { type PoolKey, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { onChain } from '../dev-actions.js';
import { refusal } from '../refusal.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const { operator } = market;
const DAY = 86_400;
const [near, , far] = devMaturities(await market.now());

/** A key that no pool has yet, legal unless changed. */
function key(changes: Partial<PoolKey> = {}): PoolKey {
  return {
    base: market.token('testWETH'),
    quote: market.token('DAI'),
    oracleAdapter: market.chain.contracts.oracleAdapter,
    strike: 1800n * ONE,
    maturity: near,
    isCallPool: true,
    ...changes,
  };
}

function isolated(name: string, test: (t: Test) => Promise<void>): void {
  void t.test(name, (t) => market.isolated(() => test(t)));
}

isolated('an undeployed pool has its address already, and gets it', async (t) => {
  const before = await market.poolAddress(key());
  t.equal(before.isDeployed, false);
  t.equal(await market.client.getCode({ address: before.poolAddress }), undefined);
  const data = encodeFunctionData({ abi: poolFactoryAbi, functionName: 'deployPool', args: [onChain(key())] });
  const hash = await market.send(operator.address, market.chain.contracts.poolFactory, data);
  t.same(await market.poolAddress(key()), { ...before, isDeployed: true });

  const { logs } = await market.client.getTransactionReceipt({ hash });
  const [event] = parseEventLogs({ abi: poolFactoryAbi, logs });
  t.match(event?.args, { ...onChain(key()) });
  t.equal(event?.args.poolAddress.toLowerCase(), before.poolAddress);
  const settings = await market.client.readContract({
    address: before.poolAddress,
    abi: poolAbi,
    functionName: 'getPoolSettings',
  });
  t.same(settings, Object.values(onChain(key())));
});

t.test('the address is made of the key, the factory and the diamond alone', async (t) => {
  const { poolFactory, poolDiamond } = market.chain.contracts;
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = key();
  const salt = keccak256(
    encodeAbiParameters(
      ['address', 'address', 'address', 'uint256', 'uint256', 'bool'].map((type) => ({ type })),
      [base, quote, oracleAdapter, strike, BigInt(maturity), isCallPool],
    ),
  );
  // EIP-1167 with a creation prefix.
  const bytecode =
    `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${poolDiamond.slice(2)}5af43d82803e903d91602b57fd5bf3` as const;
  const expected = getCreate2Address({ from: poolFactory, salt, bytecode });
  t.equal((await market.poolAddress(key())).poolAddress, expected.toLowerCase());
});

isolated('a pool is deployed once', async (t) => {
  await market.deployPool(operator.address, key());
  t.equal(await refusal(market.deployPool(operator.address, key())), 'PoolFactory__PoolAlreadyDeployed');
});

isolated('a pool has an address, and cannot be deployed, where its oracle or a token refuses', async (t) => {
  const { oracleAdapter } = market.chain.contracts;
  const refused = async (changes: Partial<PoolKey>): Promise<unknown> => {
    t.equal((await market.poolAddress(key(changes))).isDeployed, false);
    return market.deployPool(operator.address, key(changes));
  };
  await market.setUsdPrice(market.token('DAI'), 0n);
  t.equal(await refusal(refused({})), 'OracleAdapter__PairCannotBeSupported');
  await t.rejects(refused({ oracleAdapter: market.token('USDC') }), 'code that is no oracle adapter');
  await market.setUsdPrice(oracleAdapter, ONE);
  await market.setUsdPrice(market.token('DAI'), ONE);
  await t.rejects(
    refused({ quote: oracleAdapter }),
    'code that is no token, in place of the one that is not paid with',
  );
  await market.deployPool(operator.address, key());
});

isolated('a pool that exists has an address for ever', async (t) => {
  const { poolAddress, poolKey } = market.pool('testWETH', 1800n, true);
  await market.moveTimeTo(poolKey.maturity + 1000 * DAY);
  t.same(await market.poolAddress(poolKey), { poolAddress, isDeployed: true });
});

const impossible: readonly [name: string, changes: () => Partial<PoolKey>, error: string][] = [
  ['base and quote alike', () => ({ quote: key().base }), 'PoolFactory__IdenticalAddresses'],
  ['no base', () => ({ base: ZERO_ADDRESS }), 'PoolFactory__ZeroAddress'],
  ['no quote', () => ({ quote: ZERO_ADDRESS }), 'PoolFactory__ZeroAddress'],
  ['no oracle', () => ({ oracleAdapter: ZERO_ADDRESS }), 'PoolFactory__ZeroAddress'],
  ['no strike', () => ({ strike: 0n }), 'PoolFactory__OptionStrikeEqualsZero'],
  ['a strike between the steps', () => ({ strike: 1850n * ONE }), 'PoolFactory__OptionStrikeInvalid'],
  ['a small strike between the steps', () => ({ strike: (425n * ONE) / 1000n }), 'PoolFactory__OptionStrikeInvalid'],
  ['a strike beyond all bounds', () => ({ strike: 10n ** 35n }), 'OptionMath__OutOfBoundsPrice'],
  ['a maturity in the past', () => ({ maturity: near - 700 * DAY }), 'PoolFactory__OptionExpired'],
  ['a maturity at nine', () => ({ maturity: near + 3600 }), 'PoolFactory__OptionMaturityNot8UTC'],
  ['a Saturday two weeks ahead', () => ({ maturity: near + 15 * DAY }), 'PoolFactory__OptionMaturityNotFriday'],
  [
    'a Friday beyond 35 days that is not the last',
    () => ({ maturity: far + 7 * DAY }),
    'PoolFactory__OptionMaturityNotLastFriday',
  ],
  ['more than a year', () => ({ maturity: lastFridayBeyondAYear() }), 'PoolFactory__OptionMaturityExceedsMax'],
];

function lastFridayBeyondAYear(): number {
  let friday = fridayFrom(near + 366 * DAY);
  const monthOf = (time: number): number => new Date(time * 1000).getUTCMonth();
  while (monthOf(friday) === monthOf(friday + 7 * DAY)) friday += 7 * DAY;
  return friday;
}

for (const [name, changes, error] of impossible) {
  t.test(`impossible: ${name}`, async (t) => {
    t.equal(await refusal(market.poolAddress(key(changes()))), error);
    t.equal(await refusal(market.deployPool(operator.address, key(changes()))), error);
  });
}

t.test('possible: strikes of one tenth of their power of ten, however large or small', async (t) => {
  for (const strike of [10n, 42n * 10n ** 16n, ONE, 99n * ONE, 1800n * ONE, 30_000n * ONE, 10n ** 34n]) {
    t.equal((await market.poolAddress(key({ strike }))).isDeployed, false, `${strike}`);
  }
});

isolated('what a maturity must be depends on how far ahead it is, for any day of ten years', async () => {
  // The test's own calendar is JavaScript's.
  const now = await market.now();
  const start = Math.floor(now / DAY) * DAY;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3650 }), fc.integer({ min: 1, max: 365 }), async (day, ahead) => {
      await market.isolated(async () => {
        // One second past eight: a maturity `ahead` days on is one second short of that many days away.
        const today = start + (day + 1) * DAY + 8 * 3600 + 1;
        await market.moveTimeTo(today);
        const maturity = today - 1 + ahead * DAY;
        const date = new Date(maturity * 1000);
        const isFriday = date.getUTCDay() === 5;
        const isLast = isFriday && new Date((maturity + 7 * DAY) * 1000).getUTCMonth() !== date.getUTCMonth();
        const possible = ahead <= 3 || (ahead <= 35 ? isFriday : isLast);
        const answer = market.poolAddress(key({ maturity }));
        if (possible) await answer;
        else {
          const expected =
            ahead <= 35 ? 'PoolFactory__OptionMaturityNotFriday' : 'PoolFactory__OptionMaturityNotLastFriday';
          const name = await refusal(answer);
          if (name !== expected) throw new Error(`${date.toISOString()}, ${ahead} days ahead, is ${name}`);
        }
      });
    }),
    { numRuns: 60 },
  );
});
