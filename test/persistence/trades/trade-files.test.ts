import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import type { Disk, Logger } from '../../../src/persistence/disk/disk.js';
import { openNodeDisk } from '../../../src/persistence/disk/node-disk.js';
import {
  TradeFiles,
  type TradeFilesOptions,
  type TradeLogEvent,
  type TradePart,
} from '../../../src/persistence/trades/trade-files.js';
import { blockHashOf, MAKER, originAt, POOL, quoteIdOf, samplePool, TAKER } from '../../engine/samples.js';

const SECOND = 1_000;

/** Event `seq` is of second `seq`, of one of two pools; each seventh undoes the block before. */
function eventAt(seq: number, branch = 0): TradeLogEvent {
  if (seq % 7 === 0) return { type: 'TRADES_UNDONE', seq, cause: null, blockNumber: seq - 2 };
  const trade = {
    pool: seq % 2 === 0 ? POOL : samplePool(1),
    quoteId: quoteIdOf(seq),
    provider: MAKER,
    taker: TAKER,
    price: 5n * 10n ** 16n,
    size: BigInt(seq),
    fee: 3n,
    isBuy: seq % 3 === 0,
    time: seq,
    blockHash: blockHashOf(seq, branch),
  };
  return { type: 'TRADE_RECORDED', seq, cause: { chain: 'settlement', ...originAt(seq) }, trade };
}

const pointAt = (seq: number) => ({ seq, tsMs: seq * SECOND });
const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

interface Directory {
  readonly path: string;
  readonly disk: Disk;
  readonly lines: string[];
  /** A process that finds the log to end with that event. */
  open(end: number, options?: Partial<TradeFilesOptions>): Promise<TradeFiles>;
  files(): Promise<string[]>;
}

async function newDirectory(t: { teardown(end: () => Promise<void>): void }): Promise<Directory> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-trades-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const disk = await openNodeDisk(directory);
  const lines: string[] = [];
  const note = (_: object, message: string): void => void lines.push(message);
  const logger: Logger = { info: note, warn: note, error: note };
  return {
    path: directory,
    disk,
    lines,
    open: (end, options) =>
      TradeFiles.open(disk, {
        epoch: Buffer.alloc(8, 1),
        end: pointAt(end),
        fileBytes: 1 << 20,
        fileMs: 1000 * SECOND,
        keptMs: 10_000 * SECOND,
        logger,
        ...options,
      }),
    files: async () => (await readdir(directory)).sort(),
  };
}

/** Writes the events, three in a batch. */
async function write(files: TradeFiles, first: number, last: number, branch = 0): Promise<void> {
  if (files.through === null) await files.skipTo(pointAt(first - 1));
  for (let from = first; from <= last; from += 3) {
    const events = range(from, Math.min(from + 2, last)).map((seq) => eventAt(seq, branch));
    await files.append({ events, through: pointAt(Math.min(from + 2, last)) });
  }
}

async function readAll(files: TradeFiles, isInLog: (afterSeq: number) => boolean = () => false) {
  const parts: TradePart[] = [];
  for await (const part of files.read(isInLog)) parts.push(part);
  const events = parts.flatMap((part) => (part.type === 'EVENTS' ? part.events : []));
  const gaps = parts.flatMap((part) => (part.type === 'GAP' ? part.throughSeconds : []));
  return { events, seqs: events.map(({ seq }) => seq), gaps };
}

