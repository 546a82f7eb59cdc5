import assert from 'node:assert/strict';
import { EngineTime } from '../../src/engine/engine-time.js';
import type { Engine } from '../../src/engine/engine.js';
import { MemoryJournal } from '../../src/engine/memory-journal.js';
import { Sequencer } from '../../src/engine/sequencer.js';
import { visibleBook } from '../chain/following.js';
import { newEngine, sha256 } from '../engine/samples.js';
import { SimDisk, type Crash } from '../persistence/sim-disk.js';
import { ChainLife } from './chain-life.js';
import { isSystemFault, LogPromises } from './log-promises.js';
import { SeededRandom } from './seeded-random.js';
import { SimChains } from './sim-chains.js';
import { SimClock } from './sim-clock.js';
import { LogProcess } from './simulated-log.js';
import { simulateSeeds, worldOf, type SimulationResult, type World } from './simulator.js';

/** Steps of the simulator's time that a reader takes to come to the heads of chains that stand still, by far. */
const PATIENCE_STEPS = 20_000;

/**
 * Lives of a process that follows two chains, under one seed: the real readers, cursors and log, on a disk, in a time and on chains that are simulated. Quotes are published, filled and cancelled, makers' means come
 * and go, blocks are taken back, nodes fail, lag and disagree, the disk fails, and the process crashes at any of its steps and starts anew. After each start the log has kept
 * its promises, and once the chains stand still the book is the one that a reading from the first block gives.
 */
export async function simulateChains(seed: number, lives = 4): Promise<SimulationResult> {
  return new ChainSimulation(seed).run(lives);
}

/** As `simulateSeeds`. */
export async function simulateChainSeeds(first: number, count: number): Promise<{ crashes: number; records: number }> {
  return simulateSeeds(first, count, simulateChains);
}

class ChainSimulation {
  readonly #random: SeededRandom;
  readonly #clock = new SimClock();
  readonly #disk: SimDisk;
  readonly #world: World;
  readonly #chains: SimChains;
  readonly #promises: LogPromises;
  /** How often a node fails. */
  readonly #trouble: number;
  #records = 0;
  #crashes = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#world = worldOf(this.#random);
    this.#promises = new LogPromises(this.#world.sync);
    this.#trouble = this.#random.pick([0, 0.02, 0.1]);
    this.#chains = new SimChains(this.#random, this.#clock);
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
    await this.#comeToRest(last);
    await this.#compare(last.log.engine);
    await this.#clock.until(last.log.close());
    this.#records += last.given.length;
    const files = this.#disk.fileNames().map((name) => [name, this.#disk.contentOf(name).toString('hex')]);
    const story = sha256(JSON.stringify([this.#clock.monotonicMs(), files]));
    return { lives, records: this.#records, crashes: this.#crashes, story };
  }

  async #live(): Promise<void> {
    for (let missed = this.#random.below(8); missed > 0; missed -= 1) this.#chains.happen();
    const process = await this.#startOrCrash();
    if (process === null) return;
    if (this.#world.hasFaults && this.#random.chance(0.5)) {
      this.#disk.inject({ nth: this.#random.between(1, 150), code: 'EIO', persistent: this.#random.chance(0.5) });
    }
    const life = this.#follow(process, this.#trouble);
    for (let turns = this.#random.below(60); turns > 0 && process.fatal.length === 0; turns -= 1) {
      if (this.#random.chance(0.5)) this.#chains.happen();
      for (let steps = this.#random.below(20); steps > 0; steps -= 1) await this.#step(process);
    }
    if (this.#random.chance(0.2) && process.fatal.length === 0) await this.#stop(process, life);
    // Where the log has stopped, whatever asks it for something fails.
    if (process.fatal.length === 0) for (const bug of life.bugs) throw bug;
    this.#promises.note(process);
    this.#records += process.given.length;
    this.#crash();
  }

  /** What a timer throws ends a process, as a log that has stopped does. */
  async #step(process: LogProcess): Promise<void> {
    try {
      await this.#clock.step();
    } catch (error) {
      if (process.fatal.length === 0) throw error;
    }
  }

  #follow({ log, sequencer, time }: LogProcess, trouble: number): ChainLife {
    const rpc = this.#chains.rpc(this.#random, trouble);
    return new ChainLife({ engine: log.engine, sequencer, time }, rpc, this.#clock, this.#random);
  }

  /** An orderly stop, which a failing disk may turn into none. */
  async #stop(process: LogProcess, life: ChainLife): Promise<void> {
    try {
      await this.#clock.until(life.stop());
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
    if (!this.#random.chance(0.2)) return this.#start();
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

  /** Nothing happens any more and no node fails, so that the process reads all there is. */
  async #comeToRest(process: LogProcess): Promise<void> {
    this.#chains.mineStream();
    this.#chains.mineSettlement();
    await this.#read(this.#follow(process, 0));
    for (const error of process.fatal) throw error;
  }

  async #read(life: ChainLife): Promise<void> {
    for (let steps = 0; !life.hasRead(this.#chains.heads); steps += 1) {
      assert.ok(steps < PATIENCE_STEPS, 'the readers come to the heads');
      await this.#clock.step();
    }
    for (const bug of life.bugs) throw bug;
    await this.#clock.until(life.stop());
  }

  /** With what somebody makes of the chains who reads them now, from the first block on. */
  async #compare(engine: Engine): Promise<void> {
    const fresh = newEngine();
    const time = new EngineTime(this.#clock, engine.tsMs);
    const onFault = (error: unknown): void => {
      throw error;
    };
    const sequencer = new Sequencer({ engine: fresh, journal: new MemoryJournal(), time, onFault });
    const rpc = this.#chains.rpc(this.#random, 0);
    await this.#read(new ChainLife({ engine: fresh, sequencer, time }, rpc, this.#clock, this.#random));
    const nowMs = Math.max(engine.tsMs, fresh.tsMs);
    assert.deepEqual(bookAt(engine, nowMs), bookAt(fresh, nowMs), 'the book is the one that a fresh reading gives');
  }
}

/** What is in the book once everything that is due by then has left it. */
function bookAt(engine: Engine, tsMs: number): unknown {
  const later = newEngine();
  later.importState(engine.exportState());
  later.apply({ type: 'TICK' }, { index: later.index + 1, tsMs });
  return visibleBook(later);
}
