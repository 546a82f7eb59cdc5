import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { OrderbookClient } from 'quotebook/client';
import { QuoteManager, Trader } from 'quotebook/client/trading';
import t from 'tap';
import { BaseError, ContractFunctionZeroDataError, formatEther, formatUnits, hashTypedData } from 'viem';
import { KeyStore } from '../../src/auth/key-store.js';
import { erc20Abi, LONG, optionTokenAbi, orderbookStreamAbi, poolAbi, SHORT } from '../../src/chain/contracts/abi.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { systemPorts, type Fetch, type SocketConstructor } from '../../src/client/ports.js';
import type { Hex } from '../../src/engine/quote.js';
import type { TradesResult } from '../../src/wire/market.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { WebSocket } from 'ws';
import { QUOTE_TYPES } from '../auth/quote-types.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { Market, ONE } from '../chain/dev/market.js';
import { freePort } from '../free-port.js';
import { untilAnswer } from '../until.js';
import { startTestService, type TestService } from './running-service.js';

/** How long the market is disturbed; ten minutes by hand (CONTRIBUTING.md). */
const RUN_MS = process.env.QUOTEBOOK_TEST_LONG === undefined ? 60_000 : 600_000;
/** Between two disturbances, on average. */
const STEP_MS = 300;
const FINALITY_BLOCKS = 4;
const SIZE = 2n * ONE;
const RFQ_SIZE = ONE / 2n;
t.setTimeout(RUN_MS + 180_000);

const seed = Number(process.env.QUOTEBOOK_TEST_SEED ?? Date.now() % 1_000_000);
t.comment(`seed ${seed}`);
let state = seed;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}
const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const market = new Market(chain);
const { maker, taker, stranger } = market;
const pools = [market.pool('testWETH', 1800n, true), market.pool('testWETH', 2000n, false)];
// The first reorgs of a run would take the pools with them.
await market.client.mine({ blocks: 5 * FINALITY_BLOCKS });
const [usedPool] = pools;
if (usedPool === undefined) throw new Error('there are pools');

const port = await freePort();
const keys = await KeyStore.open({
  files: new MemoryKeyFiles(),
  clock: systemClock,
  random: systemRandom,
  cacheSize: 100,
});
t.teardown(() => keys.close());
const { key: makerKey } = await keys.create('free', 'maker');
// A real log: after a restart the service reads the earlier fills from it.
const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
t.teardown(() => rm(dataDir, { recursive: true, force: true }));
const start = () =>
  startTestService({ chain, port, keys, dataDir, keepsLog: true, limits: { wsHeartbeatMs: 200, lowerHeadMs: 100 } });
let service: TestService = await start();
t.teardown(() => service.stop());

/** Answers to the maker that said that a quota was exceeded. */
let refusals = 0;
const countingFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.status === 429) refusals += 1;
  return response;
};

class CountingWebSocket extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, protocols);
    this.on('message', (data: Buffer) => {
      if (data.toString().includes('RATELIMITED')) refusals += 1;
    });
  }
}

const client = new OrderbookClient(
  {
    url: `http://127.0.0.1:${port}`,
    apiKey: makerKey,
    chainId: '421613',
    timeouts: { reconnect: { minMs: 50, maxMs: 500 } },
  },
  { ...systemPorts(CountingWebSocket as unknown as SocketConstructor), fetch: countingFetch },
);
t.teardown(() => client.close());
const takerClient = new OrderbookClient({
  url: `http://127.0.0.1:${port}`,
  apiKey: service.apiKey,
  chainId: '421613',
  timeouts: { reconnect: { minMs: 50, maxMs: 500 } },
});
t.teardown(() => takerClient.close());

const { erc20Router } = chain.contracts;
const trader = new Trader({ client, wallet: market.walletOf(maker), erc20Router, timeouts: { pollMs: 20 } });
const manager = new QuoteManager({
  client,
  trader,
  lifeSeconds: 30,
  rfqLifeSeconds: 20,
  finalityBlocks: FINALITY_BLOCKS,
  slackSeconds: 60,
  lookMs: 250,
});
const counts = { POSTED: 0, REFUSED: 0, FILLED: 0, CANCELLED: 0, TROUBLE: 0 };
manager.onEvent((event) => {
  counts[event.type] += 1;
  if (process.env.TEST_LOG_LEVEL !== undefined) t.comment(JSON.stringify(event, (_, value: unknown) => String(value)));
});