async function damage(directory: Directory, name: string, at: number): Promise<void> {
  const file = path.join(directory.path, name);
  const bytes = await readFile(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  await writeFile(file, bytes);
}

t.test('what was written is there for the next process, which goes on in the same file', async (t) => {
  const directory = await newDirectory(t);
  const first = await directory.open(0);
  t.equal(first.through, null, 'nothing is known yet');
  await write(first, 1, 10);
  await first.close();
  const second = await directory.open(12);
  t.strictSame(second.through, pointAt(10));
  const events = range(1, 10).map((seq) => eventAt(seq));
  t.strictSame(await readAll(second), { events, seqs: range(1, 10), gaps: [] });
  await write(second, 11, 20);
  await second.close();
  const { seqs, gaps } = await readAll(await directory.open(20));
  t.strictSame([seqs, gaps], [range(1, 20), []]);
  t.strictSame(await directory.files(), ['trades-00000001.log']);
  t.strictSame(directory.lines, []);
});

t.test('files end by their size and by their age, and are read in order', async (t) => {
  for (const limits of [{ fileBytes: 400 }, { fileMs: 6 * SECOND }]) {
    const directory = await newDirectory(t);
    const files = await directory.open(0, limits);
    await write(files, 1, 60);
    t.ok((await directory.files()).length > 5);
    t.strictSame((await readAll(await directory.open(60, limits))).seqs, range(1, 60));
  }
});

t.test('a torn tail is left out, whatever its length, and written anew behind it', async (t) => {
  const directory = await newDirectory(t);
  const writing = await directory.open(0);
  await write(writing, 1, 9);
  await writing.close();
  const file = path.join(directory.path, 'trades-00000001.log');
  const { length } = await readFile(file);
  const kept = (await directory.open(9)).through;
  t.strictSame(kept, pointAt(9));
  for (const bytes of [length - 1, length - 200]) {
    await truncate(file, bytes);
    const files = await directory.open(12);
    t.strictSame(files.through, pointAt(6));
    t.strictSame(directory.lines.splice(0), ['trade file torn']);
    await files.close();
  }
  const files = await directory.open(12);
  await write(files, 7, 12);
  await files.close();
  await appendFile(path.join(directory.path, 'trades-00000002.log'), Buffer.alloc(40));
  const { seqs, gaps } = await readAll(await directory.open(12));
  t.strictSame([seqs, gaps], [range(1, 12), []]);
});

t.test('events that the log has lost are cut off at once, and their numbers are those of others', async (t) => {
  const directory = await newDirectory(t);
  const before = await directory.open(0, { fileBytes: 400 });
  await write(before, 1, 30);
  await before.close();
  const cut = await directory.open(10);
  t.strictSame([cut.through, (await readAll(cut)).seqs], [pointAt(10), range(1, 10)]);
  // Killed before it wrote anything: its log has gone on.
  await cut.close();
  const files = await directory.open(24);
  t.strictSame(files.through, pointAt(10), 'what was lost does not come back');
  await write(files, 11, 24, 1);
  const { events, gaps } = await readAll(await directory.open(24));
  t.strictSame(gaps, []);
  t.strictSame(
    events,
    range(1, 24).map((seq) => eventAt(seq, seq > 10 ? 1 : 0)),
  );
});

t.test('a damaged file is left for the log where this has its events, and everything behind it', async (t) => {
  const directory = await newDirectory(t);
  const writing = await directory.open(0, { fileBytes: 400 });
  await write(writing, 1, 30);
  await writing.close();
  await damage(directory, 'trades-00000002.log', 300);
  const files = await directory.open(30, { fileBytes: 400 });
  const asked: number[] = [];
  const { seqs, gaps } = await readAll(files, (afterSeq) => asked.push(afterSeq) > 0);
  const [last = 0] = asked;
  t.ok(last >= 3 && last < 12, `${last} is in the second file`);
  t.strictSame([seqs, gaps, asked, files.through], [range(1, last), [], [last], pointAt(last)]);
  t.strictSame(directory.lines.splice(0), ['trade file damaged']);
  await write(files, last + 1, 30, 1);
  const { events } = await readAll(await directory.open(30));
  t.strictSame(
    events,
    range(1, 30).map((seq) => eventAt(seq, seq > last ? 1 : 0)),
    'and nothing of the old ones is read again',
  );
});

t.test('where the log has lost them, too, the reader names the gap and goes on with the later files', async (t) => {
  for (const spoil of [
    (directory: Directory) => damage(directory, 'trades-00000002.log', 300),
    (directory: Directory) => damage(directory, 'trades-00000002.log', 5),
    (directory: Directory) => rm(path.join(directory.path, 'trades-00000002.log')),
  ]) {
    const directory = await newDirectory(t);
    const writing = await directory.open(0, { fileBytes: 400 });
    await write(writing, 1, 30);
    await writing.close();
    await spoil(directory);
    const files = await directory.open(30);
    const { seqs, gaps } = await readAll(files);
    const [gap = 0] = gaps;
    const before = seqs.filter((seq) => seq <= gap);
    t.strictSame(seqs, [...range(1, before.length), ...range(gap + 1, 30)]);
    t.ok(before.length >= 3 && before.length < gap && gap < 20, 'one file at most is missing');
    t.strictSame([gaps.length, files.through], [1, pointAt(30)]);
    t.ok(directory.lines.includes('trade file damaged'));
    // As long as it is there: it may be put back from a backup.
    t.strictSame(await readAll(await directory.open(30)), { events: seqs.map((seq) => eventAt(seq)), seqs, gaps });
  }
});

t.test('whole files go when all in them is older than is kept, and the reader names what is missing', async (t) => {
  const directory = await newDirectory(t);
  const limits = { fileMs: 9 * SECOND, keptMs: 30 * SECOND };
  const files = await directory.open(0, limits);
  await write(files, 1, 90);
  const { seqs, gaps } = await readAll(await directory.open(90, limits));
  const [gap = 0] = gaps;
  t.strictSame([seqs, gaps.length], [range(gap + 1, 90), 1]);
  t.ok(gap <= 90 - 30 && gap >= 90 - 30 - 12, `those up to ${gap} are gone`);
  const later = await directory.open(500, limits);
  t.ok((await directory.files()).length <= 2, 'a start removes old files, too');
  await write(later, 91, 91);
});

t.test('files of another log, and what is no such file, are put aside', async (t) => {
  const directory = await newDirectory(t);
  const other = await directory.open(0, { epoch: Buffer.alloc(8, 2) });
  await write(other, 1, 5);
  await other.close();
  await writeFile(path.join(directory.path, 'trades-00000002.log'), '');
  const files = await directory.open(5);
  t.strictSame([files.through, await readAll(files)], [null, { events: [], seqs: [], gaps: [] }]);
  t.strictSame(directory.lines, ['trade file set aside', 'trade file set aside']);
  t.strictSame(await directory.files(), ['trades-00000001.log.broken', 'trades-00000002.log.broken']);
});

t.test('after a write or sync that failed the same batch goes into another file', async (t) => {
  for (const call of ['write', 'sync'] as const) {
    const directory = await newDirectory(t);
    let failures = 0;
    const failing: Disk = {
      ...directory.disk,
      async open(name, mode) {
        const file = await directory.disk.open(name, mode);
        const guarded = {
          name,
          read: file.read.bind(file),
          size: file.size.bind(file),
          close: file.close.bind(file),
          write: file.write.bind(file),
          sync: file.sync.bind(file),
        };
        if (call === 'sync') guarded.sync = () => (failures > 0 ? fail() : file.sync());
        else {
          guarded.write = async (bytes, position) => {
            if (failures === 0) return file.write(bytes, position);
            await file.write(bytes.subarray(0, bytes.length / 2), position);
            return fail();
          };
        }
        return guarded;
      },
      list: () => directory.disk.list(),
      rename: (...names) => directory.disk.rename(...names),
      remove: (name) => directory.disk.remove(name),
      syncDirectory: () => directory.disk.syncDirectory(),
    };
    const fail = (): Promise<never> => {
      failures -= 1;
      return Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }));
    };
    const files = await TradeFiles.open(failing, {
      epoch: Buffer.alloc(8, 1),
      end: pointAt(0),
      fileBytes: 1 << 20,
      fileMs: 1000 * SECOND,
      keptMs: 10_000 * SECOND,
      logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    await write(files, 1, 6);
    failures = 2;
    await t.rejects(files.append({ events: [eventAt(7), eventAt(8)], through: pointAt(8) }), { code: 'ENOSPC' });
    await t.rejects(files.append({ events: [eventAt(7), eventAt(8)], through: pointAt(8) }), { code: 'ENOSPC' });
    t.equal(failures, 0);
    t.strictSame(files.through, pointAt(6));
    await files.append({ events: [eventAt(7), eventAt(8)], through: pointAt(8) });
    await write(files, 9, 12);
    const { seqs, gaps } = await readAll(await directory.open(12));
    t.strictSame([seqs, gaps], [range(1, 12), []]);
  }
});
