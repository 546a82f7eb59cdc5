import type { Engine } from '../engine/engine.js';
import type { JournalRecord } from '../engine/ports.js';
import { GrowingBuffer } from './growing-buffer.js';
import type { PlacedRecord } from './log-records.js';
import { PersistenceError, type LogPlace } from './persistence-error.js';
import { RecordReader, RecordWriter } from './record-codec.js';

const RECORD_BYTES = 64 << 10;

/** Applies a log's commands to an engine and insists that the same comes of them as when they were written. */
export class Replayer {
  readonly engine: Engine;
  readonly #reader = new RecordReader();
  readonly #again = new GrowingBuffer(RECORD_BYTES);
  readonly #writer = new RecordWriter(this.#again);

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Throws PersistenceError, naming the place: DAMAGED, NEWER_FORMAT, or DIFFERS. */
  apply({ index, payload, place: where }: PlacedRecord): JournalRecord {
    const place = { ...where, seq: this.engine.seq };
    const { stamp, command } = this.#read(payload, place);
    const record = { stamp, command, events: this.#run({ stamp, command }, place) };
    this.#again.clear(RECORD_BYTES);
    this.#writer.write(record);
    // Equal records have equal bytes, so this compares every event with all that it says.
    if (stamp.index !== index || !this.#again.view().equals(payload)) {
      throw new PersistenceError('DIFFERS', `the engine makes something else of record ${index} than the log says`, {
        place,
      });
    }
    return record;
  }

  #read(payload: Buffer, place: LogPlace): Pick<JournalRecord, 'stamp' | 'command'> {
    try {
      return this.#reader.readCommand(payload);
    } catch (cause) {
      const code = cause instanceof PersistenceError ? cause.code : 'DAMAGED';
      throw new PersistenceError(code, (cause as Error).message, { place, cause });
    }
  }

  #run({ stamp, command }: Pick<JournalRecord, 'stamp' | 'command'>, place: LogPlace): JournalRecord['events'] {
    try {
      return this.engine.apply(command, stamp);
    } catch (cause) {
      const message = `the engine can't apply the ${command.type} of record ${stamp.index}: ${(cause as Error).message}`;
      throw new PersistenceError('DIFFERS', message, { place, cause });
    }
  }
}
