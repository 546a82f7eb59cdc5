import assert from 'node:assert/strict';
import type { Engine } from '../../src/engine/engine.js';
import type { SyncMode } from '../../src/persistence/sync-mode.js';
import { newEngine } from '../engine/samples.js';
import type { Crash } from '../persistence/sim-disk.js';
import type { Given, LogProcess } from './simulated-log.js';

/** What a log promises to whoever was told something, over all lives of the process. */
export class LogPromises {
  readonly #sync: SyncMode;
  /** What a crash took is cut off again. */
  #given: readonly Given[] = [];
  #told = 0;
  #isLostAllowed = false;

  constructor(sync: SyncMode) {
    this.#sync = sync;
  }

  /** A life is over. Throws what ended it, unless that was a fault of the disk. */
  note(process: LogProcess): void {
    for (const error of process.fatal) if (!isFault(error)) throw error;
    this.#told = process.told;
    this.#given = [...this.#given, ...process.given];
  }

  crashed(crash: Crash): void {
    if (crash === 'power' && this.#sync.type !== 'always') this.#isLostAllowed = true;
  }

  /**
   * After a start: nothing that was told is lost, where the sync mode promises that; and what is there is a prefix of
   * what was submitted: the state and the event numbers are those of that moment.
   */
  check(engine: Engine): void {
    if (!this.#isLostAllowed)
      assert.ok(engine.index >= this.#told, `record ${this.#told} was told, ${engine.index} is there`);
    this.#given = this.#given.slice(0, engine.index);
    const again = newEngine();
    for (const { command, stamp } of this.#given) again.apply(command, stamp);
    assert.deepEqual(stateOf(engine), stateOf(again));
    engine.checkInvariants();
    this.#told = engine.index;
    this.#isLostAllowed = false;
  }
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
