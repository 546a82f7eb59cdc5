import assert from 'node:assert/strict';
import t from 'tap';
import { snapshotName } from '../../../src/persistence/format/file-names.js';
import { recover } from '../../../src/persistence/recovery/recovery.js';
import { readCandidate } from '../../../src/persistence/recovery/snapshot-base.js';
import { readSnapshot, writeSnapshot } from '../../../src/persistence/snapshot/snapshot-file.js';
import { newEngine, REORG_DEPTH } from '../../engine/samples.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { silent } from '../../simulation/simulated-log.js';
import { FIRST_SEGMENT, type MadeLog, madeLog, withFile } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';

/** A log in one segment, never sealed by time, with a snapshot every 25 records. */
const log = await madeLog(24 << 10, true, { snapshotEveryRecords: 25, retainLogBytes: Infinity, snapshotsKept: 2 });
const snapshots = [...log.files.keys()].filter((name) => name.endsWith('.snap')).sort();
const newest = snapshots.at(-1) ?? '';
const older = snapshots.at(-2) ?? '';
const indexOf = (name: string): number => Number(name.slice('snapshot-'.length, -'.snap'.length));
const bytesOf = (name: string): Buffer => Buffer.from(log.files.get(name) ?? []);
const last = log.ends.at(-1);

const flipped = (bytes: Buffer, at: number, bit: number): Buffer => {
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ (1 << bit);
  return changed;
};

/** Starts with this directory. */
async function start(disk: MemoryDisk, { epoch }: MadeLog = log) {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
  const { engine, snapshotIndex, passedSnapshots } = await recover(disk, epoch, REORG_DEPTH, logger);
  return { index: engine.index, stateHash: engine.stateHash(), snapshotIndex, passedSnapshots, warnings };
}

t.test('a start begins with the newest snapshot', async (t) => {
  const { index, stateHash, snapshotIndex, warnings } = await start(new MemoryDisk(log.files));
  t.strictSame({ index, stateHash }, { index: last?.index, stateHash: last?.stateHash });
  t.equal(snapshotIndex, indexOf(newest));
  t.strictSame(warnings, []);
});

t.test('with no snapshot it begins with the first record', async (t) => {
  const files = [...log.files].filter(([name]) => !name.endsWith('.snap'));
  t.match(await start(new MemoryDisk(files)), { stateHash: last?.stateHash, snapshotIndex: 0 });
});

t.test('a snapshot with any byte changed or cut off is refused', async () => {
  const bytes = bytesOf(newest);
  const random = new SeededRandom(5);
  const refused = async (content: Buffer): Promise<void> => {
    await assert.rejects(readSnapshot(withFile(log, newest, content), indexOf(newest)), { code: 'DAMAGED' });
  };
  for (let at = 0; at < bytes.length; at += 1) {
    await refused(flipped(bytes, at, random.below(8)));
    await refused(bytes.subarray(0, at));
  }
  await refused(Buffer.concat([bytes, Buffer.alloc(1)]));
});

t.test('a bad snapshot is passed over for the older one, with a warning', async (t) => {
  const bad = withFile(log, newest, flipped(bytesOf(newest), 500, 0));
  const { stateHash, snapshotIndex, passedSnapshots, warnings } = await start(bad);
  t.equal(stateHash, last?.stateHash);
  t.equal(snapshotIndex, indexOf(older));
  t.strictSame(passedSnapshots, [indexOf(newest)]);
  t.match(warnings, [/^snapshot unusable/]);
});

t.test('a whole snapshot of other content than the log tells is passed over', async (t) => {
  const { header, state } = await readSnapshot(new MemoryDisk(log.files), indexOf(newest));
  const disk = new MemoryDisk(log.files);
  disk.files.delete(newest);
  await writeSnapshot(disk, newest, log.epoch, header, { ...state, orders: state.orders.slice(1) });
  t.match(await start(disk), { stateHash: last?.stateHash, snapshotIndex: indexOf(older) });
});

t.test('a snapshot of another log is passed over', async (t) => {
  const { header, state } = await readSnapshot(new MemoryDisk(log.files), indexOf(newest));
  const disk = new MemoryDisk(log.files);
  disk.files.delete(newest);
  await writeSnapshot(disk, newest, Buffer.alloc(8, 7), header, state);
  t.match(await start(disk), { stateHash: last?.stateHash, snapshotIndex: indexOf(older) });
});

