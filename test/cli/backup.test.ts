import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { backupCommand, restoreCommand, upgradeCommand } from '../../src/cli/backup.js';
import { keysCommand } from '../../src/cli/keys.js';
import { runCommand } from '../../src/cli/run.js';
import { nodeDiskAt, openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { MANIFEST_NAME, requireManifest } from '../../src/persistence/format/manifest.js';
import type { Disk } from '../../src/persistence/disk/disk.js';
import { TradeFiles } from '../../src/persistence/trades/trade-files.js';
import { JsonStore } from '../../src/persistence/disk/json-store.js';
import { systemClock } from '../../src/system/clock.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { LogProcess, silent } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';

const seed = Number(process.env.QUOTEBOOK_SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`QUOTEBOOK_SEED=${seed}`);

async function run(...words: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand(words, [backupCommand, restoreCommand, upgradeCommand, keysCommand], '1.2.3', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment: {},
    readText: () => Promise.reject(Object.assign(new Error('missing'), { code: 'ENOENT' })),
  });
  return { code, out, err };
}

const newDirectory = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'quotebook-backup-'));

interface Writer {
  /** By record: the state hash that the running engine had after it. */
  readonly hashes: ReadonlyMap<number, string>;
  readonly process: LogProcess;
  /** Resolves once so many further records are durable. */
  written(records: number): Promise<void>;
  stop(): Promise<void>;
}

/** A process that writes one group after another; its segments and snapshots come and go within a few groups. */
async function startWriting(directory: string): Promise<Writer> {
  const disk = await openNodeDisk(directory);
  const random = new SeededRandom(seed);
  const running = await LogProcess.start({ boot: () => disk }, systemClock, random, {
    segmentBytes: 64 << 10,
    snapshotEveryRecords: 400,
    retainLogBytes: 128 << 10,
  });
  const { engine, journal, snapshotter } = running.log;
  const workload = new Workload(random);
  const hashes = new Map<number, string>();
  const store = await JsonStore.open(disk, 'budgets.jsonl', {
    maxBytes: 16 << 10,
    logger: silent,
    onFatal: (error) => {
      throw error;
    },
    isExpected: false,
    acceptMissing: false,
  });
  await running.log.noteFile('budgets.jsonl');
  const state = { isStopped: false };
  const writing = (async () => {
    while (!state.isStopped) {
      for (let records = random.between(1, 6); records > 0; records -= 1) {
        workload.submitNext(running);
        hashes.set(engine.index, engine.stateHash());
      }
      await Promise.all([journal.flush(), store.put(`key ${engine.index % 7}`, engine.index)]);
    }
  })();
  return {
    hashes,
    process: running,
    async written(records) {
      const wanted = engine.index + records;
      while (engine.index < wanted) await new Promise((resolve) => setImmediate(resolve));
    },
    async stop() {
      state.isStopped = true;
      await writing;
      await snapshotter.take();
      await store.close();
      await running.log.close();
    },
  };
}

await t.test('a backup taken under load has the state that the engine had at its event', async (t) => {
  const parent = await newDirectory();
  const dataDir = path.join(parent, 'data');
  await run('keys', 'create', '--data-dir', dataDir);
  const writer = await startWriting(path.join(dataDir, 'local'));
  let last = -1;
  for (let round = 1; round <= 4; round += 1) {
    await writer.written(300);
    const target = path.join(parent, `backup-${round}`);
    const backup = await run('backup', target, '--data-dir', dataDir);
    t.equal(backup.code, 0, backup.err.join('\n'));
    const [, index = '', seq, hash] =
      /^local record (\d+) event (\d+) stateHash (\w+)$/.exec(backup.out[0] ?? '') ?? [];
    t.ok(Number(index) > last, `record ${index} is newer than that of the backup before`);
    last = Number(index);
    t.equal(hash, writer.hashes.get(Number(index)), `the engine's state after record ${index}`);
    const restored = path.join(parent, `restored-${round}`);
    const { code, out, err } = await run('restore', target, '--data-dir', restored);
    t.equal(code, 0, err.join('\n'));
    t.strictSame(out, [`local record ${index} event ${seq} stateHash ${hash}`]);
    const disk = nodeDiskAt(path.join(restored, 'local'));
    const continued = await LogProcess.start({ boot: () => disk }, systemClock, new SeededRandom(seed));
    const { engine, epoch } = continued.log;
    t.strictSame([engine.index, engine.seq, engine.stateHash()], [Number(index), Number(seq), hash]);
    t.not(epoch, writer.process.log.epoch, 'clients take a snapshot');
    new Workload(new SeededRandom(seed)).submitNext(continued);
    await continued.log.journal.flush();
    t.equal(engine.index, Number(index) + 1, 'a service goes on with it');
    await continued.log.close();
    for (const file of ['keys.json', 'keys.secret']) {
      t.strictSame(await readFile(path.join(restored, file)), await readFile(path.join(dataDir, file)), file);
    }
  }
  await writer.stop();
  t.strictSame(writer.process.fatal, []);
  await rm(parent, { recursive: true });
});

