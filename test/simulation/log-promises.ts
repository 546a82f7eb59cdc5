import assert from 'node:assert/strict';
import type { Engine } from '../../src/engine/engine.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { SyncMode } from '../../src/persistence/disk/disk.js';
import type { OpenLog } from '../../src/persistence/recovery/open-log.js';
import { newEngine, plain } from '../engine/samples.js';
import type { Crash } from '../persistence/sim-disk.js';
import { canonicalText } from './canonical-text.js';
import type { Given, LogProcess } from './simulated-log.js';

/** Checks a log's promises for acknowledged records, over all lives of the process. */
export class LogPromises {
  readonly #sync: SyncMode;
  /** Acknowledged records; those that a crash took are removed. */
  #given: readonly Given[] = [];
  #told = 0;
  #isLostAllowed = false;
  /** By epoch and seq: the events that clients got, over all lives. */
  readonly #toldEvents = new Map<string, Map<number, string>>();

  constructor(sync: SyncMode) {
    this.#sync = sync;
  }

  /** A life is over. Throws what ended it, unless that was a fault of the disk. */
  note(process: LogProcess): void {
    for (const error of process.fatal) if (!isFault(error)) throw error;
    this.#told = process.told;
    this.#given = [...this.#given, ...process.given];
    const told = this.#toldUnder(process.log.epoch);
    for (const event of process.toldEvents) {
      const text = textOf(event);
      assert.equal(told.get(event.seq) ?? text, text, `event ${event.seq} was another one`);
      told.set(event.seq, text);
    }
  }

  crashed(crash: Crash): void {
    if (crash === 'power' && this.#sync.type !== 'always') this.#isLostAllowed = true;
  }

  /**
   * After a start: no acknowledged record is lost, where the sync mode promises that; and the log holds a prefix of what
   * was submitted: the state and the event numbers are those of that moment. Under the log's epoch no `seq` ever
   * identifies two events: the log holds every event that clients got under it, and gives no such number away again.
   */
  check({ engine, epoch }: Pick<OpenLog, 'engine' | 'epoch'>): void {
    if (!this.#isLostAllowed)
      assert.ok(engine.index >= this.#told, `record ${this.#told} was acknowledged, ${engine.index} is there`);
    this.#given = this.#given.slice(0, engine.index);
    const again = newEngine();
    const told = this.#toldUnder(epoch);
    const events = new Map<number, string>();
    for (const { command, stamp } of this.#given) {
      for (const event of again.apply(command, stamp)) if (told.has(event.seq)) events.set(event.seq, textOf(event));
    }
    for (const [seq, text] of told) {
      assert.equal(events.get(seq), text, `clients got event ${seq} under this epoch, and it is not in the log`);
    }
    assert.deepEqual(stateOf(engine), stateOf(again));
    engine.checkInvariants();
    this.#told = engine.index;
    this.#isLostAllowed = false;
  }

  #toldUnder(epoch: string): Map<number, string> {
    const told = this.#toldEvents.get(epoch) ?? new Map<number, string>();
    this.#toldEvents.set(epoch, told);
    return told;
  }
}

/** As it was made: its order changes later. */
function textOf(event: EngineEvent): string {
  return canonicalText(plain(event));
}

function stateOf(engine: Engine): object {
  return { index: engine.index, seq: engine.seq, stateHash: engine.stateHash(), stateSum: engine.stateSum() };
}

/** The log stopped because the disk failed it. */
function isFault(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown };
  return isSystemFault(error) || (code === 'FAILED' && isSystemFault(cause));
}

export function isSystemFault(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException | undefined)?.errno === 'number';
}
