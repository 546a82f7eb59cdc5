import { FrameType, beginFrame, endFrame, type Frame } from './frame.js';
import type { GrowingBuffer } from './growing-buffer.js';
import { MsgpackReader } from './msgpack-reader.js';
import { MsgpackWriter } from './msgpack-writer.js';
import { PersistenceError, type LogPlace } from './persistence-error.js';

/** The snapshot of record `index` is whole and durable. */
export interface SnapshotNote {
  readonly type: 'SNAPSHOT';
  readonly index: number;
  readonly bytes: number;
  /** What the file's END says: SHA-256 of all before it, 64 hex digits. */
  readonly sha256: string;
  /** What the engine that was replayed up to `index` hashed to. */
  readonly stateHash: string;
}

/**
 * What the running engine hashed to right after record `index`: all of it at once, or its sum. A sum has a place only
 * in segments of format 2 and later.
 */
export interface StateHashNote {
  readonly type: 'STATE_HASH' | 'STATE_SUM';
  readonly index: number;
  readonly stateHash: string;
}

export type Note = SnapshotNote | StateHashNote;

const FRAME_TYPES = {
  SNAPSHOT: FrameType.snapshot,
  STATE_HASH: FrameType.stateHash,
  STATE_SUM: FrameType.stateSum,
} as const;

/** What a log says about itself between its records. */
export function putNote(out: GrowingBuffer, note: Note): void {
  const start = beginFrame(out);
  const writer = new MsgpackWriter(out);
  if (note.type === 'SNAPSHOT') {
    writer.array(4);
    writer.uint(note.index);
    writer.uint(note.bytes);
    writer.text(note.sha256);
  } else {
    writer.array(2);
    writer.uint(note.index);
  }
  writer.text(note.stateHash);
  endFrame(out, start, FRAME_TYPES[note.type]);
}

/** `place`: for the error, when a program that was wrong wrote it. */
export function noteIn({ type, payload }: Frame, place: LogPlace): Note {
  const input = new MsgpackReader();
  input.begin(payload);
  try {
    if (type === FrameType.snapshot) {
      input.tuple(4);
      const note = { index: input.uint(), bytes: input.uint(), sha256: input.text(), stateHash: input.text() };
      input.end();
      return { type: 'SNAPSHOT', ...note };
    }
    input.tuple(2);
    const note = { index: input.uint(), stateHash: input.text() };
    input.end();
    return { type: type === FrameType.stateSum ? 'STATE_SUM' : 'STATE_HASH', ...note };
  } catch (cause) {
    throw new PersistenceError('DAMAGED', 'a frame that is whole but holds something else than its type says', {
      place,
      cause,
    });
  }
}