/** A backup of a closed log, and where it is from. */
async function madeBackup(): Promise<{ parent: string; dataDir: string; target: string }> {
  const parent = await newDirectory();
  const [dataDir, target] = [path.join(parent, 'data'), path.join(parent, 'backup')];
  const writer = await startWriting(path.join(dataDir, 'local'));
  await writer.written(100);
  await writer.stop();
  const { code, err } = await run('backup', target, '--data-dir', dataDir);
  if (code !== 0) throw new Error(err.join('\n'));
  return { parent, dataDir, target };
}

await t.test('files of trades come along, and those of a restored log go on', async (t) => {
  const { parent, dataDir } = await madeBackup();
  const source = nodeDiskAt(path.join(dataDir, 'local'));
  const { engine, epoch, end } = await (async () => {
    const running = await LogProcess.start({ boot: () => source }, systemClock, new SeededRandom(seed));
    const { engine } = running.log;
    const { seq, tsMs } = engine;
    await running.log.close();
    return { engine, epoch: (await requireManifest(source)).epoch, end: { seq, tsMs } };
  })();
  const open = (disk: Disk): Promise<TradeFiles> => {
    const bounds = { fileBytes: 1 << 20, fileMs: 1_000, keptMs: 1_000_000 };
    return TradeFiles.open(disk, { epoch, end, logger: silent, ...bounds });
  };
  const files = await open(source);
  await files.skipTo({ seq: 0, tsMs: 0 });
  const events = [{ type: 'TRADES_UNDONE' as const, seq: end.seq, cause: null, blockNumber: 7 }];
  await files.append({ events, through: end });
  await files.close();
  await mkdir(path.join(dataDir, 'local', 'trades-00000009.log'));
  const [target, restored] = [path.join(parent, 'with-trades'), path.join(parent, 'restored')];
  const made = await run('backup', target, '--data-dir', dataDir);
  t.equal(made.code, 0, `one that cannot be read is left out: ${made.err.join('\n')}`);
  t.equal((await run('restore', target, '--data-dir', restored)).code, 0);
  const copy = nodeDiskAt(path.join(restored, 'local'));
  const continued = await LogProcess.start({ boot: () => copy }, systemClock, new SeededRandom(seed));
  t.equal(continued.log.engine.seq, engine.seq);
  const copied = await open(copy);
  t.strictSame(copied.through, end, 'they are of the same log');
  const parts = [];
  for await (const part of copied.read(() => false)) parts.push(part);
  t.strictSame(parts, [{ type: 'EVENTS', events }]);
  await copied.close();
  await continued.log.close();
  await rm(parent, { recursive: true });
});

await t.test('backup and restore refuse a directory that is not empty, and one without what they need', async (t) => {
  const { parent, dataDir, target } = await madeBackup();
  const [empty, used, unlike] = [path.join(parent, 'empty'), path.join(parent, 'used'), path.join(parent, 'unlike')];
  await mkdir(empty);
  await cp(dataDir, used, { recursive: true });
  for (const [words, says] of [
    [['backup', target, '--data-dir', dataDir], /backup is not empty: it has /],
    [['backup', unlike, '--data-dir', empty], /empty holds no log/],
    [['restore', target, '--data-dir', used], /used is not empty/],
    [['restore', empty, '--data-dir', unlike], /holds no whole backup/],
  ] as const) {
    const before = await readdir(parent);
    const { code, err } = await run(...words);
    t.equal(code, 1, words.join(' '));
    t.match(err.join('\n'), says);
    t.strictSame(await readdir(parent), before, 'nothing was made');
  }
  for (const words of [['backup'], ['restore', 'a', 'b'], ['upgrade'], ['upgrade', 'mend']]) {
    t.equal((await run(...words)).code, 2, words.join(' '));
  }
  await rm(parent, { recursive: true });
});

