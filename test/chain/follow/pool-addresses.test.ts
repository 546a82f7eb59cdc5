import t from 'tap';
import { decodeFunctionData, encodeErrorResult, getAddress } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { contractErrorsAbi, poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import { encodeGetPoolAddress, PoolAddresses } from '../../../src/chain/follow/pool-addresses.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex, PoolKey } from '../../../src/engine/quote.js';
import { address, samplePool, START } from '../../engine/samples.js';
import { addressOfStrike, answerAsFactory } from '../factory-answers.js';

const IMPOSSIBLE = 0n;
/** Strikes from here on are refused for their dates. */
const TOO_EARLY = 1_000n;
const DAY = 86_400;
/** At 08:00 UTC. */
const MATURITY = START - (START % DAY) + 400 * DAY + DAY / 3;

const keyOf = (strike: bigint, maturity = MATURITY): PoolKey => ({ ...samplePool(0, maturity).poolKey, strike });

type Later = (calls: readonly ContractCall[]) => Promise<CallResult[]>;

function answer(call: ContractCall): CallResult {
  const { functionName, args } = decodeFunctionData({ abi: poolFactoryAbi, data: call.data });
  if (functionName !== 'getPoolAddress') throw new Error(`the factory was asked for ${functionName}`);
  const [{ strike, maturity }] = args;
  if (strike < TOO_EARLY) return answerAsFactory(call, [], IMPOSSIBLE);
  const errorName = 'PoolFactory__OptionMaturityNotFriday';
  return { reverted: true, data: encodeErrorResult({ abi: contractErrorsAbi, errorName, args: [maturity] }) };
}

const allowed: Later = (calls) => Promise.resolve(calls.map((call) => answerAsFactory(call, [], IMPOSSIBLE)));

/** Pools by a factory that refuses some; `later` is what it says as if the time were another. */
function opened(later: Later = allowed) {
  /** How many keys each question was about. */
  const asked: number[] = [];
  /** As if at which time, and about how many. */
  const askedLater: [time: number, keys: number][] = [];
  const factory = {
    multicall(calls: readonly ContractCall[]) {
      asked.push(calls.length);
      return Promise.resolve(calls.map(answer));
    },
    multicallAtTime(calls: readonly ContractCall[], time: number) {
      askedLater.push([time, calls.length]);
      return later(calls);
    },
  };
  return { pools: new PoolAddresses(factory, address(0xfa), 2), asked, askedLater };
}

t.test('keys are asked about together, and of one that has a pool not again', async (t) => {
  const { pools, asked } = opened();
  const keys = [keyOf(1n), keyOf(IMPOSSIBLE), keyOf(2n), keyOf(1n)];
  const found = await pools.resolve(keys);
  t.strictSame(
    found.map((pool) => pool?.poolAddress),
    [addressOfStrike(1n), undefined, addressOfStrike(2n), addressOfStrike(1n)],
  );
  const upperCase = (key: PoolKey): PoolKey => ({ ...key, base: `0x${key.base.slice(2).toUpperCase()}` });
  t.strictSame(await pools.resolve(keys.map(upperCase)), found);
  t.strictSame(asked, [3, 1], 'what the factory refuses it may allow later');
});

t.test('the pools used last are remembered, and a forgotten one is asked for again', async (t) => {
  const { pools, asked } = opened();
  const keys = [1n, 2n, 3n, 4n, 5n].map((strike) => keyOf(strike));
  t.equal((await pools.resolve(keys)).filter((pool) => pool !== null).length, 5);
  await pools.resolve(keys.slice(3));
  t.strictSame(asked, [5]);
  await pools.resolve(keys.slice(0, 1));
  t.strictSame(asked, [5, 1]);
});

t.test('a key that is refused as yet is asked about as if its maturity were near', async (t) => {
  const { pools, askedLater } = opened();
  const refused = keyOf(TOO_EARLY);
  const [found, again] = await pools.resolveEvenLater([refused, refused], START);
  t.strictSame([found?.poolAddress, found?.poolKey], [addressOfStrike(TOO_EARLY), refused]);
  t.equal(again, found);
  t.strictSame(await pools.resolveEvenLater([refused], START), [found]);
  t.strictSame(askedLater, [[MATURITY - 1, 1]], 'once for all who ask');
  t.strictSame(await pools.resolve([refused]), [null], 'a new quote cannot be posted for it');
});

t.test('keys that are allowed at the same time are asked about together, however many there are', async (t) => {
  const { pools, askedLater } = opened();
  const keys = [3, 0, 2, 1, 4, 0].map((days, i) => keyOf(TOO_EARLY + BigInt(i), MATURITY + days * DAY));
  t.strictSame(
    (await pools.resolveEvenLater(keys, START)).map((pool) => pool?.poolAddress),
    keys.map(({ strike }) => addressOfStrike(strike)),
  );
  t.strictSame(askedLater, [
    [MATURITY - 1, 4],
    [MATURITY + 3 * DAY - 1, 2],
  ]);
});

t.test('none is whose date is never allowed, is over or too far, or that is refused for something else', async (t) => {
  const { pools, askedLater } = opened();
  const tooFar = MATURITY - 400 * DAY + 731 * DAY;
  const keys = [keyOf(TOO_EARLY, MATURITY + 1), keyOf(TOO_EARLY, tooFar), keyOf(IMPOSSIBLE)];
  t.strictSame(await pools.resolveEvenLater(keys, START), [null, null, null]);
  t.strictSame(await pools.resolveEvenLater([keyOf(TOO_EARLY)], MATURITY), [null]);
  t.strictSame(askedLater, []);
});

t.test('a key that is refused even then, or by a node that cannot be asked so, has no pool', async (t) => {
  const reverts = opened((calls) => Promise.resolve(calls.map(() => ({ reverted: true, data: '0x' }))));
  t.strictSame(await reverts.pools.resolveEvenLater([keyOf(TOO_EARLY)], START), [null]);
  const cannot = opened(() => Promise.reject(new RpcError(-32602, 'too many arguments, want at most 3', null)));
  t.strictSame(await cannot.pools.resolveEvenLater([keyOf(TOO_EARLY)], START), [null]);
});

t.test('of a node that does not answer, or not just now, nothing is known', async (t) => {
  for (const error of [new RpcUnreachable('gone'), new RpcError(-32005, 'limit', null), new RpcError(429, '', null)]) {
    const { pools } = opened(() => Promise.reject(error));
    await t.rejects(pools.resolveEvenLater([keyOf(TOO_EARLY)], START), error);
  }
});

t.test('the factory is asked the same, in whatever letter case the addresses of a key come', (t) => {
  const base: Hex = '0x5c4a427fbc88c761db3887d88606d97d32e95c3b';
  const { poolKey } = samplePool(0);
  const withBase = (address: Hex): PoolKey => ({ ...poolKey, base: address });
  const asked = encodeGetPoolAddress(withBase(base));
  const cases: Hex[] = [
    '0x5C4A427FBC88C761DB3887D88606D97D32E95C3B',
    '0x5c4A427Fbc88c761db3887d88606D97D32e95c3B', // EIP-55
    '0x5C4A427Fbc88c761db3887d88606D97D32e95c3B', // and no longer
  ];
  for (const address of cases) t.equal(encodeGetPoolAddress(withBase(address)), asked, address);
  t.end();
});

t.test(
  'a request of keys that nobody knows is looked up in half the time that viem takes for their checksums',
  async (t) => {
    const count = 1_000;
    const rounds = 5;
    const keysFrom = (start: number): PoolKey[] =>
      Array.from({ length: count }, (_, i) => {
        const at = start + 3 * i;
        return { ...keyOf(1n), base: address(at), quote: address(at + 1), oracleAdapter: address(at + 2) };
      });
    const answer = answerAsFactory({ to: address(0xfa), data: encodeGetPoolAddress(keyOf(1n)) }, [], IMPOSSIBLE);
    const factory = {
      multicall: (calls: readonly ContractCall[]) => Promise.resolve(calls.map(() => answer)),
      multicallAtTime: () => Promise.reject(new Error()),
    };
    const pools = new PoolAddresses(factory, address(0xfa), rounds * count);
    // The shortest of a few rounds: the first takes longer than any other, and so does one on a busy machine.
    let [took, viemTook] = [Infinity, Infinity];
    for (let round = 1; round <= rounds; round++) {
      const [known, others] = [keysFrom(20_000 * round), keysFrom(20_000 * round + 10_000)];
      const begun = performance.now();
      await pools.resolve(known);
      const between = performance.now();
      for (const { base, quote, oracleAdapter } of others)
        for (const each of [base, quote, oracleAdapter]) getAddress(each);
      took = Math.min(took, between - begun);
      viemTook = Math.min(viemTook, performance.now() - between);
    }
    t.ok(took < viemTook / 2, `${took} ms, and viem ${viemTook} ms`);
  },
);
