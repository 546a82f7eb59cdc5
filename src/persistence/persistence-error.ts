/**
 * DAMAGED: bytes that were once durable are not what they were. LOST_TAIL: the log was longer once, and what is there of
 * it is right: `log repair` continues with that. NO_BASE: neither the log's beginning nor a usable
 * snapshot is there. DIFFERS: the engine makes something else of a record than the log says. NEWER_FORMAT: a newer
 * program wrote it. FOREIGN: the directory belongs to other chains or contracts. LOCKED: another process has it.
 * FAILED: the log has stopped after failed I/O. DEEP_REORG: its chains reorganised deeper than it can follow.
 */
export type PersistenceFault =
  'DAMAGED' | 'LOST_TAIL' | 'NO_BASE' | 'DIFFERS' | 'NEWER_FORMAT' | 'FOREIGN' | 'LOCKED' | 'FAILED' | 'DEEP_REORG';

/** Where in the log: which file, the byte in it, and the last record and event before it. */
export interface LogPlace {
  readonly file: string;
  readonly offset: number;
  readonly index: number;
  readonly seq: number;
}

/** Everything that the persistence throws by itself; errors of the system are passed on, or are its cause. */
export class PersistenceError extends Error {
  override readonly name = 'PersistenceError';
  readonly code: PersistenceFault;
  readonly place: LogPlace | null;

  constructor(code: PersistenceFault, message: string, details: { place?: LogPlace; cause?: unknown } = {}) {
    const { place, cause } = details;
    const where = place
      ? `${place.file}, offset ${place.offset}, after record ${place.index} (seq ${place.seq}): `
      : '';
    super(where + message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.place = place ?? null;
  }
}

/** The log has lost its end, by what `place` says. */
export function lostTailAt(place: LogPlace, reason: string): PersistenceError {
  const remedy = '`quotebook log repair` continues with what is left, under a new epoch';
  return new PersistenceError('LOST_TAIL', `${reason}: acknowledged records may be gone. ${remedy}`, { place });
}
