import type { Command, Stamp } from '../engine/command.js';
import type { JournalRecord } from '../engine/ports.js';
import { readCommand, recordVersionOf, writeCommand } from './command-codec.js';
import { readEvent, writeEvent } from './event-codec.js';
import type { GrowingBuffer } from './growing-buffer.js';
import { MsgpackFault, MsgpackReader } from './msgpack-reader.js';
import { QuoteReader } from './quote-reader.js';
import { QuoteWriter } from './quote-writer.js';
import { PersistenceError } from './persistence-error.js';

/** The newest version of a record's layout. A program reads its own and older ones. */
const RECORD_VERSION = 3;
const RECORD_FIELDS = 5;

/** Writes records into a buffer, one after another. Equal records give equal bytes. */
export class RecordWriter {
  readonly #out: QuoteWriter;

  constructor(out: GrowingBuffer) {
    this.#out = new QuoteWriter(out);
  }

  /** Throws RangeError on a value that the vocabulary doesn't allow: a bug, never bad input. */
  write({ stamp, command, events }: JournalRecord): void {
    const out = this.#out;
    out.beginRecord();
    out.array(RECORD_FIELDS);
    out.uint(recordVersionOf(command));
    out.uint(stamp.index);
    out.uint(stamp.tsMs);
    writeCommand(out, command);
    this.#writeEvents(events);
  }

  /**
   * The end alone of what `write` makes of a record with this command: a command that was read needs no writing again.
   */
  writeEvents(command: Command, events: JournalRecord['events']): void {
    const out = this.#out;
    out.beginRecord();
    if (command.type === 'ENTER_QUOTE') {
      out.countQuote(command.quote);
      out.countPool(command.quote.pool);
    } else if (command.type === 'DEPLOY_POOL') {
      out.countPool(command.pool);
    }
    this.#writeEvents(events);
  }

  #writeEvents(events: JournalRecord['events']): void {
    this.#out.array(events.length);
    for (const event of events) writeEvent(this.#out, event);
  }
}

export class RecordReader {
  readonly #in = new MsgpackReader();
  readonly #quotes = new QuoteReader(this.#in);

  /**
   * The whole record that lies in `bytes` from `start` to `end`. Throws MsgpackFault on bytes that are none,
   * PersistenceError NEWER_FORMAT on a newer program's.
   */
  read(bytes: Buffer, start = 0, end = bytes.length): JournalRecord {
    const { stamp, command } = this.readCommand(bytes, start, end);
    const events = Array.from({ length: this.#in.array() }, () => readEvent(this.#in, this.#quotes));
    this.#in.end();
    return { stamp, command, events };
  }

  /** Where in the bytes the events begin, after `readCommand`. */
  get eventsAt(): number {
    return this.#in.position;
  }

  /** What a replay applies: everything but the events. */
  readCommand(bytes: Buffer, start = 0, end = bytes.length): { readonly stamp: Stamp; readonly command: Command } {
    const input = this.#in;
    this.#quotes.beginRecord();
    input.begin(bytes, start, end);
    const length = input.array();
    const version = input.uint();
    if (version > RECORD_VERSION) {
      throw new PersistenceError(
        'NEWER_FORMAT',
        `a record of version ${version}, this program reads up to ${RECORD_VERSION}`,
      );
    }
    if (version < 1 || length !== RECORD_FIELDS) throw new MsgpackFault(`no record of version ${version}`);
    const stamp = { index: input.uint(), tsMs: input.uint() };
    const command = readCommand(input, this.#quotes);
    if (version !== recordVersionOf(command)) throw new MsgpackFault(`no record of version ${version}`);
    return { stamp, command };
  }
}
