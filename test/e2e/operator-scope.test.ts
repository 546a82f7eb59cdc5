import pino from 'pino';
import t from 'tap';
import { redaction } from '../../src/app/text-log.js';
import { LONG, optionTokenAbi } from '../../src/chain/contracts/abi.js';
import type { Pool } from '../../src/engine/quote.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { untilAnswer } from '../until.js';
import { optionOf } from './wire-option.js';

const lines: Record<string, unknown>[] = [];
const logger = pino(
  { level: 'info', redact: redaction },
  { write: (line: string) => lines.push(JSON.parse(line) as never) },
);
// 135,000 of gas are reserved for an exercise: for one, and not for two.
const caps = { operatorRouteGasPerDay: 200_000, operatorGasPerDay: 1_000_000_000 };
const running = await startTestService({ logger, limits: caps, budgets: new MemoryKeyValueStore() });
t.teardown(() => running.stop());
const { chain, keys, httpUrl } = running;
const market = new Market(chain);
const { operator } = market;
const pool = market.pool('testWETH', 1800n, true);
const second = market.pool('WBTC', 30_000n, true);
const option = optionOf(chain, pool);
const plain = new RestClient(httpUrl, (await keys.create('paid', 'no scope')).key);
const { id, key } = await keys.create('paid', 'desk', ['operator']);
const desk = new RestClient(httpUrl, key);

const acted = () => lines.filter(({ msg }) => msg === 'operator wallet used');

function longs({ poolAddress: address }: Pool): Promise<bigint> {
  const args = [operator.address, LONG] as const;
  return market.client.readContract({ address, abi: optionTokenAbi, functionName: 'balanceOf', args });
}

await market.fill(operator.address, await market.sign(pool, { size: 2n * ONE }), 2n * ONE);
await market.fill(operator.address, await market.sign(second, { size: ONE }), ONE);

await t.test('a key without the scope may not act with the wallet', async (t) => {
  const message = "This key may not act with the operator's wallet: it takes one with the scope operator";
  for (const path of ['/pool/exercise', '/pool/annihilate']) {
    const refused = await plain.post(path, [option]);
    t.strictSame([refused.status, refused.body], [403, { message }]);
    t.equal((await desk.post(path, [option])).status, 200);
  }
  t.strictSame(acted(), []);
});

await t.test('settlement and deployment stay open to every key', async (t) => {
  t.equal((await plain.post('/pool/settle', [option])).status, 200);
  t.equal((await plain.post('/pools', [option])).status, 200);
});

await t.test('each transaction is in the text log with the key, and counts for the cap', async (t) => {
  await market.setSettlementPrice(pool.poolKey, 2000n * ONE);
  await market.moveTimeTo(pool.poolKey.maturity);
  for (let failed = true; failed;) {
    const { body } = await desk.post('/pool/exercise', [option]);
    failed = (body.failed as unknown[]).length > 0;
  }
  t.equal(await longs(pool), 0n);
  const [line, ...others] = acted();
  t.match(line, { keyId: id, route: 'POST /pool/exercise', txHash: /^0x[0-9a-f]{64}$/, succeeded: true });
  t.strictSame(others, []);
});

await t.test('over its cap a route sends nothing, for no key, while others go on', async (t) => {
  const again = new RestClient(httpUrl, (await keys.create('paid', 'another desk', ['operator'])).key);
  for (const client of [desk, again]) {
    const refused = await client.post('/pool/exercise', [optionOf(chain, second)]);
    const message = "The operator's wallet has spent what POST /pool/exercise may in a day";
    t.strictSame([refused.status, refused.body], [429, { message }]);
    t.ok(Number(refused.headers.get('retry-after')) > 86_000);
  }
  t.equal(await longs(second), ONE);
  t.equal(acted().length, 1);
  t.equal((await desk.post('/pool/annihilate', [optionOf(chain, second)])).status, 200);
});

await t.test('a day after its first use the route sends again', async (t) => {
  const { timestamp } = await market.client.getBlock();
  await market.setSettlementPrice(second.poolKey, 40_000n * ONE);
  await market.moveTimeTo(Math.max(Number(timestamp) + 86_400, second.poolKey.maturity));
  const { body } = await untilAnswer(
    () => desk.post('/pool/exercise', [optionOf(chain, second)]),
    ({ status }) => status !== 429,
  );
  t.match(body, { success: [{ base: 'WBTC' }], failed: [] });
  t.equal(await longs(second), 0n);
  t.equal(acted().length, 2);
});