t.test('a snapshot that the log does not tell of is taken only where their chains agree', async (t) => {
  const untold = await madeLog(8 << 10, true, { stateHashEveryRecords: Infinity });
  const { engine, scan } = await recover(new MemoryDisk(untold.files), untold.epoch, REORG_DEPTH, silent);
  const { index, stateHash } = untold.ends.at(-1) ?? {};
  for (const isFork of [false, true]) {
    const chain = Buffer.from(scan.last.chain);
    // As of a copy of the directory that went another way.
    if (isFork) chain[0] = (chain[0] ?? 0) ^ 1;
    const disk = new MemoryDisk(untold.files);
    await writeSnapshot(disk, snapshotName(engine.index), untold.epoch, { ...scan.last, chain }, engine.exportState());
    const started = await start(disk, untold);
    t.match(started, { index, stateHash, snapshotIndex: isFork ? 0 : engine.index });
    t.equal(started.warnings.length, isFork ? 1 : 0);
  }
});

t.test('a log that ends before its snapshot has lost groups, and is refused', async (t) => {
  const bytes = bytesOf(FIRST_SEGMENT).subarray(0, log.ends[3]?.offset);
  await t.rejects(start(withFile(log, FIRST_SEGMENT, bytes)), {
    code: 'LOST_TAIL',
    message: /the log ends with record/,
  });
});

t.test('a log without its beginning and without a usable snapshot is refused, never an empty book', async (t) => {
  const small = await madeLog(24 << 10, true, { segmentBytes: 4 << 10, snapshotEveryRecords: 25, retainLogBytes: 0 });
  t.notOk(small.files.has(FIRST_SEGMENT), 'the first segments are dropped');
  t.match(await start(new MemoryDisk(small.files), small), { stateHash: small.ends.at(-1)?.stateHash });
  const without = [...small.files].filter(([name]) => !name.endsWith('.snap'));
  await t.rejects(start(new MemoryDisk(without), small), { code: 'NO_BASE' });
  const broken = [...small.files].map(([name, bytes]) =>
    name.endsWith('.snap') ? ([name, flipped(bytes, 100, 1)] as const) : ([name, bytes] as const),
  );
  await t.rejects(start(new MemoryDisk(broken), small), { code: 'NO_BASE', message: /no snapshot can be used/ });
  const empty = [...small.files].filter(([name]) => !name.startsWith('segment-'));
  await t.rejects(start(new MemoryDisk(empty), small), { code: 'NO_BASE', message: /its log is gone/ });
});

t.test('a snapshot from before the log that is left is of no use: records between them are gone', async (t) => {
  const keepAll = { snapshotEveryRecords: 25, retainLogBytes: Infinity, snapshotsKept: 9 };
  const whole = await madeLog(24 << 10, true, { ...keepAll, segmentBytes: 4 << 10 });
  const names = [...whole.files.keys()].sort();
  const [oldest] = names.filter((name) => name.endsWith('.snap'));
  const lastSegments = names.filter((name) => name.startsWith('segment-')).slice(-3);
  const left = [...whole.files].filter(([name]) => name === oldest || lastSegments.includes(name));
  await t.rejects(start(new MemoryDisk(left), whole), { code: 'NO_BASE', message: /the log only begins with record/ });
});

t.test('a snapshot that the disk cannot read is no bad one: the start fails with what the disk said', async (t) => {
  const disk = new MemoryDisk(log.files);
  disk.open = () => Promise.reject(Object.assign(new Error('a bad sector'), { code: 'EIO' }));
  await t.rejects(readCandidate(disk, indexOf(newest), REORG_DEPTH), { code: 'EIO' });
});

t.test('an empty engine has a snapshot too', async (t) => {
  const disk = new MemoryDisk([]);
  const point = { index: 0, seq: 0, group: 0, chain: Buffer.alloc(32) };
  const engine = newEngine();
  const { sha256, bytes } = await writeSnapshot(disk, snapshotName(0), log.epoch, point, engine.exportState());
  const read = await readSnapshot(disk, 0);
  t.strictSame(read.state, engine.exportState());
  t.strictSame({ sha256: read.sha256, bytes: read.bytes }, { sha256, bytes });
});
