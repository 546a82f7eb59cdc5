import t from 'tap';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { PersistenceError } from '../../../src/persistence/disk/disk.js';
import { segmentName, snapshotIndexes } from '../../../src/persistence/format/file-names.js';
import { FRAME_HEAD_BYTES } from '../../../src/persistence/format/frame.js';
import { COMMIT_BYTES, putCommit } from '../../../src/persistence/format/header.js';
import { type LogScan, type PassedSegment, scanLog } from '../../../src/persistence/log/log-scanner.js';
import { readRecords } from '../../../src/persistence/log/segment-reader.js';
import {
  matchesScan,
  recover,
  type Recovered,
  replayDuringScan,
  type StartScan,
} from '../../../src/persistence/recovery/recovery.js';
import { AsyncQueue } from '../../../src/persistence/recovery/scan-thread.js';
import { REORG_DEPTH } from '../../engine/samples.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { silent } from '../../simulation/simulated-log.js';
import { FIRST_SEGMENT, madeLog, withFile } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';

t.test('a log that counts other events than its records bring is refused, though every byte of it fits', async (t) => {
  const log = await madeLog(4 << 10, true);
  const { segments, last } = await scanLog(new MemoryDisk(log.files), log.epoch);
  const end = segments.at(-1)?.end ?? 0;
  for (const seq of [last.seq, last.seq + 1]) {
    const commit = new GrowingBuffer(FRAME_HEAD_BYTES + COMMIT_BYTES);
    const { index, group } = last;
    putCommit(commit, log.epoch, last.chain, null, { index, seq, group: group + 1, durable: group, records: 0 });
    const bytes = Buffer.from(log.files.get(FIRST_SEGMENT) ?? []);
    commit.view().copy(bytes, end);
    const recovering = recover(withFile(log, FIRST_SEGMENT, bytes), log.epoch, REORG_DEPTH, silent);
    if (seq === last.seq) t.match((await recovering).engine, { index, seq });
    else {
      await t.rejects(recovering, {
        code: 'DIFFERS',
        message: `the log ends with record ${index} and event ${seq}`,
        place: { file: FIRST_SEGMENT, index, seq: last.seq },
      });
    }
  }
});

/** A dozen segments, the newest snapshot in the middle, and hashes of the state in between. */
const log = await madeLog(40 << 10, true, {
  segmentBytes: 4096,
  snapshotEveryRecords: 75,
  stateHashEveryRecords: 7,
  retainLogBytes: Infinity,
});
const names = [...log.files.keys()].sort();
const newest = snapshotIndexes(names).at(-1) ?? 0;

/** A scan that tells on its way; `change` what it tells. */
function beside(disk: MemoryDisk, change = (passed: PassedSegment): PassedSegment => passed): StartScan {
  return (epoch) => {
    const passed = new AsyncQueue<PassedSegment>();
    const scan = scanLog(disk, epoch, (segment) => passed.push(change(segment)));
    const end = (): void => passed.end();
    scan.then(end, end);
    return { passed, scan };
  };
}

/** Result of a start, or the reason why it is refused. */
async function outcome(recovering: Promise<Recovered>) {
  try {
    const { engine, scan, ...rest } = await recovering;
    return { ...rest, stateHash: engine.stateHash(), last: scan.last };
  } catch (error) {
    if (!(error instanceof PersistenceError)) throw error;
    const { code, message, place } = error;
    return { code, message, place };
  }
}

const inOrder = (disk: MemoryDisk) => outcome(recover(disk, log.epoch, REORG_DEPTH, silent));
const ahead = (disk: MemoryDisk, scan = beside(disk)) => outcome(recover(disk, log.epoch, REORG_DEPTH, silent, scan));

/** The log as it is, scanned completely. */
async function replayed(change?: (passed: PassedSegment) => PassedSegment) {
  const disk = new MemoryDisk(log.files);
  const { passed, scan } = beside(disk, change)(log.epoch);
  return { replay: await replayDuringScan(disk, newest, REORG_DEPTH, passed), scan: await scan };
}

