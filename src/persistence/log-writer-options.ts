import type { Clock } from '../engine/ports.js';
import type { Logger } from './logger.js';
import type { SyncMode } from './sync-mode.js';

export interface LogWriterOptions {
  readonly sync: SyncMode;
  readonly segmentBytes: number;
  /** A group's memory that is kept for the next one. */
  readonly bufferBytes: number;
  /** How long nothing may come before the last group is sealed by an empty one. */
  readonly sealDelayMs: number;
  /** A commit that takes longer is warned of. */
  readonly slowCommitMs: number;
  /** How soon a next segment is tried again that there was no room for. */
  readonly spareRetryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether so many bytes can be taken from the disk without touching its reserve. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Every record up to `index` may be told. Called once a group that has records, in order. */
  readonly onCommit: (group: CommittedGroup) => void;
  /** Once, after the first failure: nothing is written or told any more. The process has to end. */
  readonly onFatal: (error: Error) => void;
}

/** One write and, with `sync: always`, one sync. */
export interface CommittedGroup {
  /** Its last record, and how many it has. */
  readonly index: number;
  readonly records: number;
  readonly bytes: number;
}
