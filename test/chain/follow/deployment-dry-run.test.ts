import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type Abi, encodeErrorResult, type Hex, parseAbi } from 'viem';
import { type CallResult, encodeDeployPool } from '../../../src/chain/contracts/abi-encoding.js';
import { contractErrorsAbi } from '../../../src/chain/contracts/abi.js';
import { DeploymentDryRun } from '../../../src/chain/follow/deployment-dry-run.js';
import { RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import type { PoolKey } from '../../../src/engine/quote.js';
import { address, samplePool } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const FACTORY = address(1);
const LIMITS = { gas: 5_000_000, inFlight: 2, patienceMs: 100, remembered: 3, maxAgeMs: 1_000 };
const { poolKey } = samplePool(0);
const at = { blockNumber: 7, blockHash: `0x${'07'.repeat(32)}` } as const;
const DONE: CallResult = { reverted: false, data: '0x' };

const keyOf = (oracle: number, changes: Partial<PoolKey> = {}): PoolKey => ({
  ...poolKey,
  oracleAdapter: address(oracle),
  ...changes,
});

/** A dry run, and the calls that it made. `answer`: what the node says to the next ones. */
function opened(limits = LIMITS) {
  const clock = new ManualClock();
  const calls: unknown[][] = [];
  const node: { answer: () => Promise<CallResult> } = { answer: () => Promise.resolve(DONE) };
  const call = (...asked: unknown[]): Promise<CallResult> => {
    calls.push(asked);
    return node.answer();
  };
  const dryRun = new DeploymentDryRun({ call }, FACTORY, clock, limits);
  return { dryRun, clock, calls, node };
}

t.test('one call, with bounded gas, answers for all pools of the same tokens and oracle', async (t) => {
  const { dryRun, calls } = opened();
  const [key, strike, put] = [keyOf(5), keyOf(5, { strike: 7n }), keyOf(5, { isCallPool: !poolKey.isCallPool })];
  t.strictSame(await dryRun.areDeployable([key, strike], at), [true, true]);
  t.strictSame(await dryRun.areDeployable([put], at), [true]);
  const call = { to: FACTORY, data: encodeDeployPool(key) };
  t.strictSame(calls.length, 1);
  // Either key of the three will do.
  t.match(calls[0]?.slice(1), [at, undefined, LIMITS.gas]);
  t.match(calls[0]?.[0], { to: call.to });
  t.strictSame(await dryRun.areDeployable([], at), []);
  t.equal(calls.length, 1);
});

const error = (errorName: string, args: readonly unknown[]): Hex =>
  encodeErrorResult<Abi>({ abi: contractErrorsAbi, errorName, args });

function feeRequired(sent: bigint, fee: bigint): Hex {
  const abi = parseAbi(['error PoolFactory__InitializationFeeRequired(uint256 msgValue, uint256 fee)']);
  return encodeErrorResult({ abi, args: [sent, fee] });
}

const reverts: [what: string, data: Hex, isDeployable: boolean][] = [
  ['no reason', '0x', false],
  [
    'the oracle’s refusal of the pair',
    error('OracleAdapter__PairCannotBeSupported', [poolKey.base, poolKey.quote]),
    false,
  ],
  ['an unknown error', '0x12345678', false],
  ['a panic', `0x4e487b71${'0'.repeat(62)}11`, false],
  ['the factory’s refusal of the date', error('PoolFactory__OptionMaturityNotFriday', [1n]), true],
  ['a fee that an older factory wants', feeRequired(0n, 1n), true],
];

for (const [what, data, isDeployable] of reverts) {
  t.test(`a deployment that reverts with ${what}`, async (t) => {
    const { dryRun, node } = opened();
    node.answer = () => Promise.resolve({ reverted: true, data });
    t.strictSame(await dryRun.areDeployable([keyOf(5)], at), [isDeployable]);
  });
}

t.test('code that breaks is a refusal; without an answer nothing is known, and the next one asks again', async (t) => {
  const { dryRun, node, calls } = opened();
  node.answer = () => Promise.reject(new RpcError(-32000, 'out of gas', undefined));
  t.strictSame(await dryRun.areDeployable([keyOf(5)], at), [false]);
  node.answer = () => Promise.reject(new RpcError(-32000, 'header not found', undefined));
  await t.rejects(dryRun.areDeployable([keyOf(6)], at), { message: 'header not found' });
  node.answer = () => Promise.resolve(DONE);
  t.strictSame(await dryRun.areDeployable([keyOf(5), keyOf(6)], at), [false, true]);
  t.equal(calls.length, 3);
});

t.test('a result is forgotten with age, whichever it is and however often it was of use', async (t) => {
  const { dryRun, node, clock, calls } = opened();
  await dryRun.areDeployable([keyOf(5)], at);
  node.answer = () => Promise.resolve({ reverted: true, data: '0x' });
  await dryRun.areDeployable([keyOf(6)], at);
  clock.advance(LIMITS.maxAgeMs - 1);
  t.strictSame(await dryRun.areDeployable([keyOf(5), keyOf(6)], at), [true, false]);
  t.equal(calls.length, 2);
  clock.advance(1);
  t.strictSame(await dryRun.areDeployable([keyOf(5)], at), [false]);
  node.answer = () => Promise.resolve(DONE);
  t.strictSame(await dryRun.areDeployable([keyOf(6)], at), [true]);
  t.equal(calls.length, 4);
});

t.test('the results used last are remembered, three at least and six at most', async (t) => {
  const { dryRun, calls } = opened();
  await dryRun.areDeployable([keyOf(5), keyOf(6), keyOf(7)], at);
  await dryRun.areDeployable([keyOf(8)], at);
  await dryRun.areDeployable([keyOf(5)], at);
  await dryRun.areDeployable([keyOf(9), keyOf(10)], at);
  t.equal(calls.length, 6);
  await dryRun.areDeployable([keyOf(5), keyOf(9), keyOf(10)], at);
  t.equal(calls.length, 6);
  await dryRun.areDeployable([keyOf(6)], at);
  t.equal(calls.length, 7);
});

t.test('a caller waits so long for results; later ones hold for the next', async (t) => {
  const { dryRun, node, clock, calls } = opened();
  let answer: (result: CallResult) => void = () => undefined;
  node.answer = () => new Promise((resolve) => (answer = resolve));
  const first = dryRun.areDeployable([keyOf(5)], at);
  await turn();
  clock.advance(LIMITS.patienceMs);
  t.strictSame(await first, [false]);
  answer(DONE);
  await turn();
  t.strictSame(await dryRun.areDeployable([keyOf(5)], at), [true]);
  t.equal(calls.length, 1);
});

t.test('a result that is not found out again in time is as it was', async (t) => {
  const { dryRun, node, clock } = opened();
  t.strictSame(await dryRun.areDeployable([keyOf(5)], at), [true]);
  clock.advance(LIMITS.maxAgeMs);
  node.answer = () => new Promise(() => undefined);
  const again = dryRun.areDeployable([keyOf(5), keyOf(6)], at);
  await turn();
  clock.advance(LIMITS.patienceMs);
  t.strictSame(await again, [true, false]);
});

t.test('no more wait for their dry run than are remembered', async (t) => {
  const { dryRun, node, calls, clock } = opened();
  node.answer = () => new Promise(() => undefined);
  const first = dryRun.areDeployable([keyOf(5), keyOf(6)], at);
  t.strictSame(await dryRun.areDeployable([keyOf(7), keyOf(8)], at), [false, false], 'at once');
  clock.advance(LIMITS.patienceMs);
  await first;
  t.equal(calls.length, 2);
});
