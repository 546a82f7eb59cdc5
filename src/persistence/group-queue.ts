import type { LogPoint } from './file-header.js';
import { FrameType, beginFrame, endFrame } from './frame.js';
import { GrowingBuffer } from './growing-buffer.js';
import { putNote, type Note } from './notes.js';

/** What one group consists of, beside its bytes. */
export interface QueuedGroup {
  /** Its last record, and the last event up to there; those of the group before where it has none. */
  readonly index: number;
  readonly seq: number;
  readonly records: number;
  /** Frames up to its end, since the log was opened. */
  readonly frames: number;
}

/** Records and notes, framed, that the next group will consist of. */
export class GroupQueue {
  /** Its memory changes hands with each group, the object does not. */
  readonly buffer: GrowingBuffer;
  #index: number;
  #seq: number;
  #records = 0;
  #frames = 0;

  constructor({ index, seq }: Pick<LogPoint, 'index' | 'seq'>, bufferBytes: number) {
    this.buffer = new GrowingBuffer(bufferBytes);
    this.#index = index;
    this.#seq = seq;
  }

  get isEmpty(): boolean {
    return this.buffer.length === 0;
  }

  /** What waits. */
  get waiting(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records, bytes: this.buffer.length };
  }

  /** All that was ever put in. */
  get frames(): number {
    return this.#frames;
  }

  /**
   * `put` writes the record's payload to `buffer`; `seq`: the last event up to here. When `put` throws, nothing of the
   * record stays.
   */
  addRecord(index: number, seq: number, put: () => void): void {
    const start = beginFrame(this.buffer);
    try {
      put();
    } catch (error) {
      this.buffer.length = start;
      throw error;
    }
    endFrame(this.buffer, start, FrameType.record);
    this.#index = index;
    this.#seq = seq;
    this.#records += 1;
    this.#frames += 1;
  }

  addNote(note: Note): void {
    putNote(this.buffer, note);
    this.#frames += 1;
  }

  /** Empties it: its bytes go into `group`, whose memory takes their place. */
  takeInto(group: GrowingBuffer): QueuedGroup {
    const taken = { index: this.#index, seq: this.#seq, records: this.#records, frames: this.#frames };
    this.#records = 0;
    this.buffer.exchange(group);
    return taken;
  }
}
