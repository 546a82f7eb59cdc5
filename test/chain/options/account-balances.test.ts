import t from 'tap';
import { encodeAbiParameters, encodeEventTopics, numberToHex, padHex, parseAbiParameters, zeroAddress } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import type { BlockHead, ChainLog, LogQuery } from '../../../src/chain/contracts/blocks-and-logs.js';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { AccountBalances } from '../../../src/chain/options/account-balances.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { UNPACED } from '../../../src/system/paced-work.js';
import { ManualClock } from '../../system/manual-clock.js';

const { poolFactory, oracleAdapter } = arbitrum.contracts;
const START = poolFactory.startBlock;
const WALLET: Hex = '0x00000000000000000000000000000000000000AA';
const ONE = 10n ** 18n;
const MATURITY = Date.UTC(2026, 10, 27, 8) / 1000;

const limits = {
  logRangeBlocks: 100,
  balanceLogQueries: 20,
  reorgDepth: 10,
  balancePools: 3,
  balanceCacheMs: 2000,
  balanceCacheWallets: 10,
};

function addressOf(symbol: string): Hex {
  const token = arbitrum.tokens.find((known) => known.symbol === symbol);
  if (token === undefined) throw new Error(`there is no ${symbol}`);
  return token.address;
}

function poolAt(nth: number): Hex {
  return numberToHex(0xf000 + nth, { size: 20 });
}

function hashOf(block: number): Hex {
  return numberToHex(block, { size: 32 });
}

/** A put of WETH at a strike of `nth`, deployed in that block. */
function deployment(nth: number, blockNumber: number, adapter: Hex = oracleAdapter.address): ChainLog {
  const args = { base: addressOf('WETH'), quote: addressOf('USDC') };
  const topics = encodeEventTopics({ abi: poolFactoryAbi, eventName: 'PoolDeployed', args }) as Hex[];
  const data = encodeAbiParameters(parseAbiParameters('address, uint256, uint256, bool, address'), [
    adapter,
    BigInt(nth) * ONE,
    BigInt(MATURITY),
    false,
    poolAt(nth),
  ]);
  const place = { blockNumber, blockHash: hashOf(blockNumber), txHash: hashOf(nth), logIndex: 0, timestamp: null };
  return { address: poolFactory.address.toLowerCase() as Hex, topics, data, ...place };
}

interface Chain {
  head: number;
  readonly logs: ChainLog[];
  /** Blocks of one log query; a longer one is refused. */
  readonly range: number;
  /** Longs by pool. */
  readonly longs: Map<Hex, bigint>;
  isDown: boolean;
  areCallsRefused: boolean;
  now: number;
}

function opened(given: Partial<Chain> = {}, ofTest: Partial<typeof limits> = {}) {
  const calm = {
    head: START + 350,
    logs: [],
    range: 1e9,
    longs: new Map(),
    isDown: false,
    areCallsRefused: false,
    now: 0,
  };
  const chain: Chain = { ...calm, ...given };
  const ranges: [number, number][] = [];
  /** Calls of each multicall. */
  const sizes: number[] = [];
  const clock = new ManualClock();
  const headOf = (number: number) => ({ number, hash: hashOf(number) }) as BlockHead;
  const up = <T>(answer: () => T): Promise<T> =>
    chain.isDown ? Promise.reject(new RpcUnreachable('down')) : Promise.resolve().then(answer);
  const reader = {
    head: () => up(() => headOf(chain.head)),
    block: (number: number) => up(() => headOf(number)),
    nativeBalance: () => up(() => 5n),
    logs: ({ fromBlock, to }: LogQuery) =>
      up(() => {
        if (to.blockNumber - fromBlock >= chain.range) throw new RpcError(-32005, 'too many', undefined);
        ranges.push([fromBlock - START, to.blockNumber - START]);
        return chain.logs.filter(({ blockNumber }) => blockNumber >= fromBlock && blockNumber <= to.blockNumber);
      }),
    multicall: (calls: readonly ContractCall[]) =>
      up(() => {
        sizes.push(calls.length);
        if (chain.areCallsRefused) throw new RpcError(-32005, 'not now', undefined);
        return calls.map(({ to, data }): CallResult => {
          const isLong = data.endsWith('1');
          return {
            reverted: false,
            data: padHex(numberToHex(isLong ? (chain.longs.get(to) ?? 0n) : 0n), { size: 32 }),
          };
        });
      }),
  };
  const accounts = new AccountBalances(reader, arbitrum, new OptionSeries(arbitrum), clock, () => chain.now, {
    ...limits,
    ...ofTest,
  });
  const held = async (): Promise<unknown> => {
    const read = await accounts.options(WALLET, UNPACED);
    return read.type === 'READ' ? read.value.map(({ name }) => name) : read.type;
  };
  return { chain, ranges, sizes, clock, accounts, held };
}

