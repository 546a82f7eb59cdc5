import pino from 'pino';
import t from 'tap';
import { decodeFunctionData, encodeEventTopics, encodeFunctionData, maxUint256 } from 'viem';
import { erc20Abi, optionTokenAbi, vaultAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, queryOf } from './wire-option.js';

const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
const running = await startTestService({ logger });
t.teardown(() => running.stop());
const { chain, httpUrl, apiKey, keys } = running;
const market = new Market(chain);
const { operator } = market;
const rest = new RestClient(httpUrl, apiKey);
const keyOfTest = keys.list().find(({ label }) => label === 'test')?.id;
const usdc = market.token('USDC');
const wbtc = market.token('WBTC');
const put = optionOf(chain, market.pool('testWETH', 1800n, false));
const call = optionOf(chain, market.pool('WBTC', 30_000n, true));

function vault(name: string): Hex {
  const found = chain.profile.vaults.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found.address;
}

const ofPuts = vault('pSV-testWETH/USDC-P');
const ofCalls = vault('pSV-WBTC/USDC-C');

async function trade(body: unknown, client = rest): Promise<[number, Record<string, unknown>]> {
  const answer = await client.post('/vaults/trade', body);
  return [answer.status, answer.body];
}

/** By GET /vaults/quote, in whole tokens. */
async function price(option: typeof put, size: number, direction: 'buy' | 'sell'): Promise<number> {
  const { body } = await rest.get(`/vaults/quote?${queryOf(option, { size: String(size), direction })}`);
  return body.quote as number;
}

const buy = { ...put, size: 2, direction: 'buy', premiumLimit: 1000 };

await t.test('a buy needs an allowance for the vault itself, and says so', async (t) => {
  const message = `The vault ${ofPuts} may not take enough USDC: approve it`;
  t.strictSame(await trade(buy), [400, { message, trade: buy }]);
  await market.approve(operator.address, usdc, ofPuts);
  await market.approve(operator.address, wbtc, ofCalls);
});

await t.test('a buy pays in the decimals of the asset, and brings the longs', async (t) => {
  for (const [option, token, name, decimals] of [
    [put, usdc, 'pSV-testWETH/USDC-P', 6],
    [call, wbtc, 'pSV-WBTC/USDC-C', 8],
  ] as const) {
    const quoted = await price(option, 0.5, 'buy');
    const limit = Number((quoted * 1.01).toFixed(decimals));
    const order = { ...option, size: 0.5, direction: 'buy', premiumLimit: limit };
    let answer: [number, Record<string, unknown>] = [0, {}];
    const [change = 0n] = await market.changes(token, [operator.address], async () => (answer = await trade(order)));
    const [status, { market: traded, quote, fee, transactionHash }] = answer;
    t.equal(status, 200, JSON.stringify(answer));
    const { expiration, strike } = option;
    t.strictSame(traded, { vault: name, strike, expiration, size: 0.5, direction: 'buy' });
    t.equal(BigInt(Math.round((quote as number) * 10 ** decimals)), -change);
    t.ok((quote as number) <= limit && (fee as number) > 0 && (fee as number) < (quote as number));
    t.match(transactionHash, /^0x[0-9a-f]{64}$/);
    t.match(lines.filter(({ msg }) => msg === 'operator wallet used').at(-1), {
      keyId: keyOfTest,
      route: 'POST /vaults/trade',
      txHash: transactionHash,
      succeeded: true,
    });
    t.strictSame(Object.keys(answer[1]), ['market', 'quote', 'fee', 'transactionHash']);
  }
  t.equal(await market.longs(market.pool('testWETH', 1800n, false), operator), ONE / 2n);
});

await t.test('a sell needs the options and an approval for all, and brings the premium', async (t) => {
  const pool = market.pool('testWETH', 1800n, false);
  const sell = { ...put, size: 0.25, direction: 'sell', premiumLimit: 1 };
  const message = `The vault ${ofPuts} may not take options of ${pool.poolAddress}: approve it for all`;
  t.strictSame(await trade(sell), [400, { message, trade: sell }]);
  const data = encodeFunctionData({ abi: optionTokenAbi, functionName: 'setApprovalForAll', args: [ofPuts, true] });
  await market.send(operator.address, pool.poolAddress, data);
  const [change = 0n] = await market.changes(usdc, [operator.address], async () => {
    const [status, { quote, fee }] = await trade(sell);
    t.equal(status, 200);
    t.ok((quote as number) > 1);
    t.equal(fee, 0);
  });
  t.ok(change > 1_000_000n);
  t.equal(await market.longs(pool, operator), ONE / 4n);
  const more = { ...sell, size: 0.5 };
  const tooMany = await trade(more);
  t.ok(['Not enough options to sell to vault', 'Vault__InsufficientShorts'].includes(String(tooMany[1].message)));
  t.equal(tooMany[0], 400);
});

