import type { Engine } from '../engine/engine.js';
import type { LogJournal } from './log-journal.js';

export interface StateHashOptions {
  /** Records between two hashes; Infinity: none is written while the process runs. */
  readonly stateHashEveryRecords: number;
  /** With more orders than this the engine would stand still for too long: then snapshots and an orderly stop alone tell hashes. */
  readonly stateHashOrders: number;
}

/** Tells the log every so often what the running engine hashes to, so that every replay is held against it. */
export function tellStateHashes(
  engine: Engine,
  journal: LogJournal,
  { stateHashEveryRecords, stateHashOrders }: StateHashOptions,
): void {
  let lastIndex = engine.index;
  journal.onCommit(() => {
    // Every record up to `engine.index` is in the queue or beyond, so the note comes right behind it.
    if (engine.index - lastIndex < stateHashEveryRecords || engine.orderCount > stateHashOrders) return;
    lastIndex = engine.index;
    journal.note({ type: 'STATE_HASH', index: engine.index, stateHash: engine.stateHash() });
  });
}
