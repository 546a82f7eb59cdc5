import t from 'tap';
import { firstChain, putCommit } from '../../src/persistence/commit.js';
import { FrameType, beginFrame, endFrame } from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';
import { groupsFrom, type LogGroup } from '../../src/persistence/log-groups.js';
import { segmentName } from '../../src/persistence/segment.js';
import { MemoryDisk } from './memory-disk.js';

const EPOCH = Buffer.alloc(8, 1);
const SEGMENT = { number: 1, first: { index: 0, seq: 0, group: 0, chain: firstChain(EPOCH) } };
/** Of records of these lengths: a piece of the file ends within some groups, and some are longer than several pieces. */
const GROUPS = [[10], [60_000, 40_000], [300_000], [1, 2, 3], [127_000], [400_000, 300_000], [50], [5]];

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

const written = GROUPS.map((lengths, place) => group(lengths, place + 1));
const ends = written.map((_, place) => Buffer.concat(written.slice(0, place + 1)).length);
const told = GROUPS.map((lengths, place) => ({
  records: lengths.map((length) => ({ length, of: place + 1 })),
  seq: 10 * (place + 1),
  end: ends[place],
}));

async function read(bytes: Buffer, start: number, throughIndex: number): Promise<object[]> {
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
  t.strictSame(await read(bytes, 0, GROUPS.length), told);
  for (const first of [1, 2, 5]) {
    t.strictSame(await read(bytes, ends[first - 1] ?? 0, GROUPS.length), told.slice(first), `from group ${first + 1}`);
  }
});

t.test('nothing is looked at behind the group with the record that was asked for', async (t) => {
  for (const last of [1, 3, 6]) {
    const bytes = Buffer.concat([...written.slice(0, last), Buffer.alloc(300_000, 0xee)]);
    t.strictSame(await read(bytes, 0, last), told.slice(0, last), `through record ${last}`);
  }
});

t.test('what ends too early, is broken or has a commit of another log is damage, at its place', async (t) => {
  const [first = 0, second = 0] = ends;
  const whole = Buffer.concat(written.slice(0, 2));
  const damage = (offset: number, message: RegExp) => ({ code: 'DAMAGED', place: { offset }, message });
  await t.rejects(read(whole, 0, 3), damage(second, /its records end here/));
  await t.rejects(read(whole.subarray(0, -1), 0, 2), damage(first, /its records end here/));
  const broken = Buffer.from(whole);
  broken[first + 20] = 0xee;
  await t.rejects(read(broken, first, 2), damage(first, /the CRC is wrong/));
  const foreign = Buffer.concat([whole.subarray(0, first), group([1], 2, Buffer.alloc(8, 2))]);
  await t.rejects(read(foreign, 0, 2), damage(first, /without a commit of this log/));
  await t.rejects(read(Buffer.concat([whole, Buffer.alloc(4096)]), 0, 3), damage(second, /the CRC is wrong/));
});
