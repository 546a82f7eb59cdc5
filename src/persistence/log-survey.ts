import type { LogPoint } from './file-header.js';
import type { SnapshotNote, StateHashNote } from './notes.js';

/** A segment with at least one whole group. */
export interface SurveyedSegment {
  readonly number: number;
  /** What lies before it. */
  readonly first: LogPoint;
  /** Behind its last whole group, and how far the log has come there. */
  readonly end: number;
  readonly last: LogPoint;
  /** Of its header. */
  readonly format: number;
  /** How long the file was made; 0 where its header does not say. */
  readonly madeBytes: number;
  /** From here on a group may be in the page cache alone, although it is whole; `end` when there is none. */
  readonly durableEnd: number;
  readonly checked: { readonly end: number; readonly crc: number };
}

/** A segment that has been looked through, and what the running engine told there of its state. */
export interface PassedSegment {
  readonly segment: SurveyedSegment;
  readonly stateHashes: readonly StateHashNote[];
}

/** Bytes behind the last whole group that are neither zeros nor groups that anyone was told of. */
export interface TornTail {
  readonly number: number;
  readonly offset: number;
  /** Up to the last byte that isn't zero, in all segments from here on. */
  readonly bytes: number;
  readonly reason: string;
}

/**
 * The log ends where groups were written once, by the state of the file behind its end: the file is shorter than it was
 * made, or has zeros where unused space holds FILL. Clients may have received their events.
 */
export interface LostTail {
  readonly number: number;
  readonly offset: number;
  readonly reason: string;
}

/** All that the segments say, every byte of them checked. */
export interface LogSurvey {
  readonly epoch: Buffer;
  readonly segments: readonly SurveyedSegment[];
  /** Segments without a whole group, rising: the prepared one, or what a torn tail left. */
  readonly emptySegments: readonly number[];
  /** Those of them that are as they were made, to be written to next. */
  readonly readySegments: readonly number[];
  readonly last: LogPoint;
  /** The last group is empty (or there is none): it says that the one before is durable. */
  readonly isSealed: boolean;
  readonly torn: TornTail | null;
  readonly lost: LostTail | null;
  /** By record index. */
  readonly snapshots: ReadonlyMap<number, SnapshotNote>;
  /** In the order of the log. */
  readonly stateHashes: readonly StateHashNote[];
  /** The log's own chain value after each group that a snapshot in the directory says to end with. */
  readonly chains: ReadonlyMap<number, Buffer>;
}
