import type { SyncMode } from '../../src/persistence/sync-mode.js';
import type { OpenLogOptions } from '../../src/persistence/open-log.js';
import { SimDisk, type Crash } from '../persistence/sim-disk.js';
import { sha256 } from '../engine/samples.js';
import { isSystemFault, LogPromises } from './log-promises.js';
import { SeededRandom } from './seeded-random.js';
import { SimClock } from './sim-clock.js';
import { LogProcess } from './simulated-log.js';
import { Workload } from './workload.js';

/** How a seed's disk and processes are. */
export interface World {
  readonly options: Partial<OpenLogOptions>;
  readonly sync: SyncMode;
  /** Failed I/O besides crashes. */
  readonly hasFaults: boolean;
  readonly hasPowerCuts: boolean;
}

export interface SimulationResult {
  readonly lives: number;
  readonly records: number;
  readonly crashes: number;
  /** Digest of everything that happened, to compare two runs by. */
  readonly story: string;
}

/**
 * Lives of one log under one seed: a process takes commands until it crashes, loses its power or its disk fails, and the next one has to go on from what is left. After each start it is checked that
 * - nothing that was told is lost, where the sync mode promises that;
 * - what is there is a prefix of what was submitted: the state and the event numbers are those of that moment;
 * - the start succeeds at all.
 */
export async function simulate(seed: number, lives = 5): Promise<SimulationResult> {
  return new Simulation(seed).run(lives);
}

/** `count` seeds from `first` on, one after another; throws with the seed in the message when one fails. */
export async function simulateSeeds(
  first: number,
  count: number,
  run: (seed: number) => Promise<SimulationResult> = simulate,
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
  readonly #disk: SimDisk;
  readonly #world: World;
  readonly #workload: Workload;
  readonly #promises: LogPromises;
  #records = 0;
  #crashes = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#workload = new Workload(this.#random);
    this.#world = worldOf(this.#random);
    this.#promises = new LogPromises(this.#world.sync);
    const slowest = this.#random.pick([0, 1, 20]);
    this.#disk = new SimDisk({
      clock: this.#clock,
      random: this.#random,
      delayMs: () => this.#random.below(slowest + 1),
    });
  }

  async run(lives: number): Promise<SimulationResult> {
    for (let life = 0; life < lives; life += 1) await this.#live();
    const last = await this.#start();
    await this.#clock.until(last.log.close());
    const files = this.#disk.fileNames().map((name) => [name, this.#disk.contentOf(name).toString('hex')]);
    const story = sha256(JSON.stringify([this.#clock.monotonicMs(), files]));
    return { lives, records: this.#records, crashes: this.#crashes, story };
  }

  async #live(): Promise<void> {
    const process = await this.#startOrCrash();
    if (process === null) return;
    if (this.#world.hasFaults && this.#random.chance(0.5)) {
      this.#disk.inject({ nth: this.#random.between(1, 150), code: 'EIO', persistent: this.#random.chance(0.5) });
    }
    const turns = this.#random.below(120);
    for (let turn = 0; turn < turns && process.fatal.length === 0; turn += 1) await this.#turn(process);
    const isOrderly = this.#random.chance(0.2) && process.fatal.length === 0;
    if (isOrderly) await this.#close(process);
    this.#promises.note(process);
    this.#crash();
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

  /** An orderly stop, which a failing disk may turn into none. */
  async #close(process: LogProcess): Promise<void> {
    try {
      await this.#clock.until(process.log.close());
    } catch (error) {
      if (process.fatal.length === 0 && !isSystemFault(error)) throw error;
    }
  }

  #crash(): void {
    const crash: Crash = this.#world.hasPowerCuts && this.#random.chance(0.7) ? 'power' : 'kill';
    this.#disk.inject(null);
    this.#disk.crash(crash);
    this.#clock.clear();
    this.#crashes += 1;
    this.#promises.crashed(crash);
  }

  /** Null when the start itself was cut short. */
  async #startOrCrash(): Promise<LogProcess | null> {
    if (!this.#random.chance(0.3)) return this.#start();
    const starting = LogProcess.start(this.#disk, this.#clock, this.#random, this.#world.options);
    starting.catch(() => undefined);
    for (let steps = this.#random.below(60); steps > 0; steps -= 1) await this.#clock.step();
    this.#crash();
    return null;
  }

  async #start(): Promise<LogProcess> {
    const starting = LogProcess.start(this.#disk, this.#clock, this.#random, this.#world.options);
    const process = await this.#clock.until(starting);
    this.#promises.check(process.log.engine);
    return process;
  }
}

/** Some seed's world: how its log is written, and what goes wrong there. */
export function worldOf(random: SeededRandom): World {
  const sync = random.pick<SyncMode>([
    { type: 'always' },
    { type: 'always' },
    { type: 'always' },
    { type: 'interval', intervalMs: 20 },
    { type: 'never' },
  ]);
  const options = {
    sync,
    segmentBytes: random.pick([2 << 10, 8 << 10, 64 << 10]),
    snapshotEveryRecords: random.pick([10, 40, 1000]),
    snapshotsKept: random.pick([2, 3]),
    retainLogBytes: random.pick([0, 32 << 10, Infinity]),
    queueRecords: random.pick([5, 100]),
  };
  return { options, sync, hasFaults: random.chance(0.5), hasPowerCuts: random.chance(0.8) };
}
