import t from 'tap';
import { endOfContent } from '../../../src/persistence/format/frame.js';
import { LogHistory } from '../../../src/persistence/log/log-history.js';
import { enter, sampleQuote } from '../../engine/samples.js';
import { CountedDisk } from '../counted-disk.js';
import { World } from '../world.js';

const GROUPS = 8;
/** More bytes than are read at a time. */
const RECORDS_A_GROUP = 400;

/** Numbers of the events that a reader is given who stops when it has `limit`. */
async function read(history: LogHistory, seq: number, throughIndex: number, limit = Infinity): Promise<number[]> {
  const numbers: number[] = [];
  for await (const records of history.recordsAfter(seq, throughIndex)) {
    numbers.push(...records.flatMap(({ events }) => events.map((event) => event.seq)).filter((number) => number > seq));
    if (numbers.length >= limit) break;
  }
  return numbers;
}

const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

/** One segment with more than a MiB of quotes, and behind its records nothing but zeros. */
async function longSegment() {
  const world = new World(9);
  const process = await world.start({
    segmentBytes: 3 << 20,
    snapshotEveryRecords: Infinity,
    stateHashEveryRecords: Infinity,
    queueRecords: RECORDS_A_GROUP,
    queueBytes: 1 << 20,
  });
  for (let group = 0; group < GROUPS; group += 1) {
    for (let n = 0; n < RECORDS_A_GROUP; n += 1) {
      const quote = sampleQuote({ n: group * RECORDS_A_GROUP + n });
      process.sequencer.submit(enter(quote));
    }
    await world.clock.until(process.log.journal.flush());
  }
  const { engine, epoch } = process.log;
  const disk = new CountedDisk(world.disk.fileNames().map((name) => [name, world.disk.contentOf(name)]));
  return { disk, epoch: Buffer.from(epoch, 'hex'), seq: engine.seq, index: engine.index };
}

const { disk, epoch, seq, index } = await longSegment();

await t.test('the first reader has the segment read up to its place, later ones begin near theirs', async (t) => {
  const history = new LogHistory(disk, epoch);
  t.strictSame(await read(history, seq - 5, index), from(seq - 4, seq));
  const whole = disk.take().readBytes;
  t.ok(whole > 1 << 20, `${whole} bytes`);
  for (const at of [seq - 5, Math.floor(seq / 2), 100]) {
    t.strictSame((await read(history, at, index, 5)).slice(0, 5), from(at + 1, at + 5), `after ${at}`);
    const { readBytes, opened } = disk.take();
    t.ok(readBytes <= 512 << 10, `${readBytes} bytes`);
    // The segment, and the one that lies ready.
    t.ok(opened <= 2, 'its header is known');
  }
});

await t.test('who has enough reads no further, and who comes after begins there', async (t) => {
  const history = new LogHistory(disk, epoch);
  t.strictSame((await read(history, 0, index, 5)).slice(0, 5), from(1, 5));
  t.ok(disk.take().readBytes <= 300_000);
  t.strictSame(await read(history, seq - 5, index), from(seq - 4, seq), 'one that goes further finds its way');
});

await t.test('a flipped bit fails the reader of that part, and no other', async (t) => {
  const files = [...disk.files].map(([name, bytes]) => [name, Buffer.from(bytes)] as const);
  const [, segment] = files.find(([name]) => name.startsWith('segment')) ?? [];
  if (segment === undefined) throw new Error('no segment');
  const history = new LogHistory(new CountedDisk(files), epoch);
  await read(history, seq - 5, index);
  segment[1000] = (segment[1000] ?? 0) ^ 1;
  t.strictSame(await read(history, seq - 5, index), from(seq - 4, seq));
  await t.rejects(read(history, 0, index), { code: 'DAMAGED' });
});

await t.test('a segment that ends before what is asked for is damaged, wherever it ends', async (t) => {
  const [name = '', bytes = Buffer.alloc(0)] = [...disk.files].find(([each]) => each.startsWith('segment')) ?? [];
  for (const end of [1000, bytes.length >> 1, endOfContent(bytes, 0), bytes.length]) {
    const history = new LogHistory(new CountedDisk([[name, bytes.subarray(0, end)]]), epoch);
    await t.rejects(read(history, 0, index + 1), { code: 'DAMAGED', place: { file: name } }, `at ${end}`);
  }
});
