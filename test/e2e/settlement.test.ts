import t, { type Test } from 'tap';
import { encodeFunctionData } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { LONG, optionTokenAbi, poolAbi } from '../../src/chain/contracts/abi.js';
import { type Hex, type Pool, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, type WireOption } from './wire-option.js';
import { untilAnswer } from '../until.js';

interface Settled {
  readonly success: readonly WireOption[];
  readonly failed: readonly { readonly failedOption: WireOption; readonly reason: string }[];
}

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { operator, maker, stranger } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const [weth, wbtc, usdc] = [market.token('testWETH'), market.token('WBTC'), market.token('USDC')];

const longCall = market.pool('testWETH', 1800n, true);
const shortCall = market.pool('testWETH', 1900n, true);
const worthless = market.pool('testWETH', 2000n, true);
const longPut = market.pool('testWETH', 2000n, false);
const shortPut = market.pool('WBTC', 32_000n, false);
const both = market.pool('WBTC', 30_000n, true);
const contested = market.pool('testWETH', 1700n, true);
const locked = market.pool('testWETH', 1600n, true);
const nothingHeld = market.pool('testWETH', 1600n, false);
const { maturity } = longCall.poolKey;
const later = chain.pools.find(({ poolKey }) => poolKey.maturity > maturity);
if (later === undefined) throw new Error('the local chain has one maturity alone');

const wire = (pool: Pick<Pool, 'poolKey'>): WireOption => optionOf(chain, pool);

async function settle(client: RestClient, options: readonly WireOption[]): Promise<Settled> {
  const { status, body } = await client.post('/pool/settle', options);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body as unknown as Settled;
}

/** The operator buys from the maker's ask, or writes to the maker's bid. */
async function fill(pool: Pool, size: bigint, isBuy: boolean): Promise<void> {
  await market.fill(operator.address, await market.sign(pool, { size, isBuy: !isBuy }), size);
}

async function write(underwriter: Hex, holder: Hex, pool: Pool, size: bigint): Promise<void> {
  const args = [underwriter, holder, size, ZERO_ADDRESS] as const;
  await market.send(
    underwriter,
    pool.poolAddress,
    encodeFunctionData({ abi: poolAbi, functionName: 'writeFrom', args }),
  );
}

/** Chain time goes past the maturity, and the service has seen it: what has expired is no longer listed. */
async function expire(): Promise<void> {
  await market.setSettlementPrice(longCall.poolKey, 1950n * ONE + ONE / 2n);
  await market.setSettlementPrice(both.poolKey, 31_000n * ONE);
  await market.moveTimeTo(maturity);
  const { expiration } = wire(longCall);
  await untilAnswer(
    () => rest.get(`/pools?expiration=${expiration}`),
    ({ body }) => Array.isArray(body) && body.length === 0,
  );
}

await fill(longCall, 2n * ONE, true);
await fill(shortCall, 3n * ONE, false);
await fill(worthless, ONE, true);
await fill(longPut, (3n * ONE) / 2n, true);
await fill(shortPut, 2n * ONE, false);
await fill(contested, ONE, true);
await fill(locked, ONE, true);
await write(operator.address, operator.address, both, ONE);
await write(maker.address, operator.address, both, ONE / 2n);
await write(maker.address, stranger.address, both, ONE);

await t.test('before it expires an option is not settled', async (t) => {
  t.strictSame(await settle(rest, [wire(longCall)]), {
    success: [],
    failed: [{ failedOption: wire(longCall), reason: 'Option has not expired' }],
  });
  t.equal(await market.longs(longCall, operator), 2n * ONE);
});

await t.test(
  'after expiry every position brings what it is worth, to the cent, and each other option fails alone',
  async (t) => {
    await expire();
    const undeployed = { ...wire(longCall), strike: 2100 };
    const noDay = { ...wire(longCall), expiration: '31FEB27' };
    const longAgo = { ...wire(longCall), expiration: '06JAN23' };
    const impossible = { ...wire(longCall), strike: 1801 };
    const options = [
      wire(later),
      wire(longCall),
      noDay,
      wire(shortCall),
      wire(longCall),
      undeployed,
      wire(worthless),
      longAgo,
      wire(longPut),
      wire(nothingHeld),
      wire(shortPut),
      impossible,
      wire(both),
    ];
    const collateral = [weth, wbtc, usdc];
    const before = await Promise.all(collateral.map((token) => market.balance(token, operator.address)));
    const answer = await settle(rest, options);
    const after = await Promise.all(collateral.map((token) => market.balance(token, operator.address)));

    t.strictSame(answer, {
      success: [longCall, shortCall, worthless, longPut, shortPut, both].map(wire),
      failed: [
        { failedOption: wire(later), reason: 'Option has not expired' },
        { failedOption: noDay, reason: 'Invalid expiration date: 31FEB27' },
        { failedOption: wire(longCall), reason: 'No balance to settle' },
        { failedOption: undeployed, reason: 'Pool is not deployed' },
        { failedOption: longAgo, reason: 'Pool is not deployed' },
        { failedOption: wire(nothingHeld), reason: 'No balance to settle' },
        { failedOption: impossible, reason: 'Pool is not deployed' },
      ],
    });

    const price = 1950n * ONE + ONE / 2n;
    // Exercise: intrinsic value less 0.3 % of the notional. Settlement: the collateral less what the holder gets.
    const exercised = (2n * ONE * (price - 1800n * ONE)) / price - (6n * ONE) / 1000n;
    const shortValue = (3n * ONE * (price - 1900n * ONE)) / price;
    const annihilated = 100_000_000n;
    const halfCall = ((ONE / 2n) * 1000n) / 31_000n - ((ONE / 2n) * 3n) / 1000n;
    t.strictSame(
      after.map((balance, i) => balance - (before[i] ?? 0n)),
      [
        exercised + 3n * ONE - shortValue,
        annihilated + halfCall / 10n ** 10n,
        // 1.5 puts worth 49.50 less the fee of 9.00; two puts at 32,000 less 1,000 each.
        65_250_000n + 62_000_000_000n,
      ],
    );
  },
);

