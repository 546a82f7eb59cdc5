import t from 'tap';
import {
  segmentName,
  segmentNumbers,
  snapshotIndexes,
  snapshotName,
} from '../../../src/persistence/format/file-names.js';
import { endOfContent, FrameType, readFrame } from '../../../src/persistence/format/frame.js';
import { HEADER_BYTES, readSnapshotHeader } from '../../../src/persistence/format/header.js';
import { type LogScan, scanLog } from '../../../src/persistence/log/log-scanner.js';
import { madeLog } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';

/** A log of several segments, with no snapshot that could tell how far it went. */
const log = await madeLog(24 << 10, true, { segmentBytes: 4 << 10, stateHashEveryRecords: 10 });
const whole = await scanLog(new MemoryDisk(log.files), log.epoch);
const used = whole.segments.length;
const MIDDLE = 3;

const bytesOf = (number: number): Buffer => Buffer.from(log.files.get(segmentName(number)) ?? []);
const zeros = (number: number): Buffer => Buffer.alloc(bytesOf(number).length);

/** The log with other bytes in some segments; null: without that segment. */
function scan(changes: Readonly<Record<number, Buffer | null>>): Promise<LogScan> {
  const files = new Map(log.files);
  for (const [number, bytes] of Object.entries(changes)) {
    if (bytes === null) files.delete(segmentName(Number(number)));
    else files.set(segmentName(Number(number)), bytes);
  }
  return scanLog(new MemoryDisk(files), log.epoch);
}

t.ok(used > MIDDLE + 2, `${used} segments`);
t.strictSame(
  whole.segments.map(({ number }) => number),
  segmentNumbers([...log.files.keys()]).slice(0, used),
);

t.test('a segment that is missing in the middle is named', async (t) => {
  await t.rejects(scan({ [MIDDLE]: null }), {
    code: 'DAMAGED',
    message: new RegExp(`${segmentName(MIDDLE)} behind it is missing`),
  });
});

t.test('a segment of zeros in the middle is no end of the log', async (t) => {
  for (const number of [1, MIDDLE, used - 1]) {
    await t.rejects(scan({ [number]: zeros(number) }), { code: 'DAMAGED' }, segmentName(number));
  }
});

t.test('two segments that changed places show', async (t) => {
  await t.rejects(scan({ [MIDDLE]: bytesOf(MIDDLE + 1), [MIDDLE + 1]: bytesOf(MIDDLE) }), {
    code: 'DAMAGED',
    message: new RegExp(`it is segment ${MIDDLE + 1} by its header`),
  });
});

t.test('a segment whose last group is gone shows by what the next one follows on', async (t) => {
  const shorter = bytesOf(MIDDLE).fill(0, lastGroupAt(MIDDLE));
  await t.rejects(scan({ [MIDDLE]: shorter }), {
    code: 'DAMAGED',
    message: /^segment-0*4.log, offset 0, .*its header follows on record/,
  });
});

t.test('with all before it dropped, the first segment has to be there whole', async (t) => {
  const dropped = { 1: null, 2: null };
  const rest = await scan(dropped);
  t.equal(rest.last.index, whole.last.index);
  const before = whole.segments[1]?.last;
  t.ok(
    before && rest.chains.get(before.group)?.equals(before.chain),
    'a snapshot of just what lay before is held to it',
  );
  await t.rejects(scan({ ...dropped, [MIDDLE]: zeros(MIDDLE) }), { code: 'DAMAGED' });
  // Also where there is nothing behind it that could tell.
  const others = whole.segments.map(({ number }) => [number, null] as const);
  await t.rejects(scan({ ...Object.fromEntries(others), [used]: zeros(used) }), {
    code: 'DAMAGED',
    message: /holds nothing/,
  });
  const headless = bytesOf(MIDDLE);
  headless[0] = (headless[0] ?? 0) ^ 1;
  await t.rejects(scan({ ...dropped, [MIDDLE]: headless }), { code: 'DAMAGED', message: /CRC.*was dropped/ });
});

t.test('where no segment has a whole group, all of them are empty', async (t) => {
  const disk = new MemoryDisk([[segmentName(1), zeros(1)]]);
  t.match(await scanLog(disk, log.epoch), { segments: [], emptySegments: [1], torn: null });
});

t.test('each segment comes with its own recorded state hashes', async (t) => {
  const told: unknown[] = [];
  await scanLog(new MemoryDisk(log.files), log.epoch, ({ stateHashes }) => told.push(...stateHashes));
  t.ok(told.length > 1);
  t.strictSame(told, whole.stateHashes);
});

t.test('the scan checks where a snapshot of the directory says to end, if its header can be read', async (t) => {
  const { epoch, files } = await madeLog(24 << 10, true, { snapshotEveryRecords: 40 });
  const snapshots = snapshotIndexes([...files.keys()]).map(snapshotName);
  t.ok(snapshots.length > 0, `${snapshots.length} snapshots`);
  const read = snapshots.map((name) => {
    const header = readSnapshotHeader((files.get(name) ?? Buffer.alloc(0)).subarray(0, HEADER_BYTES));
    if (typeof header === 'string') throw new Error(header);
    return header.header;
  });
  const chainsOf = async (disk: MemoryDisk) => [...(await scanLog(disk, epoch)).chains];
  t.strictSame(
    await chainsOf(new MemoryDisk(files)),
    read.map(({ group, chain }) => [group, Buffer.from(chain)]),
  );
  const headless = new Map(files).set(snapshots[0] ?? '', Buffer.alloc(HEADER_BYTES));
  t.strictSame(
    (await chainsOf(new MemoryDisk(headless))).map(([group]) => group),
    read.slice(1).map(({ group }) => group),
  );
});

t.test('the header of a segment that was begun says that all before it was durable', async (t) => {
  const rotten = bytesOf(MIDDLE);
  const at = lastGroupAt(MIDDLE) + 20;
  rotten[at] = (rotten[at] ?? 0) ^ 1;
  // Of the next one there is the header and no whole group, and nothing behind it.
  const next = bytesOf(MIDDLE + 1);
  const header = readFrame(next, 0);
  if (typeof header === 'string') throw new Error(header);
  next.fill(0, header.end + 5);
  const rest = Object.fromEntries(
    segmentNumbers([...log.files.keys()])
      .filter((number) => number > MIDDLE + 1)
      .map((number) => [number, null]),
  );
  await t.rejects(scan({ ...rest, [MIDDLE]: rotten, [MIDDLE + 1]: next }), {
    code: 'DAMAGED',
    place: { file: segmentName(MIDDLE) },
  });
  // And without damage there, what was begun is a torn tail, with its header or without.
  const headless = Buffer.from(next).fill(0, 0, 5);
  for (const begun of [next, headless]) {
    const { torn, segments, emptySegments } = await scan({ ...rest, [MIDDLE + 1]: begun });
    t.match(torn, { number: MIDDLE + 1, offset: 0, bytes: endOfContent(begun, 0) });
    t.equal(segments.at(-1)?.number, MIDDLE);
    t.strictSame(emptySegments, [MIDDLE + 1]);
  }
});

/** Where the last group of a full segment begins: behind the last COMMIT but one. */
function lastGroupAt(number: number): number {
  const bytes = bytesOf(number);
  let [before, last] = [0, 0];
  for (let at = 0; ;) {
    const frame = readFrame(bytes, at);
    if (typeof frame === 'string') return before;
    at = frame.end;
    if (frame.type === FrameType.commit) [before, last] = [last, at];
  }
}
