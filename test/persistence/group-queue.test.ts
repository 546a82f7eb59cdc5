import t from 'tap';
import { FRAME_HEAD_BYTES } from '../../src/persistence/frame.js';
import { GroupQueue } from '../../src/persistence/group-queue.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';

const BUFFER_BYTES = 64;

function queueAfter(index: number, seq: number) {
  const queue = new GroupQueue({ index, seq }, BUFFER_BYTES);
  const add = (recordIndex: number, lastSeq: number, payload: string) => {
    queue.addRecord(recordIndex, lastSeq, () => queue.buffer.put(Buffer.from(payload)));
  };
  return { queue, add };
}

t.test('a group is all that was put in since the last one', async (t) => {
  const { queue, add } = queueAfter(7, 70);
  add(8, 71, 'one');
  add(9, 71, 'two');
  const group = new GrowingBuffer(BUFFER_BYTES);
  t.strictSame(queue.takeInto(group), { index: 9, seq: 71, records: 2, frames: 2 });
  t.equal(group.length, 2 * (FRAME_HEAD_BYTES + 3));
  t.ok(queue.isEmpty);
  t.strictSame(queue.waiting, { records: 0, bytes: 0 });

  add(10, 72, 'three');
  group.clear(BUFFER_BYTES);
  t.strictSame(queue.takeInto(group), { index: 10, seq: 72, records: 1, frames: 3 });
  t.match(group.view().toString('latin1'), /three$/);
});

t.test('a group of nothing is at the place of the one before', async (t) => {
  const { queue } = queueAfter(7, 70);
  t.strictSame(queue.takeInto(new GrowingBuffer(BUFFER_BYTES)), { index: 7, seq: 70, records: 0, frames: 0 });
});

t.test('a record that cannot be put leaves nothing, though it had begun', async (t) => {
  const { queue, add } = queueAfter(7, 70);
  add(8, 71, 'one');
  const before = queue.waiting;
  const breaks = () => {
    queue.buffer.put(Buffer.from('half of it'));
    throw new Error('no such event');
  };
  t.throws(() => queue.addRecord(9, 72, breaks), { message: 'no such event' });
  t.strictSame(queue.waiting, before);
  t.strictSame(queue.takeInto(new GrowingBuffer(BUFFER_BYTES)), { index: 8, seq: 71, records: 1, frames: 1 });
});
