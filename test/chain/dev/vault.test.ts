import t, { type Test } from 'tap';
import { encodeFunctionData, maxUint256, parseEventLogs } from 'viem';
import { contractErrorsAbi, optionTokenAbi, poolAbi, vaultAbi } from '../../../src/chain/contracts/abi.js';
import { type Hex, type PoolKey, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { onChain } from '../dev-actions.js';
import { refusal } from '../refusal.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const { taker } = market;
const usdc = market.token('USDC');
const wbtc = market.token('WBTC');
const DAY = 86_400;

function vault(name: string): Hex {
  const found = market.chain.profile.vaults.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`there is no vault ${name}`);
  return found.address;
}

/** In the vault asset's decimals. */
function quote(address: Hex, poolKey: PoolKey, size: bigint, isBuy = true): Promise<bigint> {
  return market.client.readContract({
    address,
    abi: [...vaultAbi, ...contractErrorsAbi],
    functionName: 'getQuote',
    args: [onChain(poolKey), size, isBuy, taker.address],
  });
}

function trade(address: Hex, poolKey: PoolKey, size: bigint, isBuy: boolean, premiumLimit: bigint): Promise<Hex> {
  const args = [onChain(poolKey), size, isBuy, premiumLimit, ZERO_ADDRESS] as const;
  return market.send(taker.address, address, encodeFunctionData({ abi: vaultAbi, functionName: 'trade', args }));
}

function isolated(name: string, test: (t: Test) => Promise<void>): void {
  void t.test(name, (t) => market.isolated(() => test(t)));
}

const calls = vault('pSV-WBTC/USDC-C');
const puts = vault('pSV-testWETH/USDC-P');
const call = market.pool('WBTC', 30_000n, true);
const put = market.pool('testWETH', 1800n, false);

t.test('there is a vault for calls and one for puts of each base, named and funded', async (t) => {
  t.same(
    market.chain.profile.vaults.map(({ name }) => name),
    [
      ...['testWETH', 'WETH', 'WBTC'].map((base) => `${base}/USDC`),
      ...['WETH', 'WBTC', 'ARB', 'LINK', 'PREMIA'].map((base) => `${base}/USDCe`),
    ].flatMap((pair) => [`pSV-${pair}-C`, `pSV-${pair}-P`]),
  );
  for (const { name, address } of market.chain.profile.vaults) {
    t.equal(await market.client.readContract({ address, abi: vaultAbi, functionName: 'name' }), name);
    const assets = await market.client.readContract({ address, abi: vaultAbi, functionName: 'totalAssets' });
    t.ok(assets > 0n, `${name} has funds`);
  }
});

t.test('a price at the money is about what the market says, and contains the fee', async (t) => {
  const now = await market.now();
  const years = (put.poolKey.maturity - now) / (365 * DAY);
  // 0.4 * 60 % * spot * sqrt(years), 5 % dearer, and 0.3 % of the strike.
  const expected = 0.24 * 1800 * Math.sqrt(years) * 1.05 + 5.4;
  const total = Number(await quote(puts, put.poolKey, ONE)) / 1e6;
  t.ok(Math.abs(total - expected) < 0.001, `${total} is near ${expected}`);
  const fee = await market.client.readContract({
    address: put.poolAddress,
    abi: poolAbi,
    functionName: 'takerFee',
    args: [taker.address, ONE, 0n, true, false],
  });
  t.equal(fee, 5_400_000n);
});

t.test('calls are priced in the base token, puts in the quote token; deeper in the money costs more', async (t) => {
  const [low, high] = await Promise.all(
    [28_000n, 32_000n].map((strike) => quote(calls, market.pool('WBTC', strike, true).poolKey, ONE)),
  );
  t.ok((low ?? 0n) > 6_000_000n && (low ?? 0n) < 20_000_000n, 'more than 2000 of 30000 dollars in bitcoin');
  t.ok((high ?? 0n) < (low ?? 0n));
  t.ok((await quote(puts, market.pool('testWETH', 2000n, false).poolKey, ONE)) > 200_000_000n);
});

isolated('a pool that does not exist is quoted like one that does', async (t) => {
  const poolKey = { ...put.poolKey, strike: 1500n * ONE };
  t.equal((await market.poolAddress(poolKey)).isDeployed, false);
  const before = await quote(puts, poolKey, ONE);
  t.ok(before > 4_500_000n);
  const now = await market.now();
  await market.deployPool(taker.address, poolKey);
  t.ok((await market.now()) - now < 10);
  t.ok(before - (await quote(puts, poolKey, ONE)) < 1000n, 'but for the seconds in between');
});

