import pino from 'pino';
import t from 'tap';
import { encodeFunctionData } from 'viem';
import { LONG, optionTokenAbi, poolAbi, SHORT } from '../../src/chain/contracts/abi.js';
import { type Pool, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, type WireOption } from './wire-option.js';
import { until } from '../until.js';

const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
const running = await startTestService({ logger });
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { operator } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);

const long = market.pool('testWETH', 1800n, true);
const both = market.pool('WBTC', 30_000n, true);
const none = market.pool('testWETH', 1600n, false);
const wire = (pool: Pool): WireOption => optionOf(chain, pool);

/** The contract's own answer. */
function held(pool: Pool, id: bigint): Promise<bigint> {
  const args = [operator.address, id] as const;
  return market.client.readContract({
    address: pool.poolAddress,
    abi: optionTokenAbi,
    functionName: 'balanceOf',
    args,
  });
}

async function post(path: string, options: readonly unknown[]): Promise<unknown> {
  const { status, body } = await rest.post(path, options);
  return [status, body];
}

function failures(...failed: [WireOption, string][]): unknown {
  return failed.map(([failedOption, reason]) => ({ failedOption, reason }));
}

await market.fill(operator.address, await market.sign(long, { size: 2n * ONE }), 2n * ONE);
const args = [operator.address, operator.address, ONE, ZERO_ADDRESS] as const;
const write = encodeFunctionData({ abi: poolAbi, functionName: 'writeFrom', args });
await market.send(operator.address, both.poolAddress, write);
await market.fill(operator.address, await market.sign(both, { size: ONE, isBuy: true }), ONE / 2n);

const undeployed = { ...wire(long), strike: 2100 };
const impossible = { ...wire(long), strike: 1801 };
const noDay = { ...wire(long), expiration: '31FEB27' };

await t.test('annihilate gives up pairs before maturity, and each other option fails alone', async (t) => {
  const [longs, shorts] = [await held(both, LONG), await held(both, SHORT)];
  const pairs = longs < shorts ? longs : shorts;
  t.ok(pairs > 0n);
  const options = [wire(long), wire(both), undeployed, impossible, noDay, wire(none), wire(both)];
  t.strictSame(await post('/pool/annihilate', options), [
    200,
    {
      success: [wire(both)],
      failed: failures(
        [wire(long), 'No positions to annihilate'],
        [undeployed, 'Pool is not deployed'],
        [impossible, 'Can not get pool address'],
        [noDay, 'Invalid expiration date: 31FEB27'],
        [wire(none), 'No positions to annihilate'],
        [wire(both), 'No positions to annihilate'],
      ),
    },
  ]);
  t.strictSame([await held(both, LONG), await held(both, SHORT)], [longs - pairs, shorts - pairs]);
  t.match(
    lines.filter(({ msg }) => msg === 'operator wallet used'),
    [{ keyId: /^\w+$/, route: 'POST /pool/annihilate', txHash: /^0x[0-9a-f]{64}$/, succeeded: true }],
  );
});

await t.test('the positions that are listed after an answer are those that it leaves', async (t) => {
  const amounts = async (): Promise<unknown> => {
    const { body } = await rest.get('/account/option_balances');
    const { open } = body as unknown as { open: { token_address: string; amount: number; exposure: string }[] };
    return open
      .filter(({ token_address }) => token_address === both.poolAddress)
      .map(({ amount, exposure }) => `${exposure} ${amount}`);
  };
  await market.send(operator.address, both.poolAddress, write);
  t.strictSame(await amounts(), ['SHORT 1.5', 'LONG 1']);
  t.strictSame(await post('/pool/annihilate', [wire(both)]), [200, { success: [wire(both)], failed: [] }]);
  t.strictSame(await amounts(), ['SHORT 0.5']);
});

await t.test('exercise before maturity sends nothing', async (t) => {
  t.strictSame(await post('/pool/exercise', [wire(long)]), [
    200,
    { success: [], failed: failures([wire(long), 'Option has not expired']) },
  ]);
});

await t.test('a body that is wrong changes nothing', async (t) => {
  for (const path of ['/pool/exercise', '/pool/annihilate']) {
    for (const bad of [
      [],
      [{ ...wire(long), strike: -1 }],
      [{ ...wire(long), strike: 1e-19 }],
      [{ ...wire(long), base: 'DOGE' }],
      [{ ...wire(long), more: 1 }],
      { ...wire(long) },
    ]) {
      t.equal((await rest.post(path, bad)).status, 400, JSON.stringify(bad));
    }
    t.equal((await rest.post(path, [{ ...wire(long), strike: 1e-7 }])).status, 200, 'a small number is one');
    t.equal((await fetch(`${running.httpUrl}${path}`, { method: 'POST', body: '[]' })).status, 401);
  }
  t.equal(await held(long, LONG), 2n * ONE);
});

await t.test('exercise after maturity brings what the longs are worth, and leaves the shorts', async (t) => {
  const shorts = await held(both, SHORT);
  await market.setSettlementPrice(long.poolKey, 2000n * ONE);
  await market.setSettlementPrice(both.poolKey, 31_000n * ONE);
  await market.moveTimeTo(long.poolKey.maturity);
  await until(async () => {
    const [, body] = (await post('/pool/exercise', [wire(none)])) as [number, { failed: { reason: string }[] }];
    return body.failed[0]?.reason === 'No balance to settle';
  });
  const before = await market.balance(market.token('testWETH'), operator.address);
  t.strictSame(await post('/pool/exercise', [wire(long), undeployed, wire(long), wire(both)]), [
    200,
    {
      success: [wire(long)],
      failed: failures(
        [undeployed, 'Pool is not deployed'],
        [wire(long), 'No balance to settle'],
        [wire(both), 'No balance to settle'],
      ),
    },
  ]);
  t.strictSame([await held(long, LONG), await held(both, SHORT)], [0n, shorts]);
  // Two contracts of a tenth each, in the base token, less the fee.
  const gained = (await market.balance(market.token('testWETH'), operator.address)) - before;
  t.ok(gained > 0n && gained < ONE / 5n);
});
