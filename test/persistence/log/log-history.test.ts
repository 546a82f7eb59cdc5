import t from 'tap';
import type { JournalRecord } from '../../../src/engine/ports.js';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { segmentName } from '../../../src/persistence/format/file-names.js';
import { beginFrame, endFrame, FrameType } from '../../../src/persistence/format/frame.js';
import { firstChain, putCommit } from '../../../src/persistence/format/header.js';
import { groupsFrom, type LogGroup, type LogHistory, SegmentIndex } from '../../../src/persistence/log/log-history.js';
import { plain } from '../../engine/samples.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

const GROUPS = 60;

/** A record as a listener receives it: its stamp, and the events as plain values. */
function told({ stamp, events }: JournalRecord): object {
  return { stamp, events: events.map(plain) };
}

async function read(history: LogHistory, seq: number, throughIndex: number): Promise<object[]> {
  const records: object[] = [];
  for await (const group of history.recordsAfter(seq, throughIndex)) records.push(...group.map(told));
  return records;
}

/** A log of several segments, and all records that its listeners got. */
async function toldLog(retainLogBytes: number) {
  const world = new World(4);
  const { clock } = world;
  const process = await world.start({ segmentBytes: 4 << 10, snapshotEveryRecords: 50, retainLogBytes });
  const records: { readonly lastSeq: number; readonly told: object }[] = [];
  let lastSeq = 0;
  process.sequencer.onEvents((committed) => {
    for (const record of committed) {
      lastSeq = record.events.at(-1)?.seq ?? lastSeq;
      records.push({ lastSeq, told: told(record) });
    }
  });
  for (let group = 0; group < GROUPS; group += 1) {
    world.submit(process, 4);
    await clock.until(process.log.journal.flush());
    await clock.advance(60);
  }
  return { world, process, records };
}

t.test('the history gives the records from any event on as listeners got them, while the log goes on', async (t) => {
  const { world, process, records } = await toldLog(Infinity);
  const { history, engine } = process.log;
  t.equal(await world.clock.until(history.droppedThroughSeq()), 0);
  for (const seq of [0, 1, 17, Math.floor(engine.seq / 2), engine.seq - 1]) {
    const found = await world.clock.until(read(history, seq, engine.index));
    const wanted = records.filter(({ lastSeq }) => lastSeq > seq).map((record) => record.told);
    t.strictSame(found.slice(-wanted.length), wanted, `after ${seq}`);
    // At most the records of one group come along.
    t.ok(found.length - wanted.length < 4, `${found.length - wanted.length} too many`);
  }
  t.strictSame(await world.clock.until(read(history, engine.seq, engine.index)), []);
});

t.test('nothing behind the record that is durable is read', async (t) => {
  const { world, process, records } = await toldLog(Infinity);
  const found = await world.clock.until(read(process.log.history, 0, 100));
  t.strictSame(
    found,
    records.slice(0, 100).map((record) => record.told),
  );
});

t.test('droppedThroughSeq names the last dropped event, and all behind it is there', async (t) => {
  const { world, process, records } = await toldLog(0);
  const { history, engine } = process.log;
  const dropped = await world.clock.until(history.droppedThroughSeq());
  t.ok(dropped > 0 && dropped < engine.seq, `dropped through ${dropped}`);
  const found = await world.clock.until(read(history, dropped, engine.index));
  const wanted = records.filter(({ lastSeq }) => lastSeq > dropped).map((record) => record.told);
  t.strictSame(found.slice(-wanted.length), wanted);
});

/** Far enough apart for each to be kept. */
const APART_BYTES = 256 << 10;

t.test('a reader begins at the last place that has all events after its own behind it', async (t) => {
  const places = new SegmentIndex().of(1);
  places.note(APART_BYTES, 10);
  places.note(APART_BYTES + 1, 11);
  places.note(2 * APART_BYTES, 20);
  t.strictSame(
    [0, 9, 10, 11, 19, 20, 1000].map((seq) => places.before(seq) / APART_BYTES),
    [0, 0, 1, 1, 1, 2, 2],
  );
});

