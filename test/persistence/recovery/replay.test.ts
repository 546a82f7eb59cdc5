import t from 'tap';
import type { JournalRecord } from '../../../src/engine/ports.js';
import { RecordWriter } from '../../../src/persistence/codec/record-codec.js';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { PersistenceError } from '../../../src/persistence/disk/disk.js';
import type { PlacedRecord } from '../../../src/persistence/log/segment-reader.js';
import { Replayer } from '../../../src/persistence/recovery/replay.js';
import { enter, newEngine, plain, sampleQuote, START, unpacked } from '../../engine/samples.js';

/** Bytes before the record in its segment. */
const BEFORE = 40;

/** The first record of a log, as an engine made it. */
function firstRecord(): JournalRecord {
  const stamp = { index: 1, tsMs: START * 1000 };
  const command = enter(sampleQuote({ n: 1 }));
  return { stamp, command, events: newEngine().apply(command, stamp) };
}

function placed(record: JournalRecord): PlacedRecord {
  const out = new GrowingBuffer(64);
  out.put(Buffer.alloc(BEFORE));
  new RecordWriter(out).write(record);
  const bytes = Buffer.concat([out.view(), Buffer.alloc(8)]);
  const segment = { number: 3, first: { index: 0, seq: 0 } } as PlacedRecord['segment'];
  return { index: record.stamp.index, bytes, start: BEFORE - 8, payloadAt: BEFORE, end: out.length, segment };
}

const place = { file: 'segment-00000003.log', offset: BEFORE - 8, index: 0, seq: 0 };

function refusalOf(record: PlacedRecord): unknown {
  try {
    return new Replayer(newEngine()).apply(record);
  } catch (error) {
    return error;
  }
}

t.test('what comes of a record is what the log says, and is given as it was', async (t) => {
  const record = firstRecord();
  const replayer = new Replayer(newEngine());
  const again = replayer.apply(placed(record));
  t.strictSame(unpacked([again.stamp, again.command]), [record.stamp, record.command]);
  t.strictSame(again.events.map(plain), record.events.map(plain));
  t.equal(replayer.engine.index, 1);
});

t.test('a record of a newer program is refused as such, by its place', async (t) => {
  const record = placed(firstRecord());
  record.bytes[record.payloadAt + 1] = 127;
  const refusal = refusalOf(record);
  t.type(refusal, PersistenceError);
  t.match(refusal, { code: 'NEWER_FORMAT', message: /record of version 127/, place });
});

t.test('bytes that are no record are damage, by their place', async (t) => {
  const record = placed(firstRecord());
  record.bytes[record.payloadAt] = 0xc1;
  const refusal = refusalOf(record);
  t.type(refusal, PersistenceError);
  t.match(refusal, { code: 'DAMAGED', place });
});

t.test('a record that the engine cannot apply is refused, by its place', async (t) => {
  const { stamp, command, events } = firstRecord();
  const refusal = refusalOf(placed({ stamp: { ...stamp, index: 2 }, command, events }));
  t.type(refusal, PersistenceError);
  const message = /can't apply the ENTER_QUOTE of record 2: records are applied one after the other/;
  t.match(refusal, { code: 'DIFFERS', message, place: { ...place, index: 1 } });
});

t.test('a record that stands in the place of another is refused', async (t) => {
  const record = placed(firstRecord());
  t.match(refusalOf({ ...record, index: 2 }), { code: 'DIFFERS', place: { ...place, index: 1 } });
});