t.test('a log that is replayed while it is looked through comes to the same as one in order', async (t) => {
  t.ok(newest > 0 && names.length > 8, 'there is something to replay, in several segments');
  const { replay, scan } = await replayed();
  t.equal(replay !== null && matchesScan(replay, scan), true);
  const disk = new MemoryDisk(log.files);
  const expected = await inOrder(disk);
  t.match(expected, { snapshotIndex: newest, stateHash: log.ends.at(-1)?.stateHash });
  t.strictSame(await ahead(disk), expected);
});

t.test('whatever is wrong, it comes to the same as in order, or is refused in the same words', async (t) => {
  const seed = 20;
  const random = new SeededRandom(seed);
  const codes = new Set<string>();
  for (let round = 0; round < 150; round += 1) {
    const name = names[random.below(names.length)] ?? '';
    const bytes = Buffer.from(log.files.get(name) ?? []);
    const at = random.below(Math.max(1, bytes.length));
    const disk = withFile(log, name, round % 3 === 0 ? bytes.subarray(0, at) : flipped(bytes, at));
    const expected = await inOrder(disk);
    codes.add('code' in expected ? expected.code : `snapshot ${expected.snapshotIndex}`);
    t.strictSame(await ahead(disk), expected, `seed ${seed}, round ${round}: ${name} at ${at}`);
  }
  t.ok(codes.has('DAMAGED') && codes.has(`snapshot ${newest}`) && codes.size > 2, [...codes].join());
});

t.test('a state hash that only the end of the log records is compared by the replay in order', async (t) => {
  const hide = (passed: PassedSegment): PassedSegment => ({ ...passed, stateHashes: [] });
  const { replay, scan } = await replayed(hide);
  t.equal(replay?.compared, 0);
  t.equal(replay !== null && matchesScan(replay, scan), false);
  const disk = new MemoryDisk(log.files);
  t.strictSame(await ahead(disk, beside(disk, hide)), await inOrder(disk));
});

t.test(
  'a byte that changes between the scan and the replay is damage, and not taken for what was found right',
  async (t) => {
    const scan = await scanLog(new MemoryDisk(log.files), log.epoch);
    const [segment] = scan.segments;
    if (segment === undefined) throw new Error('The log has segments');
    const name = segmentName(segment.number);
    // A record's content, and bytes behind the last whole group: both may change.
    for (const [at, isRead] of [
      [segment.end >> 1, false],
      [segment.end, true],
    ] as const) {
      const changed = withFile(log, name, flipped(Buffer.from(log.files.get(name) ?? []), at));
      const replay = async (): Promise<number> => {
        let read = 0;
        for await (const records of readRecords(changed, scan.segments, 0, segment.last.index))
          read += [...records].length;
        return read;
      };
      if (isRead) t.equal(await replay(), segment.last.index);
      else
        await t.rejects(replay(), { code: 'DAMAGED', place: { file: name }, message: /has changed since it was read/ });
    }
  },
);

t.test('a recorded state hash that is wrong stops the replay', async (t) => {
  const lie = ({ segment, stateHashes }: PassedSegment): PassedSegment => ({
    segment,
    stateHashes: stateHashes.map((note) => ({ ...note, stateHash: '00'.repeat(32) })),
  });
  t.equal((await replayed(lie)).replay, null);
});

t.test('what was replayed does not go with a log that ends elsewhere, or with another one', async (t) => {
  const { replay, scan } = await replayed();
  if (replay === null) throw new Error('It was replayed');
  const { last } = scan;
  const further: Partial<LogScan['last']>[] = [{ index: last.index + 1 }, { seq: last.seq + 1 }];
  for (const more of further) t.equal(matchesScan(replay, { ...scan, last: { ...last, ...more } }), false);
  t.equal(matchesScan(replay, { ...scan, epoch: Buffer.alloc(8, 7) }), false);
});

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  return bytes;
}