t.test('those of the segments that were asked for last are kept, and none of a segment that is gone', async (t) => {
  const places = new SegmentIndex();
  const isKnown = (number: number): boolean => places.of(number).before(1) > 0;
  for (let number = 1; number <= 1024; number += 1) places.of(number).note(APART_BYTES, 1);
  t.ok(isKnown(1));
  places.of(1025);
  t.ok(isKnown(1), 'it was asked for a moment ago');
  t.notOk(isKnown(2));
  places.dropBelow(2);
  t.notOk(isKnown(1));
});

const EPOCH = Buffer.alloc(8, 1);
const SEGMENT = { number: 1, first: { index: 0, seq: 0, group: 0, chain: firstChain(EPOCH) } };
/** Of records of these lengths: a piece of the file ends within some groups, and some are longer than several pieces. */
const WRITTEN_GROUPS = [[10], [60_000, 40_000], [300_000], [1, 2, 3], [127_000], [400_000, 300_000], [50], [5]];

/** A group of records that hold no more than a byte again and again, with its commit. */
function group(lengths: readonly number[], index: number, epoch = EPOCH): Buffer {
  const out = new GrowingBuffer(16);
  for (const length of lengths) {
    const start = beginFrame(out);
    out.put(Buffer.alloc(length, index));
    endFrame(out, start, FrameType.record);
  }
  const counts = { group: index, durable: 0, index, seq: 10 * index, records: lengths.length };
  putCommit(out, epoch, firstChain(epoch), null, counts);
  return Buffer.from(out.view());
}

const written = WRITTEN_GROUPS.map((lengths, place) => group(lengths, place + 1));
const ends = written.map((_, place) => Buffer.concat(written.slice(0, place + 1)).length);
const toldGroups = WRITTEN_GROUPS.map((lengths, place) => ({
  records: lengths.map((length) => ({ length, of: place + 1 })),
  seq: 10 * (place + 1),
  end: ends[place],
}));

async function readGroups(bytes: Buffer, start: number, throughIndex: number): Promise<object[]> {
  const disk = new MemoryDisk([[segmentName(1), bytes]]);
  const groups: object[] = [];
  const tell = ({ records, seq, end }: LogGroup): object => ({
    records: records.map((record) => ({ length: record.length, of: record.at(-1) })),
    seq,
    end,
  });
  for await (const some of groupsFrom(disk, EPOCH, SEGMENT, start, throughIndex)) groups.push(...some.map(tell));
  return groups;
}

t.test('groups of any length are read whole, wherever a piece of the file ends', async (t) => {
  const bytes = Buffer.concat(written);
  t.strictSame(await readGroups(bytes, 0, WRITTEN_GROUPS.length), toldGroups);
  for (const first of [1, 2, 5]) {
    t.strictSame(
      await readGroups(bytes, ends[first - 1] ?? 0, WRITTEN_GROUPS.length),
      toldGroups.slice(first),
      `from group ${first + 1}`,
    );
  }
});

t.test('nothing is looked at behind the group with the record that was asked for', async (t) => {
  for (const last of [1, 3, 6]) {
    const bytes = Buffer.concat([...written.slice(0, last), Buffer.alloc(300_000, 0xee)]);
    t.strictSame(await readGroups(bytes, 0, last), toldGroups.slice(0, last), `through record ${last}`);
  }
});

t.test('what ends too early, is broken or has a commit of another log is damage, at its place', async (t) => {
  const [first = 0, second = 0] = ends;
  const whole = Buffer.concat(written.slice(0, 2));
  const damage = (offset: number, message: RegExp) => ({ code: 'DAMAGED', place: { offset }, message });
  await t.rejects(readGroups(whole, 0, 3), damage(second, /its records end here/));
  await t.rejects(readGroups(whole.subarray(0, -1), 0, 2), damage(first, /its records end here/));
  const broken = Buffer.from(whole);
  broken[first + 20] = 0xee;
  await t.rejects(readGroups(broken, first, 2), damage(first, /the CRC is wrong/));
  const foreign = Buffer.concat([whole.subarray(0, first), group([1], 2, Buffer.alloc(8, 2))]);
  await t.rejects(readGroups(foreign, 0, 2), damage(first, /without a commit of this log/));
  await t.rejects(readGroups(Buffer.concat([whole, Buffer.alloc(4096)]), 0, 3), damage(second, /the CRC is wrong/));
});