const quoted = pools.map(({ poolAddress, poolKey }) => ({
  poolAddress,
  poolKey: { ...poolKey, strike: poolKey.strike.toString() },
}));

/** New prices on both sides of each pool; the sizes stay. */
function aim(): void {
  for (const pool of quoted) {
    const fair = BigInt(40 + Math.floor(random() * 20)) * 10n ** 15n;
    const side = (price: bigint) => ({ price, size: SIZE, rfq: { price, size: RFQ_SIZE } });
    manager.setTarget(pool, { bid: side((fair * 98n) / 100n), ask: side((fair * 102n) / 100n) });
  }
}

interface Published {
  readonly pool: Hex;
  readonly quoteId: Hex;
  readonly size: bigint;
  readonly isBuy: boolean;
  readonly deadline: bigint;
  readonly args: Parameters<Market['fill']>[1];
  /** From this block on takers know it, also if a reorg removes it. */
  since: bigint;
}

/** Every quote of the maker that was ever on the stream, also in blocks that a reorg removed. */
const published = new Map<Hex, Published>();
let readFrom = 0n;

async function readPublished(): Promise<void> {
  const logs = await market.client.getContractEvents({
    address: chain.contracts.orderbookStream,
    abi: orderbookStreamAbi,
    eventName: 'PublishQuote',
    args: { provider: maker.address },
    fromBlock: readFrom,
    strict: true,
  });
  const head = await market.client.getBlockNumber();
  readFrom = head > 20n ? head - 20n : 0n;
  for (const { args, blockNumber } of logs) {
    const pool = pools.find(
      ({ poolKey }) => poolKey.strike === args.poolKey.strike && poolKey.isCallPool === args.poolKey.isCallPool,
    );
    if (pool === undefined) continue;
    const { provider, taker, price, size, isBuy, deadline, salt, signature } = args;
    const quoteId = hashTypedData({
      domain: { name: 'Premia', version: '1', chainId: 421_613, verifyingContract: pool.poolAddress },
      types: QUOTE_TYPES,
      primaryType: 'FillQuoteOB',
      message: { provider, taker, price, size, isBuy, deadline, salt },
    });
    const offer = {
      pool,
      provider,
      taker,
      price,
      size,
      isBuy,
      deadline: Number(deadline),
      salt: Number(salt),
      signature,
      quoteId,
    };
    const since = published.get(quoteId)?.since ?? blockNumber;
    published.set(quoteId, { pool: pool.poolAddress, quoteId, size, isBuy, deadline, args: offer, since });
  }
}

const filledOf = async ({ pool, quoteId }: Published, blockNumber: bigint): Promise<bigint> => {
  const args = [maker.address, quoteId] as const;
  const read = { address: pool, abi: poolAbi, functionName: 'getQuoteOBFilledAmount', args, blockNumber } as const;
  // The pool is there all the time, but a busy anvil may answer without any state while it replaces blocks.
  const answer = await untilAnswer(
    () =>
      market.client.readContract(read).catch((error: unknown) => {
        const isEmpty =
          error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionZeroDataError);
        if (isEmpty) return null;
        throw error;
      }),
    (found) => found !== null,
  );
  return answer ?? 0n;
};

/** The maker's quotes that a taker could fill at a block, or now, read from the contracts. */
async function live(at?: bigint): Promise<(Published & { readonly left: bigint })[]> {
  await readPublished();
  const { timestamp, number } = await market.client.getBlock(at === undefined ? {} : { blockNumber: at });
  const current = [...published.values()].filter(({ deadline, since }) => deadline >= timestamp && since <= number);
  const amounts = await Promise.all(current.map((quote) => filledOf(quote, number)));
  return current.flatMap((quote, index) => {
    const left = quote.size - (amounts[index] ?? 0n);
    return left > 0n ? [{ ...quote, left }] : [];
  });
}

