import { deepStrictEqual as same } from 'node:assert';
import fc from 'fast-check';
import type { Engine } from '../../../src/engine/engine.js';
import { systemClock } from '../../../src/system/clock.js';
import { newEngine } from '../../engine/samples.js';
import { Following, visibleBook } from '../following.js';
import { type Happening, happenings, REORG_DEPTH } from './happenings.js';
import { SubscriberBook } from './subscriber-book.js';
import { World } from './world.js';

const LIMITS = { reorgDepth: REORG_DEPTH, lowerHeadMs: 0, positionEveryBlocks: 3, chainStopMs: 5_000 };

/** The service of one run: it can be stopped, and started anew from what it has made durable. */
class Service {
  readonly subscriber: SubscriberBook;
  #following: Following | null = null;
  #engine: Engine = newEngine(REORG_DEPTH);
  #budget = Infinity;
  #nowMs = 0;

  constructor(private readonly world: World) {
    this.subscriber = new SubscriberBook(world.profile.settlement.chainId);
  }

  get engine(): Engine {
    return this.#engine;
  }

  /** Engine time, milliseconds. */
  get nowMs(): number {
    return this.#following?.time.nowMs() ?? this.#nowMs;
  }

  async start(): Promise<void> {
    if (this.#following !== null) return;
    const state = this.#engine.exportState();
    this.#engine = newEngine(REORG_DEPTH);
    this.#engine.importState(state);
    this.subscriber.begin(this.#engine);
    this.#budget = Infinity;
    this.#following = await Following.start({
      profile: this.world.profile,
      engine: this.#engine,
      startMs: this.#nowMs,
      limits: LIMITS,
      onEvents: (events) => this.subscriber.hear(events),
      takes: () => --this.#budget >= 0,
    });
  }

  async stop(): Promise<void> {
    if (this.#following === null) return;
    this.#nowMs = this.#following.time.nowMs();
    await this.#following.stop();
    this.#following = null;
  }

  stallAfter(commands: number): void {
    this.#budget = commands;
  }

  /** Reads all there is, after a new start if the log takes nothing. */
  async settle(): Promise<void> {
    if (this.#budget < Infinity) await this.stop();
    await this.start();
    await this.#following?.upToDate(this.world.clients);
    this.#following?.sequencer.submit({ type: 'TICK' });
    await this.#following?.sequencer.whenDurable();
    same(this.subscriber.quotes, SubscriberBook.of(this.#engine), 'messages tell what the book holds');
    this.#engine.checkInvariants();
  }
}

async function run(world: World, all: readonly Happening[]): Promise<void> {
  await world.begin();
  const service = new Service(world);
  try {
    await service.start();
    for (const happening of all) {
      if (happening.type === 'settle') await service.settle();
      else if (happening.type === 'stall') service.stallAfter(happening.after);
      else if (happening.type === 'stop') await service.stop();
      else if (happening.type === 'start') await service.start();
      else await world.happen(happening);
    }
    await service.settle();
    const fresh = await readFromScratch(world, service.nowMs);
    same(visibleBook(service.engine), visibleBook(fresh), 'the book is the one that a fresh reading gives');
  } finally {
    await service.stop();
    await world.end();
  }
}

async function readFromScratch(world: World, nowMs: number): Promise<Engine> {
  const { profile, clients } = world;
  const following = await Following.start({ profile, startMs: nowMs, limits: LIMITS });
  try {
    await following.upToDate(clients);
    following.sequencer.submit({ type: 'TICK' });
    return following.engine;
  } finally {
    await following.stop();
  }
}

/**
 * Runs on one pair of chains: anvil keeps the states of some hundred blocks, and forgets one that was mined, taken back
 * and mined again once its first time is long ago.
 */
const RUNS_PER_WORLD = 20;

/** Random sequences until `numRuns` or the time is up; fast-check prints the seed of one that fails. */
export async function checkModel(options: { numRuns: number; maxMs: number; seed?: number }): Promise<void> {
  const { numRuns, maxMs, seed } = options;
  const startedAtMs = systemClock.monotonicMs();
  let world = await World.open();
  let runs = 0;
  try {
    const property = fc.asyncProperty(happenings, async (all) => {
      if (systemClock.monotonicMs() - startedAtMs > maxMs) return;
      if (++runs % RUNS_PER_WORLD === 0) {
        await world.close();
        world = await World.open();
      }
      await run(world, all);
    });
    await fc.assert(property, { numRuns, ...(seed !== undefined && { seed }) });
  } finally {
    await world.close();
  }
}
