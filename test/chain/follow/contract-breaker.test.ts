import t from 'tap';
import type { ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { ContractBreaker } from '../../../src/chain/follow/contract-breaker.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const [POOL, TOKEN, OTHER] = [address(1), address(2), address(3)];
const PAUSE_MS = 1_000;
const LIMITS = { contracts: 3, pauseMs: PAUSE_MS, maxPauseMs: 8_000, probeGapMs: 100 };
const callOf = (to: Hex): ContractCall => ({ to, data: '0x01', runsForeignCode: true });

/** A breaker, and when it probed what. `answer`: what the next probes find. */
function opened(limits = LIMITS) {
  const clock = new ManualClock();
  const probes: [ms: number, contract: Hex][] = [];
  const closed: Hex[] = [];
  const chain: { answer: (to: Hex) => Promise<boolean> } = { answer: () => Promise.resolve(false) };
  const startMs = clock.monotonicMs();
  const probe = ({ to }: ContractCall): Promise<boolean> => {
    probes.push([clock.monotonicMs() - startMs, to]);
    return chain.answer(to);
  };
  const breaker = new ContractBreaker(clock, limits, probe, (contract) => closed.push(contract));
  /** In steps, so that what a probe leads to comes before the next. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { breaker, clock, probes, closed, chain, pass };
}

t.test('a contract that tripped is probed after pauses that double up to the longest, until it answers', async (t) => {
  const { breaker, probes, closed, chain, pass } = opened();
  t.notOk(breaker.isOpen(POOL));
  breaker.trip(callOf(POOL));
  t.ok(breaker.isOpen(POOL));
  t.notOk(breaker.isOpen(TOKEN));
  await pass(32_000);
  t.strictSame(
    probes.map(([ms]) => ms),
    [1_000, 3_000, 7_000, 15_000, 23_000, 31_000],
  );
  chain.answer = () => Promise.resolve(true);
  await pass(8_000);
  t.notOk(breaker.isOpen(POOL));
  t.strictSame(closed, [POOL]);
  await pass(60_000);
  t.equal(probes.length, 7, 'one that is closed is not probed');
});

t.test(
  'one that blinks is asked as rarely as if it had stayed bad; after the longest pause it starts anew',
  async (t) => {
    const { breaker, probes, chain, pass } = opened();
    chain.answer = () => Promise.resolve(true);
    breaker.trip(callOf(POOL));
    await pass(1_000);
    breaker.trip(callOf(POOL));
    await pass(2_000);
    t.strictSame(
      probes.map(([ms]) => ms),
      [1_000, 3_000],
    );
    await pass(8_000);
    breaker.trip(callOf(POOL));
    await pass(1_000);
    t.equal(probes.length, 3);
  },
);

t.test('contracts are probed one at a time, with a gap between them', async (t) => {
  const { breaker, probes, pass, chain } = opened();
  let underWay = 0;
  chain.answer = async () => {
    t.equal(++underWay, 1);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return false;
  };
  for (const contract of [POOL, TOKEN, OTHER]) breaker.trip(callOf(contract));
  await pass(1_900);
  t.strictSame(
    probes.map(([, contract]) => contract),
    [POOL, TOKEN, OTHER],
  );
  t.ok(probes.every(([ms], i) => i === 0 || ms - (probes[i - 1]?.[0] ?? 0) >= LIMITS.probeGapMs));
});

t.test('a node that fails says nothing of the contract: it is asked again after as long', async (t) => {
  const { breaker, probes, chain, pass } = opened();
  chain.answer = () => Promise.reject(new Error('the node does not answer'));
  breaker.trip(callOf(POOL));
  await pass(3_000);
  t.strictSame(
    probes.map(([ms]) => ms),
    [1_000, 2_000, 3_000],
  );
  t.ok(breaker.isOpen(POOL));
});

t.test('no more contracts are remembered than the limit: the ones that tripped longest ago are forgotten', (t) => {
  const { breaker } = opened({ ...LIMITS, contracts: 2 });
  for (const contract of [POOL, TOKEN, OTHER]) breaker.trip(callOf(contract));
  t.strictSame(
    [POOL, TOKEN, OTHER].map((contract) => breaker.isOpen(contract)),
    [false, true, true],
  );
  t.end();
});

t.test('when it was stopped nothing is asked', async (t) => {
  const { breaker, probes, pass } = opened();
  breaker.trip(callOf(POOL));
  breaker.stop();
  breaker.trip(callOf(TOKEN));
  await pass(5_000);
  t.strictSame(probes, []);
});