let worst = 0n;
let checks = 0;
let checkedTo = await market.client.getBlockNumber();

/** Every block since the last check. */
async function check(): Promise<void> {
  const head = await market.client.getBlockNumber();
  while (checkedTo < head) await checkBlock(++checkedTo);
}

async function checkBlock(blockNumber: bigint): Promise<void> {
  const quotes = await live(blockNumber);
  for (const { poolAddress } of pools) {
    for (const isBuy of [true, false]) {
      const same = quotes.filter((quote) => quote.pool === poolAddress && quote.isBuy === isBuy);
      const sum = same.reduce((total, { left }) => total + left, 0n);
      if (sum > worst) worst = sum;
      checks += 1;
      if (sum > SIZE) throw new Error(`seed ${seed}: ${formatEther(sum)} may be filled of ${formatEther(SIZE)}`);
    }
  }
}

/** A taker fills a part of a quote that it may fill; others may be faster. */
async function fillSome(): Promise<void> {
  const quote = pick(await live());
  if (quote === undefined) return;
  const part = random() < 0.5 ? quote.left : quote.left / 2n;
  await market.fill(taker.address, quote.args, part).catch(() => undefined);
}

/** anvil's clock goes back with the blocks that it removes: a real chain's does not. */
async function reorg(): Promise<void> {
  const { timestamp, number } = await market.client.getBlock();
  const depth = 1 + Math.floor(random() * FINALITY_BLOCKS);
  await market.reorg(depth);
  const ancestor = number - BigInt(depth);
  for (const quote of published.values()) if (quote.since > ancestor) quote.since = ancestor;
  if (checkedTo > ancestor) checkedTo = ancestor;
  const now = Math.max(Number(timestamp), Math.floor(Date.now() / 1000));
  await market.moveTimeTo(now + 1);
}

/** The service's fills, positions and balances of an account equal the contracts'. Retried while a block comes in between. */
async function compareAccount(account: Hex): Promise<void> {
  const end = Date.now() + 20_000;
  for (;;) {
    const [shown, owned] = await Promise.all([byRoutes(account), byContracts(account)]).catch(() => [null, undefined]);
    if (shown !== null && JSON.stringify(shown) === JSON.stringify(owned)) return;
    if (Date.now() > end) throw new Error(`seed ${seed}: ${JSON.stringify(shown)} is not ${JSON.stringify(owned)}`);
    await pause(200);
  }
}

interface AccountView {
  readonly positions: readonly string[];
  readonly balances: readonly number[];
  /** Of both sides of a fill, the newest first. */
  readonly fills: readonly string[];
}

async function byRoutes(account: Hex): Promise<AccountView> {
  const get = async (route: string): Promise<unknown> => {
    const url = `http://127.0.0.1:${port}/account/${route}?walletAddr=${account}`;
    return (await fetch(url, { headers: { 'x-apikey': service.apiKey } })).json();
  };
  const [options, collateral, made, taken] = (await Promise.all([
    get('option_balances'),
    get('collateral_balances'),
    takerClient.rest.trades({ provider: account, limit: '999' }),
    takerClient.rest.trades({ taker: account, limit: '999' }),
  ])) as [
    { open: { token_address: Hex; exposure: string; amount: number }[] },
    { success: { symbol: string; balance: number }[] },
    TradesResult,
    TradesResult,
  ];
  const fills = [...made.trades, ...taken.trades].map(({ txHash, logIndex, poolAddress, quoteId, side, size, fee }) =>
    [txHash, logIndex, poolAddress, quoteId, side, size, fee].join(' '),
  );
  const positions = options.open.map(({ token_address, exposure, amount }) => `${token_address} ${exposure} ${amount}`);
  const balance = (symbol: string) => collateral.success.find((each) => each.symbol === symbol)?.balance ?? -1;
  const balances = [balance('testWETH'), balance('USDC')];
  return { positions: positions.sort(), balances, fills: fills.sort() };
}

