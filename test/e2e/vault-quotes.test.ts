import t, { type Test } from 'tap';
import { encodeFunctionData, formatUnits, maxUint256 } from 'viem';
import { optionTokenAbi, poolAbi, vaultAbi } from '../../src/chain/contracts/abi.js';
import { fridayFrom } from '../../src/chain/dev/dev-pools.js';
import { type Hex, type PoolKey, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { formatExpiration } from '../../src/wire/expiration.js';
import { onChain } from '../chain/dev-actions.js';
import { Market, ONE } from '../chain/dev/market.js';
import { documentedFetch } from './documented-network.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, queryOf, type WireOption } from './wire-option.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const rest = new RestClient(running.httpUrl, running.apiKey);
const operator = market.operator.address;

const callPool = market.pool('testWETH', 1800n, true);
const putPool = market.pool('testWETH', 1800n, false);
const call = optionOf(chain, callPool);
const put = optionOf(chain, putPool);

type Direction = 'buy' | 'sell';

function vaultOf(name: string): Hex {
  const vault = chain.profile.vaults.find((known) => known.name === name);
  if (vault === undefined) throw new Error(`no vault ${name}`);
  return vault.address;
}

/** What the vault itself answers the operator, in its asset's decimals. */
function askVault(vault: Hex, poolKey: PoolKey, size: bigint, direction: Direction): Promise<bigint> {
  const args = [onChain(poolKey), size, direction === 'buy', operator] as const;
  return market.client.readContract({ address: vault, abi: vaultAbi, functionName: 'getQuote', args });
}

/** What the pool itself says of its fee, in its token's decimals. */
function askFee(poolAddress: Hex, size: bigint): Promise<bigint> {
  const args = [operator, size, 0n, true, false] as const;
  return market.client.readContract({ address: poolAddress, abi: poolAbi, functionName: 'takerFee', args });
}

function ask(option: WireOption, size: string, direction: string): Promise<RestAnswer> {
  return rest.get(`/vaults/quote?${queryOf(option, { size, direction })}`);
}

/** The answer as text: no digit may be lost in it. */
async function askText(option: WireOption, size: string, direction: Direction): Promise<string> {
  const url = `${running.httpUrl}/vaults/quote?${queryOf(option, { size, direction })}`;
  return (await documentedFetch(url, { headers: { 'x-apikey': running.apiKey } })).text();
}

/** The operator trades with the vault; it reverts when that costs more than `limit`, or brings less. */
async function trade(vault: Hex, poolKey: PoolKey, size: bigint, direction: Direction, limit: bigint): Promise<void> {
  const args = [onChain(poolKey), size, direction === 'buy', limit, ZERO_ADDRESS] as const;
  await market.send(operator, vault, encodeFunctionData({ abi: vaultAbi, functionName: 'trade', args }));
}

const traded = [
  { name: 'pSV-testWETH/USDC-C', pool: callPool, option: call, token: market.token('testWETH'), decimals: 18 },
  { name: 'pSV-testWETH/USDC-P', pool: putPool, option: put, token: market.token('USDC'), decimals: 6 },
];
for (const { name, pool, token } of traded) {
  const vault = vaultOf(name);
  await market.approve(operator, token, vault, maxUint256);
  const approveAll = encodeFunctionData({
    abi: optionTokenAbi,
    functionName: 'setApprovalForAll',
    args: [vault, true],
  });
  await market.send(operator, pool.poolAddress, approveAll);
}

for (const { name, pool, option, token, decimals } of traded) {
  const vault = vaultOf(name);
  for (const direction of ['buy', 'sell'] as const) {
    await t.test(`${name}: a ${direction} costs what the contracts say, to the last digit`, async (t) => {
      const [size, sizeText] = [1_234_567_890_123_456_789n, '1.234567890123456789'];
      const quote = await askVault(vault, pool.poolKey, size, direction);
      const fee = direction === 'buy' ? formatUnits(await askFee(pool.poolAddress, size), decimals) : '0';
      t.equal(
        await askText(option, sizeText, direction),
        `{"market":{"vault":"${name}","strike":1800,"expiration":"${option.expiration}","size":${sizeText},` +
          `"direction":"${direction}"},"quote":${formatUnits(quote, decimals)},"takerFee":${fee},"fee":${fee}}`,
      );
      t.not(quote, 0n);

      // The trade's own block may be a second or two later, when the option is worth a little less.
      const least = (quote * 9_999n) / 10_000n;
      const limit = direction === 'buy' ? quote : least;
      const [change = 0n] = await market.changes(token, [operator], () =>
        trade(vault, pool.poolKey, size, direction, limit),
      );
      const paid = direction === 'buy' ? -change : change;
      t.ok(paid <= quote && paid >= least, `${paid} of ${quote}`);
    });
  }
}

await t.test('price per option is the quote without its fee by the size, whatever the size', async (t) => {
  const one = (await ask(call, '1', 'buy')).body as { quote: number; fee: number };
  const ten = (await ask(call, '10', 'buy')).body as { quote: number; fee: number };
  t.ok(Math.abs((ten.quote - ten.fee) / 10 - (one.quote - one.fee)) < 1e-12);
  t.ok(one.fee > 0 && one.quote > one.fee);
});

await t.test("the operator's discount lessens the fee and the quote", async (t) => {
  const before = (await ask(put, '1', 'buy')).body as { quote: number; fee: number };
  await market.setDiscount(operator, ONE / 2n);
  const after = (await ask(put, '1', 'buy')).body as { quote: number; fee: number };
  await market.setDiscount(operator, 0n);
  t.equal(before.fee, 5.4, '0.3 % of the strike');
  t.equal(after.fee, 2.7);
  t.ok(Math.abs(before.quote - after.quote - 2.7) < 0.001);
});

await t.test('a pool that is not deployed has a price, with the fee that the shared diamond tells', async (t) => {
  const poolKey = { ...putPool.poolKey, strike: 1500n * ONE };
  t.notOk((await market.poolAddress(poolKey)).isDeployed);
  const size = 333_333_333_333_333_333n;
  const [quote, fee] = await Promise.all([
    askVault(vaultOf('pSV-testWETH/USDC-P'), poolKey, size, 'buy'),
    market.client.readContract({
      address: chain.contracts.poolDiamond,
      abi: poolAbi,
      functionName: '_takerFeeLowLevel',
      args: [operator, size, 0n, true, false, poolKey.strike, false],
    }),
  ]);
  const text = await askText({ ...put, strike: 1500 }, '0.333333333333333333', 'buy');
  const told = formatUnits(fee, 18);
  t.ok(text.endsWith(`"quote":${formatUnits(quote, 6)},"takerFee":${told},"fee":${told}}`), text);
});

/** The query is repeated, so that a client finds which of its requests it was. */
async function refused(t: Test, of: WireOption, size: string, message: string, direction: Direction = 'buy') {
  const { status, body } = await ask(of, size, direction);
  const quote = { ...of, strike: String(of.strike), size, direction };
  t.strictSame([status, body], [400, { message, quote }], message);
}

await t.test('what the vault refuses is refused by the name that it gives', async (t) => {
  await refused(t, { ...call, strike: 100 }, '1', 'Vault__OutOfDeltaBounds');
  await refused(t, { ...call, strike: 1801 }, '1', 'PoolFactory__OptionStrikeInvalid');
  await refused(t, call, '10000000', 'Vault__InsufficientFunds');
  await refused(t, call, '10000000', 'Vault__InsufficientShorts', 'sell');
  await refused(t, { ...call, strike: 1500 }, '1', 'Vault__InsufficientShorts', 'sell');
  const far = fridayFrom((await market.now()) + 300 * 86_400);
  const lastFriday = [0, 1, 2, 3, 4]
    .map((week) => far + week * 7 * 86_400)
    .find((friday) => new Date(friday * 1000).getUTCMonth() !== new Date((friday + 7 * 86_400) * 1000).getUTCMonth());
  const expiration = formatExpiration(lastFriday ?? 0);
  await refused(t, { ...call, expiration }, '1', 'Vault__OutOfDTEBounds');
});

await t.test('a pair without a vault fails with "Vault does not exist"', async (t) => {
  for (const option of [
    { ...call, base: 'DAI' },
    { ...call, quote: 'DAI' },
  ]) {
    await refused(t, option, '1', 'Vault does not exist');
  }
});

await t.test('dates are refused in their own words', async (t) => {
  const dated = (expiration: string, message: string) => refused(t, { ...call, expiration }, '1', message);
  await dated('03NOV23', 'Invalid expiration date: 03NOV23 is in the past');
  await dated('31FEB27', 'Invalid expiration date: 31FEB27');
  const late = formatExpiration((await market.now()) + 400 * 86_400);
  await dated(late, `Invalid expiration date: ${late} is more then in 1 year`);
});

await t.test('a vault that reverts without a name of its own for it has failed', async (t) => {
  const overflows = `1${'0'.repeat(58)}`;
  const { status, body } = await ask(call, overflows, 'buy');
  t.strictSame([status, body], [500, { message: 'Failed to get quote from vault' }]);
});

await t.test('bad queries are refused in the words of their schema', async (t) => {
  const good = { ...call, strike: '1800', size: '1', direction: 'buy' };
  const symbols = ['testWETH', 'WETH', 'WBTC', 'PREMIA', 'LINK', 'USDC', 'DAI', 'ARB']
    .map((symbol) => `^${symbol}$`)
    .join('|');
  const cases: [Record<string, string>, Record<string, string>][] = [
    [{ type: 'p' }, { instancePath: '/type', message: 'must match pattern "^C$|^P$"' }],
    [{ base: 'DOGE' }, { instancePath: '/base', message: `must match pattern "${symbols}"` }],
    [{ quote: 'EUR' }, { instancePath: '/quote', keyword: 'pattern' }],
    [{ direction: 'Buy' }, { instancePath: '/direction', message: 'must match pattern "^buy$|^sell$"' }],
    [{ strike: '0' }, { instancePath: '/strike', message: 'must be > 0' }],
    [{ size: '0' }, { instancePath: '/size', message: 'must be > 0' }],
    [{ size: '-1' }, { instancePath: '/size', message: 'must match pattern "^[0-9]{1,}([.][0-9]*)?$"' }],
    [{ strike: '1e3' }, { instancePath: '/strike', keyword: 'pattern' }],
    [{ size: '0.0000000000000000001' }, { message: 'must NOT have more than 18 decimals' }],
    [{ expiration: '3NOV23' }, { instancePath: '/expiration', keyword: 'pattern' }],
    [{ taker: operator }, { message: 'must NOT have additional properties' }],
  ];
  for (const [change, first] of cases) {
    const { status, body } = await rest.get(`/vaults/quote?${new URLSearchParams({ ...good, ...change }).toString()}`);
    t.match({ status, first: (body as unknown as unknown[])[0] }, { status: 400, first }, JSON.stringify(change));
  }
  const bare = await rest.get('/vaults/quote');
  t.match(bare.body, [{ message: "must have required property 'base'" }]);
});

await t.test('a chain that does not answer is no refusal', async (t) => {
  const lonely = await startTestService({ limits: { rpcAttempts: 1 } });
  t.teardown(() => lonely.stop());
  const client = new RestClient(lonely.httpUrl, lonely.apiKey);
  const query = queryOf(call, { size: '1', direction: 'buy' });
  t.equal((await client.get(`/vaults/quote?${query}`)).status, 200);
  await lonely.chain.stop();
  for (const answer of [
    await client.get(`/vaults/quote?${query}`),
    await client.post('/pools', [call]),
    await client.post('/pool/settle', [{ ...call, expiration: '06JAN23' }]),
  ]) {
    t.strictSame([answer.status, answer.body], [503, { message: 'The chain does not answer' }]);
    t.equal(answer.headers.get('retry-after'), '1');
  }
});
