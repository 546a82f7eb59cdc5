import type { Command, Stamp } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { JournalRecord } from '../engine/ports.js';
import { GrowingBuffer } from './growing-buffer.js';
import { placeOf, type PlacedRecord } from './log-records.js';
import { PersistenceError, type LogPlace } from './persistence-error.js';
import { RecordReader, RecordWriter } from './record-codec.js';

const RECORD_BYTES = 64 << 10;

/** Applies a log's commands to an engine and insists that the same comes of them as when they were written. */
export class Replayer {
  readonly engine: Engine;
  readonly #reader = new RecordReader();
  readonly #again = new GrowingBuffer(RECORD_BYTES);
  readonly #writer = new RecordWriter(this.#again);
  /** Last event before the record that is being applied: the engine has gone on when it differs. */
  #seqBefore = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Throws PersistenceError, naming the place: DAMAGED, NEWER_FORMAT, or DIFFERS. */
  apply(placed: PlacedRecord): JournalRecord {
    const { index, bytes, end } = placed;
    this.#seqBefore = this.engine.seq;
    const { stamp, command } = this.#read(placed);
    const { eventsAt } = this.#reader;
    const record = { stamp, command, events: this.#run(stamp, command, placed) };
    const again = this.#again;
    again.clear(RECORD_BYTES);
    this.#writer.writeEvents(command, record.events);
    // Equal events have equal bytes, so this compares each with all that it says.
    const isEqual = again.bytes.compare(bytes, eventsAt, end, 0, again.length) === 0;
    if (stamp.index !== index || !isEqual) {
      throw new PersistenceError('DIFFERS', `the engine makes something else of record ${index} than the log says`, {
        place: this.#place(placed),
      });
    }
    return record;
  }

  #read(placed: PlacedRecord): Pick<JournalRecord, 'stamp' | 'command'> {
    try {
      return this.#reader.readCommand(placed.bytes, placed.payloadAt, placed.end);
    } catch (cause) {
      const code = cause instanceof PersistenceError ? cause.code : 'DAMAGED';
      throw new PersistenceError(code, (cause as Error).message, { place: this.#place(placed), cause });
    }
  }

  #run(stamp: Stamp, command: Command, placed: PlacedRecord): JournalRecord['events'] {
    try {
      return this.engine.apply(command, stamp);
    } catch (cause) {
      const message = `the engine can't apply the ${command.type} of record ${stamp.index}: ${(cause as Error).message}`;
      throw new PersistenceError('DIFFERS', message, { place: this.#place(placed), cause });
    }
  }

  #place(placed: PlacedRecord): LogPlace {
    return { ...placeOf(placed), seq: this.#seqBefore };
  }
}
