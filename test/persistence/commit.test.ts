import { createHash } from 'node:crypto';
import t from 'tap';
import {
  COMMIT_BYTES,
  chainAfter,
  firstChain,
  highestDurable,
  putCommit,
  readCommit,
  type Commit,
} from '../../src/persistence/commit.js';
import { FRAME_HEAD_BYTES, FrameType, beginFrame, endFrame, readFrame } from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';

const EPOCH = Buffer.from('0102030405060708', 'hex');
const OTHER_EPOCH = Buffer.from('0102030405060709', 'hex');
/** Each of another number, and of more than 32 bits where that is allowed. */
const COUNTS = { group: 2 ** 33 + 1, durable: 2 ** 34 + 2, index: 2 ** 35 + 3, seq: 2 ** 36 + 4, records: 5 };
const GROUP = Buffer.from('the bytes of a group');

/** A group that ends with its commit, and that commit's payload. */
function committed(counts: Partial<Commit> = {}, epoch = EPOCH, head: Buffer | null = null) {
  const out = new GrowingBuffer(16);
  out.put(GROUP);
  const chain = putCommit(out, epoch, firstChain(epoch), head, { ...COUNTS, ...counts });
  const bytes = Buffer.from(out.view());
  return { bytes, chain, payload: bytes.subarray(GROUP.length + FRAME_HEAD_BYTES) };
}

t.test('a commit is read as it was written', async (t) => {
  const { bytes, chain, payload } = committed();
  t.match(readFrame(bytes, GROUP.length), { end: bytes.length, type: 3 });
  t.same(readCommit(payload, EPOCH), { ...COUNTS, bytes: GROUP.length, chain });
});

t.test('its chain is SHA-256 of the chain before, the whole group and its own fields', async (t) => {
  const head = Buffer.from('a header');
  for (const before of [null, head]) {
    const group = Buffer.concat([before ?? Buffer.alloc(0), GROUP]);
    const { chain, payload } = committed({}, EPOCH, before);
    const previous = createHash('sha256').update(EPOCH).digest();
    const expected = createHash('sha256')
      .update(Buffer.concat([previous, group, payload.subarray(0, 56)]))
      .digest();
    t.same(chain, expected);
    t.same(chainAfter(previous, group, payload), expected);
    t.equal(readCommit(payload, EPOCH)?.bytes, group.length);
  }
});

t.test('a payload without the mark, of another log or of another length is no commit', async (t) => {
  const { payload } = committed();
  t.equal(readCommit(payload, OTHER_EPOCH), null);
  t.equal(readCommit(payload.subarray(0, COMMIT_BYTES - 1), EPOCH), null);
  t.equal(readCommit(Buffer.concat([payload, Buffer.alloc(1)]), EPOCH), null);
  for (let at = 0; at < 16; at += 1) {
    const changed = Buffer.from(payload);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.equal(readCommit(changed, EPOCH), null, `byte ${at}`);
  }
});

t.test('what was known to be durable is found behind damage, and is the most that any commit says', async (t) => {
  const [low, high] = [committed({ durable: 7 }).bytes, committed({ durable: 9 }).bytes];
  const damage = Buffer.alloc(50, 0xee);
  t.equal(highestDurable(Buffer.concat([damage, low, high, low]), 0, EPOCH), 9);
  t.equal(highestDurable(Buffer.concat([high, damage, low]), high.length, EPOCH), 7);
  // One whose frame begins before `start` lies not behind it.
  t.equal(highestDurable(high, GROUP.length, EPOCH), 9);
  t.equal(highestDurable(high, GROUP.length + 1, EPOCH), 0);
});

t.test('a commit that is broken, of another log, or only looks like one says nothing of durability', async (t) => {
  const { bytes, payload } = committed();
  const broken = Buffer.from(bytes);
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
  const record = new GrowingBuffer(16);
  const start = beginFrame(record);
  record.put(payload);
  endFrame(record, start, FrameType.record);
  const others = [broken, committed({}, OTHER_EPOCH).bytes, record.view(), Buffer.from('QBCOMMIT')];
  t.equal(highestDurable(Buffer.concat(others), 0, EPOCH), 0);
  t.equal(highestDurable(Buffer.concat([...others, bytes]), 0, EPOCH), COUNTS.durable);
});