await t.test('what is settled is gone, and settling again finds nothing', async (t) => {
  const pools = [longCall, shortCall, worthless, longPut, shortPut, both];
  for (const pool of pools) {
    t.strictSame([await market.longs(pool, operator), await market.shorts(pool, operator)], [0n, 0n]);
  }
  t.strictSame(await settle(rest, pools.map(wire)), {
    success: [],
    failed: pools.map((pool) => ({ failedOption: wire(pool), reason: 'No balance to settle' })),
  });
  t.equal(await market.longs(both, stranger), ONE, "other people's positions stay theirs");
});

await t.test('requests for the same position at the same moment settle it once', async (t) => {
  const answers = await Promise.all([1, 2, 3].map(() => settle(rest, [wire(contested)])));
  t.equal(answers.flatMap(({ success }) => success).length, 1);
  const reasons = answers.flatMap(({ failed }) => failed.map(({ reason }) => reason));
  t.strictSame(reasons, ['No balance to settle', 'No balance to settle']);
});

await t.test('a position that the pool will not close fails by the name of its error', async (t) => {
  await market.lockContracts(operator.address, locked.poolAddress, LONG, ONE);
  const { failed } = await settle(rest, [wire(locked)]);
  t.strictSame(failed, [{ failedOption: wire(locked), reason: 'ERC1155Base__BurnExceedsBalance' }]);
  await market.lockContracts(operator.address, locked.poolAddress, LONG, 0n);
  t.strictSame(await settle(rest, [wire(locked)]), { success: [wire(locked)], failed: [] });
});

await t.test('a wallet without money for gas says so, position by position', async (t) => {
  const privateKey: Hex = `0x${'6b'.repeat(32)}`;
  const broke = await startTestService({ chain, walletKey: privateKey });
  t.teardown(() => broke.stop());
  const client = new RestClient(broke.httpUrl, broke.apiKey);
  const [reason] = (await settle(client, [wire(both)])).failed.map((failure) => failure.reason);
  t.equal(reason, 'No balance to settle');
  const holder = privateKeyToAddress(privateKey);
  const args = [stranger.address, holder, LONG, ONE, '0x'] as const;
  const transfer = encodeFunctionData({ abi: optionTokenAbi, functionName: 'safeTransferFrom', args });
  await market.send(stranger.address, both.poolAddress, transfer);
  const { failed } = await settle(client, [wire(both)]);
  t.strictSame(failed, [
    { failedOption: wire(both), reason: `The wallet ${holder.toLowerCase()} has no money for gas` },
  ]);
});

async function refused(t: Test, body: unknown, first: Record<string, unknown>): Promise<void> {
  const answer = await rest.post('/pool/settle', body);
  t.equal(answer.status, 400, JSON.stringify(answer.body));
  t.match((answer.body as unknown as unknown[])[0], first);
}

await t.test('a quote into a pool that has expired is refused as expired, deployed or not', async (t) => {
  const deadline = maturity + 30 * 86_400;
  const quotes = await Promise.all(
    [longCall, { ...longCall, poolKey: { ...longCall.poolKey, strike: 2100n * ONE } }].map((pool) =>
      signQuote(operator.privateKey, pool, { deadline }),
    ),
  );
  const posted = await rest.post('/quotes', quotes);
  t.match(posted, { status: 200, body: { created: [], failed: quotes.map(() => ({ reason: 'QuoteOBExpired' })) } });
  const checked = await rest.post('/quotes?dryRun=true', quotes);
  t.match(checked.body, { quotes: quotes.map(() => ({ outcome: 'failed', reasons: ['QuoteOBExpired'] })) });
});

await t.test('bad input is refused in the words of its schema', async (t) => {
  const option = wire(longCall);
  const without = Object.fromEntries(Object.entries(option).filter(([name]) => name !== 'type'));
  await refused(t, [without], { keyword: 'required', message: "must have required property 'type'" });
  await refused(t, [{ ...option, size: 1 }], { message: 'must NOT have additional properties' });
  await refused(t, [{ ...option, type: 'p' }], { message: 'must match pattern "^C$|^P$"' });
  await refused(t, [{ ...option, strike: 0 }], { instancePath: '/0/strike', message: 'must be > 0' });
  await refused(t, [{ ...option, strike: -1800 }], { message: 'must be > 0' });
  await refused(t, [{ ...option, strike: '1800' }], { message: 'must be number' });
  await refused(t, [{ ...option, expiration: '1JAN23' }], { keyword: 'pattern' });
  await refused(t, [{ ...option, quote: 'EUR' }], { instancePath: '/0/quote', keyword: 'pattern' });
  await refused(t, option, { message: 'must be array' });
  await refused(t, [], { keyword: 'minItems' });
  await refused(t, Array.from({ length: 1001 }).fill(option), { keyword: 'maxItems' });
});
