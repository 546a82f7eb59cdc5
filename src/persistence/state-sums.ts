import type { Engine } from '../engine/engine.js';
import type { LogJournal } from './log-journal.js';

/** The first format whose segments may have state sums. */
const SUM_FORMAT = 2;

export interface StateSumOptions {
  /** Records between two sums; Infinity: none is written while the process runs. */
  readonly stateHashEveryRecords: number;
  /** Changed orders that are added to the sum in one turn of the event loop, at most. */
  readonly stateSumOrders: number;
}

/**
 * Tells the log every so often what the running engine's state sums up to, so that every replay is held against it.
 * Where more orders changed than one turn has time for, each commit adds some more of them, and the sum is of the
 * record at which it is whole.
 */
export function tellStateSums(
  engine: Engine,
  journal: LogJournal,
  { stateHashEveryRecords, stateSumOrders }: StateSumOptions,
): void {
  let lastIndex = engine.index;
  journal.onCommit(() => {
    // An older program's segment, until it is full: that program is to refuse the next one by its version, and not to
    // find damage in this one.
    if (engine.index - lastIndex < stateHashEveryRecords || journal.format < SUM_FORMAT) return;
    if (!engine.prepareSum(stateSumOrders)) return;
    lastIndex = engine.index;
    // Every record up to `engine.index` is in the queue or beyond, so the note comes right behind it.
    journal.note({ type: 'STATE_SUM', index: engine.index, stateHash: engine.stateSum() });
  });
}
