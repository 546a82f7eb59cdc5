import { hash } from 'node:crypto';
import type { Command, Stamp } from '../../engine/command.js';
import { Engine } from '../../engine/engine.js';
import type { JournalRecord } from '../../engine/ports.js';
import { ID_SALT } from '../../system/clock.js';
import { RecordReader, RecordWriter } from '../codec/record-codec.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type LogPlace, PersistenceError } from '../disk/disk.js';
import { snapshotName } from '../format/file-names.js';
import type { Marker } from '../format/frame.js';
import type { LogScan } from '../log/log-scanner.js';
import { type PlacedRecord, placeOf } from '../log/segment-reader.js';

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

/** An engine, or what one was. */
export interface StateAt {
  readonly index: number;
  readonly seq: number;
  stateHash(): string;
  stateSum(): string;
}

/** Hashes of the engine's state that a log records after some of its records. */
export class RecordedHashes {
  readonly #byIndex = new Map<number, { readonly hashes: Set<string>; readonly sums: Set<string> }>();

  /** All hashes that a log records. */
  static in({ stateHashes, snapshots }: LogScan): RecordedHashes {
    const recorded = new RecordedHashes();
    for (const marker of [...stateHashes, ...snapshots.values()]) recorded.add(marker);
    return recorded;
  }

  add({ type, index, stateHash }: Marker): void {
    const here = this.#byIndex.get(index) ?? { hashes: new Set(), sums: new Set() };
    (type === 'STATE_SUM' ? here.sums : here.hashes).add(stateHash);
    this.#byIndex.set(index, here);
  }

  /** Number of records after `index` that have a recorded hash. */
  countAfter(index: number): number {
    return [...this.#byIndex.keys()].filter((recorded) => recorded > index).length;
  }

  /**
   * True when the log tells of this very state, false when it doesn't tell of any. Throws DIFFERS. `record`: the last
   * one applied; null: the state is as a snapshot says.
   */
  compare(state: StateAt, record: PlacedRecord | null): boolean {
    const here = this.#byIndex.get(state.index);
    if (here === undefined) return false;
    if (here.hashes.size > 0) check(state, 'hash', state.stateHash(), here.hashes, record);
    if (here.sums.size > 0) check(state, 'sum', state.stateSum(), here.sums, record);
    return true;
  }
}

function check(
  { index, seq }: StateAt,
  what: string,
  found: string,
  recorded: Iterable<string>,
  record: PlacedRecord | null,
): void {
  for (const expected of recorded) {
    if (found === expected) continue;
    const where = record === null ? { file: snapshotName(index), offset: 0 } : placeOf(record);
    const place = { ...where, index, seq };
    throw new PersistenceError('DIFFERS', `the state's ${what} is ${found}, by the log it was ${expected}`, { place });
  }
}

/** An engine that has applied nothing. `reorgDepth`: the one that the log was begun with. */
export function createEngine(reorgDepth: number): Engine {
  const sha256 = (text: string): string => hash('sha256', text);
  return new Engine({ reorgDepth, sha256, idSalt: ID_SALT });
}