isolated('buying costs what was quoted and the vault writes the option', async (t) => {
  await market.approve(taker.address, wbtc, calls);
  const quoted = await quote(calls, call.poolKey, 2n * ONE);
  t.equal(await refusal(trade(calls, call.poolKey, 2n * ONE, true, quoted / 2n)), 'Vault__AboveMaxSlippage');
  let hash: Hex = '0x';
  const [paid, vaultPaid, pooled] = await market.changes(wbtc, [taker.address, calls, call.poolAddress], async () => {
    hash = await trade(calls, call.poolKey, 2n * ONE, true, quoted);
  });
  t.ok(-(paid ?? 0n) <= quoted && -(paid ?? 0n) > quoted - 100n, 'time passes between the two');
  t.equal(pooled, 200_600_000n, 'collateral of 2 and 0.3 % of it');
  t.equal(vaultPaid, -(paid ?? 0n) - 200_600_000n);
  t.equal(await market.longs(call, taker), 2n * ONE);
  const { logs } = await market.client.getTransactionReceipt({ hash });
  const [event] = parseEventLogs({ abi: vaultAbi, logs, eventName: 'Trade' });
  t.match(event?.args, { user: taker.address, contractSize: 2n * ONE, isBuy: true, takerFee: (6n * ONE) / 1000n });
});

isolated('trading deploys the pool that it needs', async (t) => {
  const poolKey = { ...put.poolKey, strike: 1500n * ONE };
  await market.approve(taker.address, usdc, puts);
  await trade(puts, poolKey, ONE, true, maxUint256);
  t.equal((await market.poolAddress(poolKey)).isDeployed, true);
});

isolated('the vault buys back what it wrote, for less and without a fee', async (t) => {
  t.equal(await refusal(quote(puts, put.poolKey, ONE, false)), 'Vault__InsufficientShorts');
  await market.approve(taker.address, usdc, puts);
  await trade(puts, put.poolKey, 2n * ONE, true, maxUint256);
  const bid = await quote(puts, put.poolKey, ONE, false);
  const ask = await quote(puts, put.poolKey, ONE, true);
  // 0.9 and 1.05 of one price; the ask has the fee on top.
  const difference = (ask - 5_400_000n) * 90n - bid * 105n;
  t.ok(difference >= 0n && difference < 200n);
  const approveVault = { abi: optionTokenAbi, functionName: 'setApprovalForAll', args: [puts, true] } as const;
  await market.send(taker.address, put.poolAddress, encodeFunctionData(approveVault));
  const [got] = await market.changes(usdc, [taker.address], () => trade(puts, put.poolKey, ONE, false, 0n));
  t.ok((got ?? 0n) <= bid && (got ?? 0n) > bid - 1000n);
  t.equal(await market.longs(put, taker), ONE);
  t.equal(await refusal(quote(puts, put.poolKey, ONE + 1n, false)), 'Vault__InsufficientShorts');
});

t.test('refusals have names', async (t) => {
  const refused = (changes: Partial<PoolKey>, size = ONE): Promise<string> =>
    refusal(quote(puts, { ...put.poolKey, ...changes }, size));
  t.equal(await refused({}, 0n), 'Vault__ZeroSize');
  t.equal(await refused({ isCallPool: true }), 'Vault__OptionTypeMismatchWithVault');
  t.equal(await refused({ strike: 0n }), 'Vault__StrikeZero');
  t.equal(await refused({ maturity: put.poolKey.maturity - 700 * DAY }), 'Vault__OptionExpired');
  t.equal(await refused({ base: market.token('LINK') }), 'Vault__OptionPoolNotListed');
  t.equal(await refused({ strike: 1850n * ONE }), 'PoolFactory__OptionStrikeInvalid');
  t.equal(await refused({ maturity: put.poolKey.maturity + 15 * DAY }), 'PoolFactory__OptionMaturityNotFriday');
  t.equal(await refused({ strike: 10n ** 35n }), 'OptionMath__OutOfBoundsPrice');
  t.equal(await refused({ strike: 890n * ONE }), 'Vault__OutOfDeltaBounds');
  t.equal(await refused({ strike: 3700n * ONE }), 'Vault__OutOfDeltaBounds');
  t.equal(await refused({}, 10n ** 6n * ONE), 'Vault__InsufficientFunds');
});

isolated('the last day before maturity is too late, half a year too early', async (t) => {
  await market.moveTimeTo(put.poolKey.maturity - DAY + 1);
  t.equal(await refusal(quote(puts, put.poolKey, ONE)), 'Vault__OutOfDTEBounds');
});