async function byContracts(account: Hex): Promise<AccountView> {
  const positions: string[] = [];
  for (const { poolAddress } of pools) {
    for (const [id, exposure] of [
      [SHORT, 'SHORT'],
      [LONG, 'LONG'],
    ] as const) {
      const args = [account, id] as const;
      const amount = await market.client.readContract({
        address: poolAddress,
        abi: optionTokenAbi,
        functionName: 'balanceOf',
        args,
      });
      if (amount > 0n) positions.push(`${poolAddress} ${exposure} ${Number(formatEther(amount))}`);
    }
  }
  const balances = await Promise.all(
    ['testWETH', 'USDC'].map(async (symbol) => {
      const address = market.token(symbol);
      const decimals = await market.client.readContract({ address, abi: erc20Abi, functionName: 'decimals' });
      return Number(formatUnits(await market.balance(address, account), decimals));
    }),
  );
  return { positions: positions.sort(), balances, fills: (await fillsOf(account)).sort() };
}

/** By the pools' own logs, of the branch that counts. */
async function fillsOf(account: Hex): Promise<string[]> {
  const found = {
    address: pools.map(({ poolAddress }) => poolAddress),
    abi: poolAbi,
    eventName: 'FillQuoteOB',
  } as const;
  const logs = await market.client.getContractEvents({ ...found, fromBlock: 0n, strict: true });
  return logs.flatMap(({ args, address, transactionHash, logIndex }) => {
    const fee = args.protocolFee + args.totalReferralRebate;
    const side = args.isBuy ? 'buy' : 'sell';
    const fill = [transactionHash, logIndex, address, args.quoteOBHash, side, args.contractSize, fee].join(' ');
    return [args.provider, args.user].filter((party) => isSame(party, account)).map(() => fill);
  });
}

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

t.test('through fills, requests, reorgs and restarts a manager never offers more than its target', async (t) => {
  aim();
  await manager.start();
  const startedMs = Date.now();
  const restarts = [RUN_MS / 3, (2 * RUN_MS) / 3];
  let [fills, reorgs, compared] = [0, 0, 0];
  while (Date.now() - startedMs < RUN_MS) {
    const next = restarts[0];
    if (next !== undefined && Date.now() - startedMs > next) {
      restarts.shift();
      await service.stop();
      await market.client.mine({ blocks: 1 });
      await check();
      service = await start();
    }
    const kind = random();
    if (kind < 0.2) {
      await fillSome();
      fills += 1;
    } else if (kind < 0.28) {
      await reorg();
      reorgs += 1;
    } else if (kind < 0.4) {
      const request = { poolAddress: usedPool.poolAddress, side: 'ask', size: ONE / 4n, taker: taker.address } as const;
      await takerClient.requestQuotes(request).catch(() => undefined);
    } else if (kind < 0.44) aim();
    else if (kind < 0.5) {
      await compareAccount(pick([maker.address, taker.address, stranger.address]) ?? maker.address);
      compared += 1;
    } else await market.client.mine({ blocks: 1 });
    await check();
    await pause(STEP_MS * (0.5 + random()));
  }
  t.comment(
    JSON.stringify({
      ...counts,
      checks,
      fills,
      reorgs,
      compared,
      published: published.size,
      worst: formatEther(worst),
    }),
  );
  t.ok(worst <= SIZE && worst > 0n, `at most ${formatEther(worst)} of ${formatEther(SIZE)}`);
  t.ok((await fillsOf(maker.address)).length > 0, 'fills were compared');
  t.ok(counts.POSTED > 5 && counts.FILLED > 0 && fills > 0 && reorgs > 0, 'it quoted and was filled');
  await compareAccount(maker.address);
  await compareAccount(taker.address);
});

t.test('it never exceeds the quotas of a free key', async (t) => {
  t.equal(refusals, 0);
});

t.test('after close no quote is left', async (t) => {
  await manager.close();
  t.strictSame(await live(), []);
  const { validQuotes } = await takerClient.rest.orders({ provider: maker.address, taker: taker.address });
  t.strictSame(validQuotes, []);
});
