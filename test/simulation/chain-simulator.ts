import assert from 'node:assert/strict';
import type { Engine } from '../../src/engine/engine.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { visibleBook } from '../chain/following.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';
import { ChainLife } from './chain-life.js';
import { CrashingLog, worldOf } from './crashing-log.js';
import { SeededRandom } from './seeded-random.js';
import { type SimBook, SimChains } from './sim-chains.js';
import { SimClock } from './sim-clock.js';
import type { LogProcess } from './simulated-log.js';
import { simulateSeeds, type SimulationResult } from './simulator.js';

/** Steps of the simulator's time that a reader takes to come to the heads of chains that stand still, by far. */
const PATIENCE_STEPS = 20_000;

/** Times that something happens after the last start. */
const MORE_TURNS = 15;

/**
 * Lives of a process that follows two chains, under one seed: the real readers, cursors and log, on a disk, in a time
 * and on chains that are simulated. Quotes are published, filled and cancelled, makers' means come and go, blocks are
 * taken back, nodes fail, lag and disagree, the disk fails, and the process crashes at any of its steps and starts
 * anew. After each start the log has kept its promises, and once the chains stand still the book is the one that a
 * reading from the first block gives, and that the simulated contracts have.
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
  readonly #chains: SimChains;
  readonly #log: CrashingLog;
  /** How often a node fails. */
  readonly #trouble: number;
  #records = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const world = worldOf(this.#random);
    this.#trouble = this.#random.pick([0, 0.02, 0.1]);
    this.#chains = new SimChains(this.#random, this.#clock);
    this.#log = new CrashingLog(world, this.#clock, this.#random);
  }

  async run(lives: number): Promise<SimulationResult> {
    for (let life = 0; life < lives; life += 1) await this.#live();
    const last = await this.#log.start();
    await this.#comeToRest(last);
    await this.#compare(last.log.engine);
    await this.#goOn(last);
    await this.#compare(last.log.engine);
    await this.#clock.until(last.log.close());
    this.#records += last.given.length;
    return {
      lives,
      records: this.#records,
      crashes: this.#log.crashes,
      powerCuts: this.#log.powerCuts,
      story: this.#log.story(),
    };
  }

  async #live(): Promise<void> {
    for (let missed = this.#random.below(8); missed > 0; missed -= 1) this.#chains.happen();
    const process = await this.#log.startOrCrash(0.2);
    if (process === null) return;
    this.#log.mayFail();
    const life = this.#follow(process, this.#trouble);
    for (let turns = this.#random.below(60); turns > 0 && process.fatal.length === 0; turns -= 1) {
      if (this.#random.chance(0.5)) this.#chains.happen();
      for (let steps = this.#random.below(20); steps > 0; steps -= 1) await this.#step(process);
    }
    if (this.#random.chance(0.2) && process.fatal.length === 0) await this.#log.stop(process, () => life.stop());
    // Where the log has stopped, whatever asks it for something fails.
    if (process.fatal.length === 0) for (const bug of life.bugs) throw bug;
    this.#log.crash(process);
    this.#records += process.given.length;
  }

  /** An error in a timer ends the process, as a log that has stopped does. */
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

  /** Nothing happens any more and no node fails, so that the process reads all there is. */
  async #comeToRest(process: LogProcess): Promise<void> {
    this.#chains.mineStream();
    this.#chains.mineSettlement();
    await this.#read(this.#follow(process, 0));
    for (const error of process.fatal) throw error;
  }

  /** More happens while the process reads: a restart reads the state of all quotes, and from now on only events change it. */
  async #goOn(process: LogProcess): Promise<void> {
    const life = this.#follow(process, 0);
    await this.#readToHeads(life);
    for (let turns = MORE_TURNS; turns > 0; turns -= 1) {
      this.#chains.happen();
      for (let steps = this.#random.below(20); steps > 0; steps -= 1) await this.#clock.step();
    }
    this.#chains.mineStream();
    this.#chains.mineSettlement();
    await this.#read(life);
    for (const error of process.fatal) throw error;
  }

  async #read(life: ChainLife): Promise<void> {
    await this.#readToHeads(life);
    await this.#clock.until(life.stop());
  }

  #readToHeads(life: ChainLife): Promise<void> {
    return readToHeads(life, this.#chains, this.#clock);
  }

  /** With what somebody makes of the chains who reads them now, from the first block on. */
  async #compare(engine: Engine): Promise<void> {
    await compareWithFresh(engine, this.#chains, this.#clock, this.#random);
  }
}

/** The book is the one that a reading of the chains from the first block on gives, and the one that they have. */
export async function compareWithFresh(
  engine: Engine,
  chains: SimChains,
  clock: SimClock,
  random: SeededRandom,
): Promise<void> {
  const fresh = newEngine();
  const time = new EngineTime(clock, engine.tsMs);
  const onFault = (error: unknown): void => {
    throw error;
  };
  const sequencer = new Sequencer({
    engine: fresh,
    journal: new MemoryJournal(),
    time,
    expiredAtOnce: Infinity,
    onFault,
  });
  const rpc = chains.rpc(random, 0);
  const life = new ChainLife({ engine: fresh, sequencer, time }, rpc, clock, random);
  await readToHeads(life, chains, clock);
  await clock.until(life.stop());
  const nowMs = Math.max(engine.tsMs, fresh.tsMs);
  const [book, freshBook] = [engineAt(engine, nowMs), engineAt(fresh, nowMs)];
  assert.deepEqual(visibleBook(book), visibleBook(freshBook), 'the book is the one that a fresh reading gives');
  compareWithChains(book, chains, nowMs);
}

/** It is the book that the chains have at that engine time. */
export function compareWithChains(engine: Engine, chains: SimChains, nowMs = engine.tsMs): void {
  const book = simBook(engineAt(engine, nowMs));
  assert.deepEqual(book, chains.book(Math.floor(nowMs / 1000)), 'the book is the one that the chains have');
}

async function readToHeads(life: ChainLife, chains: SimChains, clock: SimClock): Promise<void> {
  for (let steps = 0; !life.hasRead(chains.heads); steps += 1) {
    assert.ok(steps < PATIENCE_STEPS, 'the readers come to the heads');
    await clock.step();
  }
  for (const bug of life.bugs) throw bug;
}

/** As it is once everything that is due by then has left the book. */
function engineAt(engine: Engine, tsMs: number): Engine {
  const later = newEngine();
  later.importState(engine.exportState());
  later.apply({ type: 'TICK' }, { index: later.index + 1, tsMs });
  return later;
}

/** As the simulated chains tell it. */
function simBook(engine: Engine): SimBook {
  const orders = [...engine.known()].map(({ quote: { quoteId }, fillableSize, reason }) => ({
    quoteId,
    fillableSize,
    reason,
  }));
  const pools = [...engine.pools()].map(({ pool }) => pool.poolAddress);
  return { orders: orders.sort((a, b) => (a.quoteId < b.quoteId ? -1 : 1)), pools: pools.sort() };
}