await t.test('a limit with more decimals than the asset is rounded, and never looser than it was', async (t) => {
  for (const [direction, premiumLimit, units] of [
    ['buy', 1000.00000099, 1_000_000_000n],
    ['sell', 1.00000001, 1_000_001n],
  ] as const) {
    const [status, { transactionHash }] = await trade({ ...put, size: 0.125, direction, premiumLimit });
    t.equal(status, 200, direction);
    const { input } = await market.client.getTransaction({ hash: transactionHash as Hex });
    t.equal(decodeFunctionData({ abi: vaultAbi, data: input }).args[3], units, direction);
  }
});

await t.test('what the vault or the factory refuses is 400 by its name, and the input repeated', async (t) => {
  for (const [change, message] of [
    [{ premiumLimit: 0.01 }, 'Vault__AboveMaxSlippage'],
    [{ size: 1_000_000_000 }, 'Vault__InsufficientFunds'],
    [{ strike: 1801 }, 'PoolFactory__OptionStrikeInvalid'],
    [{ strike: 100 }, 'Vault__OutOfDeltaBounds'],
    [{ base: 'DAI' }, 'Vault does not exist'],
    [{ expiration: '31FEB27' }, 'Invalid expiration date: 31FEB27'],
    [{ expiration: '03NOV23' }, 'Invalid expiration date: 03NOV23 is in the past'],
    [{ premiumLimit: 1e-19 }, 'premiumLimit must NOT have more than 18 decimals'],
    [{ premiumLimit: 1e75 }, 'premiumLimit must be < 2^256 units'],
  ] as const) {
    const order = { ...buy, ...change };
    t.strictSame(await trade(order), [400, { message, trade: order }]);
  }
  for (const change of [{ size: -1 }, { size: 0 }, { premiumLimit: -1 }, { direction: 'hold' }, { more: 1 }]) {
    t.equal((await trade({ ...buy, ...change }))[0], 400, JSON.stringify(change));
  }
  const { premiumLimit, ...incomplete } = buy;
  t.equal(premiumLimit, 1000);
  t.equal((await trade(incomplete))[0], 400);
});

await t.test('a wallet that has too little is refused', async (t) => {
  await market.isolated(async () => {
    const balance = await market.balance(usdc, operator.address);
    await market.transfer(operator.address, usdc, market.maker.address, balance - 1n);
    t.strictSame(await trade(buy), [400, { message: 'Not enough USDC to trade with vault', trade: buy }]);
    await market.transfer(market.maker.address, usdc, operator.address, balance - 1n);
  });
});

await t.test('a pool that is not deployed is deployed by the trade', async (t) => {
  const order = { ...buy, strike: 1500, premiumLimit: 500 };
  const [status, body] = await trade(order);
  t.equal(status, 200, JSON.stringify(body));
});

await t.test('no more of a token is paid in a day than its cap, also after a restart', async (t) => {
  const kept = new MemoryKeyValueStore();
  const cost = await price(put, 1, 'buy');
  const cap = (cost * 1.5).toFixed(6);
  const order = { ...put, size: 1, direction: 'buy', premiumLimit: Number((cost * 1.1).toFixed(6)) };
  const capped = async (budgets: MemoryKeyValueStore) => {
    const other = await startTestService({ chain, budgets, tokensPerDay: [`USDC=${cap}`] });
    t.teardown(() => other.stop());
    return new RestClient(other.httpUrl, other.apiKey);
  };
  const client = await capped(kept);
  t.equal((await trade(order, client))[0], 200);
  const message = "The operator's wallet may not pay so much USDC in a day";
  const refused = await client.post('/vaults/trade', order);
  t.strictSame([refused.status, refused.body], [429, { message }]);
  t.ok(Number(refused.headers.get('retry-after')) > 80_000);
  t.strictSame(await trade(order, await capped(kept.reopened())), [429, { message }]);
  const other = { ...call, size: 0.01, direction: 'buy', premiumLimit: 1 };
  t.equal((await trade(other, client))[0], 200, 'other tokens have no cap');
  t.equal(
    await market.client.readContract({
      address: usdc,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [operator.address, ofPuts],
    }),
    maxUint256,
  );
});

await t.test('a mined buy whose event cannot be read counts to the cap with its limit', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const profile = { ...chain.profile, settlement: { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null } };
  const cost = await price(put, 1, 'buy');
  const tokensPerDay = [`USDC=${(cost * 1.5).toFixed(6)}`];
  const other = await startTestService({ chain, profile, tokensPerDay });
  t.teardown(() => other.stop());
  const client = new RestClient(other.httpUrl, other.apiKey);
  const [traded] = encodeEventTopics({ abi: vaultAbi, eventName: 'Trade' });
  const withoutData = (log: { topics: string[] }) => (log.topics[0] === traded ? { ...log, data: '0x' } : log);
  proxy.trick = ({ method }) =>
    method === 'eth_getLogs' ? { rewrite: (logs) => (logs as { topics: string[] }[]).map(withoutData) } : 'PASS';
  const order = { ...put, size: 1, direction: 'buy', premiumLimit: Number((cost * 1.1).toFixed(6)) };
  const pool = market.pool('testWETH', 1800n, false);
  const before = await market.longs(pool, operator);
  t.equal((await trade(order, client))[0], 500);
  t.equal(await market.longs(pool, operator), before + ONE, 'the trade was mined');
  t.equal((await trade(order, client))[0], 429);
});