t.test('a position has the name of its option, and is open until the option matures', async (t) => {
  const { chain, accounts } = opened({ logs: [deployment(1800, START)], longs: new Map([[poolAt(1800), 7n]]) });
  const position = {
    poolAddress: poolAt(1800),
    name: 'WETH-USDC-27NOV2026-1800-P',
    amount: 7n,
    exposure: 'LONG',
  };
  chain.now = MATURITY - 1;
  t.strictSame(await accounts.options(WALLET, UNPACED), { type: 'READ', value: [{ ...position, isOpen: true }] });
  chain.now = MATURITY;
  t.strictSame(await accounts.options(WALLET, UNPACED), { type: 'READ', value: [{ ...position, isOpen: false }] });
});

t.test('balances are read of an address in any letter case', async (t) => {
  const { accounts } = opened();
  for (const digits of ['AB'.repeat(20), 'aB'.repeat(20), 'ab'.repeat(20)]) {
    t.match(await accounts.collateral(`0x${digits}`), { type: 'READ', value: [{ units: 0n }] }, digits);
    t.match(await accounts.native(`0x${digits}`), { type: 'READ' }, digits);
    t.match(await accounts.options(`0x${digits}`, UNPACED), { type: 'READ' }, digits);
  }
});

t.test('ranges are halved while the node refuses them, and what was read is not read again', async (t) => {
  const { chain, ranges, clock, held } = opened({
    range: 100,
    logs: [deployment(1, START), deployment(2, START + 300)],
    longs: new Map([
      [poolAt(1), 1n],
      [poolAt(2), 1n],
    ]),
  });
  const names = ['WETH-USDC-27NOV2026-1-P', 'WETH-USDC-27NOV2026-2-P'];
  t.strictSame(await held(), names);
  t.strictSame(ranges.map(([from]) => from)[0], 0);
  t.ok(ranges.every(([from, to]) => to - from < 100));
  t.equal(ranges.at(-1)?.[1], 350);
  ranges.length = 0;
  chain.head += 5;
  clock.advance(limits.balanceCacheMs);
  t.strictSame(await held(), names);
  t.strictSame(ranges, [[341, 355]], 'but for the blocks that a reorg may replace');
});

t.test('a request reads so many ranges at most, and the next one continues', async (t) => {
  const { ranges, held } = opened({ range: 100, head: START + 3000 });
  t.equal(await held(), 'CHAIN_UNREACHABLE');
  const [first] = [ranges.length];
  t.ok(first > 0 && first <= limits.balanceLogQueries);
  t.strictSame(await held(), []);
  t.ok((ranges[first]?.[0] ?? 0) > 0, 'from where the first one stopped');
});

t.test('positions are read once for requests that come together or soon after', async (t) => {
  const { ranges, clock, held } = opened();
  await Promise.all([held(), held()]);
  clock.advance(limits.balanceCacheMs - 1);
  await held();
  t.equal(ranges.length, 1);
  clock.advance(1);
  await held();
  t.equal(ranges.length, 2);
});

t.test('what was read before a change of the wallet is not kept', async (t) => {
  const longs = new Map([[poolAt(1), 1n]]);
  const { accounts, held } = opened({ logs: [deployment(1, START)], longs });
  t.strictSame(await held(), ['WETH-USDC-27NOV2026-1-P']);
  longs.clear();
  t.strictSame(await held(), ['WETH-USDC-27NOV2026-1-P']);
  accounts.forget(WALLET);
  t.strictSame(await held(), []);
});

