import t from 'tap';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { beginFrame, endFrame, FrameType } from '../../../src/persistence/format/frame.js';
import { firstChain, putCommit } from '../../../src/persistence/format/header.js';
import { readGroup } from '../../../src/persistence/log/segment-reader.js';

const EPOCH = Buffer.alloc(8, 1);
const BEFORE = { index: 10, seq: 20, group: 30, chain: firstChain(EPOCH) };
const COUNTS = { group: 31, durable: 29, index: 12, seq: 25, records: 2 };

/** What is in a group, and its commit: the chain is right whatever the commit counts. */
function group(types: readonly FrameType[], counts: Partial<typeof COUNTS> = {}, epoch = EPOCH): Buffer {
  const out = new GrowingBuffer(16);
  for (const type of types) {
    const start = beginFrame(out);
    out.put(Buffer.from('payload'));
    endFrame(out, start, type);
  }
  putCommit(out, epoch, BEFORE.chain, null, { ...COUNTS, ...counts });
  return Buffer.from(out.view());
}

const { record, stateHash, stateSum, snapshot, chunk } = FrameType;
const read = (bytes: Buffer) => readGroup(bytes, 0, 0, BEFORE, EPOCH);
const COMMIT_AT = 2 * 19;

t.test('a group is read with its notes and the point where it ends', async (t) => {
  const bytes = group([record, stateHash, stateSum, snapshot, record]);
  const { index, seq, group: number } = COUNTS;
  t.match(read(bytes), { point: { index, seq, group: number }, durable: 29, end: bytes.length, isEmpty: false });
  t.match(read(bytes), { markers: [{ type: stateHash }, { type: stateSum }, { type: snapshot }] });
  t.match(read(group([], { index: 10, records: 0 })), { isEmpty: true, markers: [] });
  t.match(read(group([stateSum], { index: 10, records: 0 })), { isEmpty: false });
});

t.test('a commit that does not count on from the group before is refused, though its chain is right', async (t) => {
  for (const counts of [{ group: 32 }, { group: 30 }, { index: 13 }, { records: 3, index: 13 }, { records: 1 }]) {
    t.match(read(group([record, record], counts)), { reason: /doesn't fit what lies before it/, at: COMMIT_AT });
  }
});

t.test('bytes that are no group of this log are rejected with the place where it goes wrong', async (t) => {
  t.same(read(group([record, record], {}, Buffer.alloc(8, 2))), { reason: 'a commit of another log', at: COMMIT_AT });
  t.same(read(group([record, chunk])), { reason: 'a frame of type 6 among records', at: 19 });
  const broken = group([record, record]);
  broken[35] = 0xee;
  t.same(read(broken), { reason: 'the CRC is wrong', at: 19 });
});
