import assert from 'node:assert/strict';
import { LogsBloom } from '../../src/chain/follow/logs-bloom.js';
import type { Hex } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';
import { ChainLife } from './chain-life.js';
import { compareWithChains } from './chain-simulator.js';
import { SeededRandom } from './seeded-random.js';
import type { LogFaults, SimBlock } from './sim-chain.js';
import { SimChains } from './sim-chains.js';
import { SimClock } from './sim-clock.js';
import { SIM_PROFILE } from './sim-quotes.js';

/** Within this time of the nodes' healing the book has to be whole again. */
const HEAL_MS = 15_000;
const REREAD_BLOCKS = 64;
/** The service's own, since the faults last seconds. */
const LIMITS = {
  chainPollMs: 500,
  lowerHeadMs: 3_000,
  sweepMs: 300_000,
  chainBackoffMs: 200,
  chainMaxBackoffMs: 2_000,
};

/**
 * A process that follows two chains whose nodes have blocks before their logs, leave logs out, and cut answers short,
 * under one seed. `HEAL_MS` after the nodes have healed the book is the one that a fresh reading gives, and the chains
 * count as up to date. Returns how many events came late.
 */
export async function simulateLateLogs(seed: number): Promise<number> {
  const random = new SeededRandom(seed);
  const clock = new SimClock();
  const chains = new SimChains(random, clock);
  const faults = new FaultyIndex(random, clock);
  const engine = newEngine();
  let time = new EngineTime(clock, engine.tsMs);
  let late = 0;
  let life = follow();
  for (let turns = random.between(30, 80); turns > 0; turns -= 1) {
    chains.happen();
    await clock.advance(random.below(random.pick([100, 1_000, 3_000])));
    if (random.chance(0.02)) {
      await clock.until(life.stop());
      life = follow();
    }
  }
  faults.heal();
  await clock.advance(HEAL_MS);
  assert.ok(life.hasRead(chains.heads), 'the readers come to the heads');
  for (const bug of life.bugs) throw bug;
  for (const health of Object.values(life.chains.health))
    assert.equal(health.stale(), null, 'nothing is known to lack');
  await clock.until(life.stop());
  // What is due by now was refused, though no command has told the engine of that time.
  compareWithChains(engine, chains, time.nowMs());
  return late;

  function follow(): ChainLife {
    time = new EngineTime(clock, engine.tsMs);
    const onFault = (error: unknown): void => {
      throw error;
    };
    const journal = new MemoryJournal();
    const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce: Infinity, onFault });
    const chain = { ...SIM_PROFILE.stream, rereadBlocks: REREAD_BLOCKS };
    const profile = { ...SIM_PROFILE, settlement: chain, stream: chain };
    const life: ChainLife = new ChainLife({ engine, sequencer, time }, chains.rpc(random, 0, faults), clock, random, {
      profile,
      limits: LIMITS,
      onLateLogs(role, events) {
        late += events;
        assert.notEqual(life.chains.health[role].stale(), null, 'what came late was a known difference');
      },
    });
    return life;
  }
}

/** The seeds in turn; an error names the one that failed. */
export async function simulateLateLogSeeds(first: number, count: number): Promise<number> {
  let late = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      late += await simulateLateLogs(seed);
    } catch (cause) {
      throw new Error(`late logs, seed ${seed}: ${(cause as Error).message}`, { cause });
    }
  }
  return late;
}

/** Each seed has a lag of its own, and faults that come more or less often, and another kind of bloom filter. */
class FaultyIndex implements LogFaults {
  readonly #lagMs: number;
  readonly #dropped: number;
  readonly #truncated: number;
  readonly #blooms: 'TRUE' | 'ABSENT' | 'FULL' | 'EMPTY';
  readonly #indexedAtMs = new Map<Hex, number>();
  #isHealed = false;

  constructor(
    private readonly random: SeededRandom,
    private readonly clock: SimClock,
  ) {
    this.#lagMs = random.between(200, 5_000);
    this.#dropped = random.pick([0, 0.05, 0.3]);
    this.#truncated = random.pick([0, 0.05, 0.3]);
    this.#blooms = random.pick(['TRUE', 'TRUE', 'ABSENT', 'FULL', 'EMPTY']);
  }

  heal(): void {
    this.#isHealed = true;
  }

  bloom({ logs }: SimBlock<unknown>): { readonly logsBloom?: Hex } {
    if (this.#blooms === 'ABSENT') return {};
    if (this.#blooms === 'TRUE') return { logsBloom: LogsBloom.of(logs).hex };
    return { logsBloom: `0x${(this.#blooms === 'FULL' ? 'f' : '0').repeat(512)}` };
  }

  hasIndexed({ hash }: SimBlock<unknown>): boolean {
    const nowMs = this.clock.monotonicMs();
    const atMs = this.#indexedAtMs.get(hash) ?? nowMs + this.random.below(this.#lagMs);
    this.#indexedAtMs.set(hash, atMs);
    return this.#isHealed || atMs <= nowMs;
  }

  given<Log>(logs: readonly Log[]): readonly Log[] {
    if (this.#isHealed) return logs;
    const { random } = this;
    const given = logs.filter(() => !random.chance(this.#dropped));
    return random.chance(this.#truncated) ? given.slice(0, random.below(given.length + 1)) : given;
  }
}
