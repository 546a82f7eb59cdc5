import t from 'tap';
import { getAddress } from 'viem';
import type { CallResult, ContractCall } from '../../src/chain/chain-reader.js';
import { RpcError, RpcUnreachable } from '../../src/chain/http-rpc.js';
import { encodeGetPoolAddress, PoolAddresses } from '../../src/chain/pool-addresses.js';
import type { Hex, PoolKey } from '../../src/engine/quote.js';
import { address, samplePool, START } from '../engine/samples.js';
import { addressOfStrike, answerAsFactory } from './factory-answers.js';

const IMPOSSIBLE = 0n;
const DAY = 86_400;
/** At 08:00 UTC. */
const MATURITY = START - (START % DAY) + 400 * DAY + DAY / 3;

const keyOf = (strike: bigint, maturity = MATURITY): PoolKey => ({ ...samplePool(0, maturity).poolKey, strike });

/** Pools by a factory that refuses one strike; `later` is what it says as if the time were another. */
function opened(later: (call: ContractCall, time: number) => Promise<CallResult> = () => Promise.reject(new Error())) {
  /** How many keys each question was about. */
  const asked: number[] = [];
  const times: number[] = [];
  const factory = {
    multicall(calls: readonly ContractCall[]) {
      asked.push(calls.length);
      return Promise.resolve(calls.map((call) => answerAsFactory(call, [], IMPOSSIBLE)));
    },
    callAtTime(call: ContractCall, time: number) {
      times.push(time);
      return later(call, time);
    },
  };
  return { pools: new PoolAddresses(factory, address(0xfa), 2), asked, times };
}

const allowed = ({ to }: ContractCall): Promise<CallResult> =>
  Promise.resolve(answerAsFactory({ to, data: encodeGetPoolAddress(keyOf(7n)) }, [], IMPOSSIBLE));

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

t.test('when the memory is full it starts anew, and nobody misses an answer', async (t) => {
  const { pools, asked } = opened();
  const keys = [1n, 2n, 3n].map((strike) => keyOf(strike));
  t.equal((await pools.resolve(keys)).filter((pool) => pool !== null).length, 3);
  await pools.resolve(keys.slice(2));
  t.strictSame(asked, [3]);
  await pools.resolve(keys.slice(0, 1));
  t.strictSame(asked, [3, 1]);
});

t.test('a key that is refused as yet is asked about as if its maturity were near', async (t) => {
  const { pools, times } = opened(allowed);
  const refused = keyOf(IMPOSSIBLE);
  const [found, again] = await pools.resolveEvenLater([refused, refused], START);
  t.strictSame([found?.poolAddress, found?.poolKey], [addressOfStrike(7n), refused]);
  t.equal(again, found);
  t.strictSame(await pools.resolveEvenLater([refused], START), [found]);
  t.strictSame(times, [MATURITY - 1], 'once for all who ask');
  t.strictSame(await pools.resolve([refused]), [null], 'a new quote cannot be posted for it');
});

t.test('so is none whose date is never allowed', async (t) => {
  const { pools, times } = opened(allowed);
  const keys = [keyOf(IMPOSSIBLE, MATURITY + 1), keyOf(IMPOSSIBLE)];
  t.strictSame(await pools.resolveEvenLater(keys, MATURITY), [null, null]);
  t.strictSame(times, []);
});

t.test('a key that is refused even then, or by a node that cannot be asked so, has no pool', async (t) => {
  const reverts = opened(() => Promise.resolve({ reverted: true, data: '0x' }));
  t.strictSame(await reverts.pools.resolveEvenLater([keyOf(IMPOSSIBLE)], START), [null]);
  const cannot = opened(() => Promise.reject(new RpcError(-32602, 'too many arguments, want at most 3', null)));
  t.strictSame(await cannot.pools.resolveEvenLater([keyOf(IMPOSSIBLE)], START), [null]);
});

t.test('of a node that does not answer, or not just now, nothing is known', async (t) => {
  for (const error of [new RpcUnreachable('gone'), new RpcError(-32005, 'limit', null), new RpcError(429, '', null)]) {
    const { pools } = opened(() => Promise.reject(error));
    await t.rejects(pools.resolveEvenLater([keyOf(IMPOSSIBLE)], START), error);
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
    const keysFrom = (start: number): PoolKey[] =>
      Array.from({ length: count }, (_, i) => {
        const at = start + 3 * i;
        return { ...keyOf(1n), base: address(at), quote: address(at + 1), oracleAdapter: address(at + 2) };
      });
    const [first, second, third] = [1, 2, 3].map((turn) => keysFrom(10_000 * turn)) as [
      PoolKey[],
      PoolKey[],
      PoolKey[],
    ];
    const answer = answerAsFactory({ to: address(0xfa), data: encodeGetPoolAddress(keyOf(1n)) }, [], IMPOSSIBLE);
    const factory = {
      multicall: (calls: readonly ContractCall[]) => Promise.resolve(calls.map(() => answer)),
      callAtTime: () => Promise.reject(new Error()),
    };
    const pools = new PoolAddresses(factory, address(0xfa), 3 * count);
    await pools.resolve(first); // the first time takes longer than any other
    const begun = performance.now();
    await pools.resolve(second);
    const took = performance.now() - begun;
    for (const { base, quote, oracleAdapter } of third)
      for (const each of [base, quote, oracleAdapter]) getAddress(each);
    const viemTook = performance.now() - begun - took;
    t.ok(took < viemTook / 2, `${took} ms, and viem ${viemTook} ms`);
  },
);
