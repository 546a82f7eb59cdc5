import type { SyncMode } from '../../src/persistence/disk/disk.js';
import { CrashingLog, worldOf } from './crashing-log.js';
import { SeededRandom } from './seeded-random.js';
import { SimClock } from './sim-clock.js';
import type { LogProcess } from './simulated-log.js';
import { Workload } from './workload.js';

export interface SimulationResult {
  readonly lives: number;
  readonly records: number;
  readonly crashes: number;
  /** Of the crashes. */
  readonly powerCuts: number;
  /** Digest of everything that happened, to compare two runs by. */
  readonly story: string;
}

/**
 * Lives of one log under one seed: a process takes commands until it crashes, loses its power or its disk fails, and
 * the next one has to go on from what is left. After each start it is checked that
 * - no acknowledged record is lost, where the sync mode promises that;
 * - what is there is a prefix of what was submitted: the state and the event numbers are those of that moment;
 * - no `seq` identifies two events under one epoch;
 * - the start succeeds at all.
 */
export async function simulate(seed: number, lives = 5, mode?: SyncMode): Promise<SimulationResult> {
  return new Simulation(seed, mode).run(lives);
}

/** Seeds from `first` on under one sync mode, until so many power cuts have come. Resolves to their number. */
export async function simulatePowerCuts(first: number, cuts: number, mode: SyncMode): Promise<number> {
  let powerCuts = 0;
  for (let seed = first; powerCuts < cuts; seed += 1) {
    await simulateSeeds(seed, 1, async () => {
      const result = await simulate(seed, undefined, mode);
      powerCuts += result.powerCuts;
      return result;
    });
  }
  return powerCuts;
}

/** One of each kind. */
export const SYNC_MODES: readonly SyncMode[] = [
  { type: 'always' },
  { type: 'interval', intervalMs: 20 },
  { type: 'never' },
];

/** `count` seeds from `first` on, one after another; throws with the seed in the message when one fails. */
export async function simulateSeeds(
  first: number,
  count: number,
  run: (seed: number) => Promise<SimulationResult> = (seed) => simulate(seed),
): Promise<{ crashes: number; records: number }> {
  const total = { crashes: 0, records: 0 };
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      const { crashes, records } = await run(seed);
      total.crashes += crashes;
      total.records += records;
    } catch (cause) {
      throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
    }
  }
  return total;
}

class Simulation {
  readonly #random: SeededRandom;
  readonly #clock = new SimClock();
  readonly #workload: Workload;
  readonly #log: CrashingLog;
  #records = 0;

  constructor(seed: number, mode?: SyncMode) {
    this.#random = new SeededRandom(seed);
    this.#workload = new Workload(this.#random);
    this.#log = new CrashingLog(worldOf(this.#random, mode), this.#clock, this.#random);
  }

  async run(lives: number): Promise<SimulationResult> {
    for (let life = 0; life < lives; life += 1) await this.#live();
    const last = await this.#log.start();
    await this.#clock.until(last.log.close());
    return {
      lives,
      records: this.#records,
      crashes: this.#log.crashes,
      powerCuts: this.#log.powerCuts,
      story: this.#log.story(),
    };
  }

  async #live(): Promise<void> {
    const process = await this.#log.startOrCrash(0.3);
    if (process === null) return;
    this.#log.mayFail();
    const turns = this.#random.below(120);
    for (let turn = 0; turn < turns && process.fatal.length === 0; turn += 1) await this.#turn(process);
    const isOrderly = this.#random.chance(0.2) && process.fatal.length === 0;
    if (isOrderly) await this.#log.stop(process);
    this.#log.crash(process);
  }

  async #turn(process: LogProcess): Promise<void> {
    for (let burst = this.#random.below(6); burst > 0; burst -= 1) {
      try {
        if (this.#workload.submitNext(process) === null) break;
      } catch (error) {
        if (process.fatal.length === 0) throw error;
        return;
      }
      this.#records += 1;
    }
    if (this.#random.chance(0.02)) await this.#clock.advance(200);
    for (let steps = this.#random.below(8); steps > 0; steps -= 1) await this.#clock.step();
  }
}