t.test('the request that reads positions is charged for each call, one that gets what is kept for none', async (t) => {
  const { chain, clock, accounts } = opened({ logs: [1, 2, 3].map((nth) => deployment(nth, START + nth)) });
  const charged = { first: 0, joined: 0, later: 0, failed: 0 };
  const work = (name: keyof typeof charged) => ({ charge: (rows: number) => void (charged[name] += rows) });
  await Promise.all([accounts.options(WALLET, work('first')), accounts.options(WALLET, work('joined'))]);
  await accounts.options(WALLET, work('later'));
  t.strictSame(charged, { first: 6, joined: 0, later: 0, failed: 0 }, 'two calls a pool');
  clock.advance(limits.balanceCacheMs);
  chain.areCallsRefused = true;
  t.strictSame(await accounts.options(WALLET, work('failed')), { type: 'CHAIN_UNREACHABLE' });
  t.equal(charged.failed, 6);
});

t.test('positions in many pools are read in slices, in the order of the pools', async (t) => {
  const nths = Array.from({ length: 1_500 }, (_, i) => i + 1);
  const { sizes, held } = opened(
    {
      logs: nths.map((nth) => deployment(nth, START + (nth % 100))),
      longs: new Map(nths.filter((nth) => nth % 500 === 0).map((nth) => [poolAt(nth), 1n])),
    },
    { balancePools: 2_000 },
  );
  t.strictSame(
    await held(),
    [500, 1_000, 1_500].map((nth) => `WETH-USDC-27NOV2026-${nth}-P`),
  );
  t.strictSame(sizes, [1_280, 1_280, 440]);
});

t.test('a failure is not kept', async (t) => {
  const { chain, held } = opened({ isDown: true });
  t.equal(await held(), 'CHAIN_UNREACHABLE');
  chain.isDown = false;
  t.strictSame(await held(), []);
});

t.test('the newest pools are looked in, and none of another oracle', async (t) => {
  const nths = [1, 2, 3, 4];
  const { held } = opened({
    logs: [...nths.map((nth) => deployment(nth, START + nth)), deployment(5, START + 5, zeroAddress)],
    longs: new Map([...nths, 5].map((nth) => [poolAt(nth), 1n])),
  });
  t.strictSame(
    await held(),
    [2, 3, 4].map((nth) => `WETH-USDC-27NOV2026-${nth}-P`),
  );
});

t.test('a token that does not answer is named with the reason, and the balances of the others are given', async (t) => {
  const usdc = addressOf('USDC');
  const reader = {
    multicall: (calls: readonly ContractCall[]) =>
      Promise.resolve(
        calls.map(({ to }, i): CallResult => {
          if (to === usdc) return { reverted: true, data: '0x' };
          return to === addressOf('DAI')
            ? { reverted: false, data: '0x' }
            : { reverted: false, data: numberToHex(i % 2 === 0 ? 18 : 7, { size: 32 }) };
        }),
      ),
  } as never;
  const accounts = new AccountBalances(
    reader,
    arbitrum,
    new OptionSeries(arbitrum),
    new ManualClock(),
    () => 0,
    limits,
  );
  const read = await accounts.collateral(WALLET);
  t.equal(read.type, 'READ');
  const told = read.type === 'READ' ? read.value : [];
  t.strictSame(
    told.map(({ symbol }) => symbol),
    arbitrum.tokens.map(({ symbol }) => symbol),
  );
  t.strictSame(
    told.filter((item) => 'reason' in item),
    arbitrum.tokens.flatMap(({ symbol }) => {
      if (symbol === 'USDC') return [{ symbol, reason: 'Reverted without a reason' }];
      return symbol === 'DAI' ? [{ symbol, reason: 'The token tells no balance' }] : [];
    }),
  );
  t.match(told[0], { symbol: 'WETH', units: 7n, decimals: 18 });
});