await t.test('restore refuses a changed backup, and a start refuses what it leaves', async (t) => {
  const { parent, target } = await madeBackup();
  const [segment = ''] = (await readdir(path.join(target, 'local'))).filter((name) => name.startsWith('segment-'));
  const file = path.join(target, 'local', segment);
  const bytes = await readFile(file);
  bytes[300] = (bytes[300] ?? 0) ^ 1;
  await writeFile(file, bytes);
  const restored = path.join(parent, 'restored');
  const { code, err } = await run('restore', target, '--data-dir', restored);
  t.equal(code, 1);
  t.match(err.join('\n'), /its checksum differs/);
  const names: string[] = await readdir(path.join(restored, 'local'));
  t.notOk(names.includes(MANIFEST_NAME));
  const manifest = path.join(target, 'backup.json');
  const content = await readFile(manifest, 'utf8');
  await writeFile(manifest, content.replace('"local/', '"../local/'));
  t.match((await run('restore', target, '--data-dir', path.join(parent, 'other'))).err.join('\n'), /names a file/);
  await rm(parent, { recursive: true });
});

await t.test('a damaged log is not backed up', async (t) => {
  const { parent, dataDir } = await madeBackup();
  const [segment = ''] = (await readdir(path.join(dataDir, 'local'))).filter((name) => name.startsWith('segment-'));
  const file = path.join(dataDir, 'local', segment);
  const bytes = await readFile(file);
  bytes[300] = (bytes[300] ?? 0) ^ 1;
  await writeFile(file, bytes);
  const target = path.join(parent, 'second');
  const { code, err } = await run('backup', target, '--data-dir', dataDir);
  t.equal(code, 1);
  t.match(err.join('\n'), /segment-\d+\.log, offset \d+/);
  t.notOk((await readdir(target)).includes('backup.json'));
  await rm(parent, { recursive: true });
});

const GOLDEN = new URL('../../../test/persistence/golden/', import.meta.url);

await t.test(
  'upgrade check reads older formats, says what a start changes, and names what it cannot read',
  async (t) => {
    const { parent, dataDir, target } = await madeBackup();
    for (const directory of [dataDir, target]) {
      const { code, out } = await run('upgrade', 'check', '--data-dir', directory);
      t.equal(code, 0, out.join('\n'));
      t.match(out.at(-1), /can go on with it, and writes no newer format/);
    }
    const old = path.join(parent, 'old');
    await cp(new URL('1/', GOLDEN), path.join(old, 'arbitrum'), { recursive: true });
    const older = await run('upgrade', 'check', '--data-dir', old);
    t.equal(older.code, 0, older.out.join('\n'));
    t.match(older.out.join('\n'), /log: format 1 becomes \d+[^]*An older version then needs a backup from before/);
    const stamp = path.join(dataDir, 'local', MANIFEST_NAME);
    await writeFile(stamp, (await readFile(stamp, 'utf8')).replace(/"format": \d+/, '"format": 99'));
    const newer = await run('upgrade', 'check', '--json', '--data-dir', dataDir);
    t.equal(newer.code, 1);
    t.match(JSON.parse(newer.out[0] ?? ''), { ok: false, problems: [/stamp\.json has format 99/] });
    await t.rejects(requireManifest(nodeDiskAt(path.join(dataDir, 'local'))), { code: 'NEWER_FORMAT' });
    await rm(parent, { recursive: true });
  },
);

await t.test('upgrade check names the files of keys that a start refuses', async (t) => {
  const { parent, dataDir } = await madeBackup();
  await run('keys', 'create', '--data-dir', dataDir);
  const check = async () => (await run('upgrade', 'check', '--data-dir', dataDir)).out.join('\n');
  const secret = await readFile(path.join(dataDir, 'keys.secret'));
  t.match(await check(), /can go on with it/);
  for (const [file, content, problem] of [
    ['proofs.json', '{"version":2,"proofs":[]}', /proofs\.json is not a list of proofs that this version reads/],
    ['self-keys.json', '{', /self-keys\.json is not JSON/],
    ['keys.secret', 'ab', /keys\.secret is damaged/],
    ['keys.secret', null, /keys\.secret is missing, without it no key of keys\.json can be verified/],
  ] as const) {
    const place = path.join(dataDir, file);
    await (content === null ? rm(place) : writeFile(place, content));
    const words = await check();
    t.match(words, problem);
    t.match(words, /This version cannot go on with it/);
    const { code, err } = await run('keys', 'list', '--data-dir', dataDir);
    t.equal(code, 1, 'as whatever opens the keys says');
    t.match(err.join('\n'), problem);
    if (file === 'keys.secret') await writeFile(place, secret);
    else await rm(place);
  }
  await rm(path.join(dataDir, 'keys.json'));
  t.match(await check(), /keys\.json is missing beside keys\.secret/);
  await rm(parent, { recursive: true });
});

await t.test('backup and restore refuse a flag for JSON, which they do not print', async (t) => {
  for (const command of ['backup', 'restore']) {
    const { code, out, err } = await run(command, 'somewhere', '--json');
    t.strictSame([code, out], [2, []]);
    t.match(err[0], 'unknown flag --json');
  }
});
