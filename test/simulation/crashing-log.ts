import type { SyncMode } from '../../src/persistence/disk/disk.js';
import type { OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { sha256 } from '../engine/samples.js';
import { type Crash, SimDisk } from '../persistence/sim-disk.js';
import { isSystemFault, LogPromises } from './log-promises.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimClock } from './sim-clock.js';
import { LogProcess } from './simulated-log.js';

/** How a seed's disk and processes are. */
export interface World {
  readonly options: Partial<OpenLogOptions>;
  readonly sync: SyncMode;
  /** Failed I/O besides crashes. */
  readonly hasFaults: boolean;
  readonly hasPowerCuts: boolean;
}

/** Some seed's world: how its log is written, in this sync mode where it is given, and what goes wrong there. */
export function worldOf(random: SeededRandom, mode?: SyncMode): World {
  const picked = random.pick<SyncMode>([
    { type: 'always' },
    { type: 'always' },
    { type: 'always' },
    { type: 'interval', intervalMs: 20 },
    { type: 'never' },
  ]);
  const sync = mode ?? picked;
  const options = {
    sync,
    segmentBytes: random.pick([2 << 10, 8 << 10, 64 << 10]),
    snapshotEveryRecords: random.pick([10, 40, 1000]),
    snapshotsKept: random.pick([2, 3]),
    retainLogBytes: random.pick([0, 32 << 10, Infinity]),
    queueRecords: random.pick([5, 100]),
  };
  return { options, sync, hasFaults: random.chance(0.5), hasPowerCuts: random.chance(0.8) || mode !== undefined };
}

/**
 * The log of many lives: each process starts on the disk that the one before left, and the log's promises hold from one
 * to the next.
 */
export class CrashingLog {
  crashes = 0;
  powerCuts = 0;
  readonly #disk: SimDisk;
  readonly #promises: LogPromises;

  constructor(
    private readonly world: World,
    private readonly clock: SimClock,
    private readonly random: SeededRandom,
  ) {
    this.#promises = new LogPromises(world.sync);
    const slowest = random.pick([0, 1, 20]);
    this.#disk = new SimDisk({ clock, random, delayMs: () => random.below(slowest + 1) });
  }

  /** Throws what the log failed to promise. */
  async start(): Promise<LogProcess> {
    const process = await this.clock.until(this.#begin());
    this.#promises.check(process.log);
    return process;
  }

  /** Null when the start itself was cut short. */
  async startOrCrash(chance: number): Promise<LogProcess | null> {
    if (!this.random.chance(chance)) return this.start();
    this.#begin().catch(() => undefined);
    for (let steps = this.random.below(60); steps > 0; steps -= 1) await this.clock.step();
    this.#crash();
    return null;
  }

  /** In a world with such faults one may come in this life. */
  mayFail(): void {
    if (!this.world.hasFaults || !this.random.chance(0.5)) return;
    this.#disk.inject({ nth: this.random.between(1, 150), code: 'EIO', persistent: this.random.chance(0.5) });
  }

  /** An orderly stop, which a failing disk may turn into none. `others`: what stops before the log does. */
  async stop(process: LogProcess, others?: () => Promise<void>): Promise<void> {
    try {
      if (others !== undefined) await this.clock.until(others());
      await this.clock.until(process.log.close());
    } catch (error) {
      if (process.fatal.length === 0 && !isSystemFault(error)) throw error;
    }
  }

  /** The end of a life, however far it came. Throws what ended it before, unless that was a fault of the disk. */
  crash(process: LogProcess): void {
    this.#promises.note(process);
    this.#crash();
  }

  /** Digest of all that is on the disk, and when. */
  story(): string {
    const files = this.#disk.fileNames().map((name) => [name, this.#disk.contentOf(name).toString('hex')]);
    return sha256(JSON.stringify([this.clock.monotonicMs(), files]));
  }

  #begin(): Promise<LogProcess> {
    return LogProcess.start(this.#disk, this.clock, this.random, this.world.options);
  }

  #crash(): void {
    const crash: Crash = this.world.hasPowerCuts && this.random.chance(0.7) ? 'power' : 'kill';
    this.#disk.inject(null);
    this.#disk.crash(crash);
    this.clock.clear();
    this.crashes += 1;
    if (crash === 'power') this.powerCuts += 1;
    this.#promises.crashed(crash);
  }
}
