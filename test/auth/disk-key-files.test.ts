import fsPromises, {
  chown,
  mkdir,
  readdir,
  readlink,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';

const PATIENCE_MS = 60_000;
const NOBODY = 65_534;

t.test('what is updated can be read, and its stamp changes', async (t) => {
  const files = new DiskKeyFiles(join(t.testdir(), 'made', 'when absent'), systemClock, PATIENCE_MS, lockFile);
  t.equal(await files.read('a'), null);
  t.equal(await files.stamp('a'), null);
  t.equal(await files.update('a', (current) => `${String(current)} one`), 'null one');
  const stamp = await files.stamp('a');
  t.equal(await files.update('a', (current) => `${String(current)} two`), 'null one two');
  t.equal(await files.read('a'), 'null one two');
  t.not(await files.stamp('a'), stamp);
  t.equal(await files.stamp('a'), await files.stamp('a'), 'and stays while nobody updates it');
});

t.test('reports a directory in place of a file by its name', async (t) => {
  const files = new DiskKeyFiles(t.testdir({ 'keys.json': {} }), systemClock, PATIENCE_MS, lockFile);
  await t.rejects(files.read('keys.json'), { code: 'EISDIR', message: /^keys\.json: EISDIR/ });
});

t.test('a stamp tells contents of one length apart, also where they are of one time or in one place', async (t) => {
  const directory = t.testdir({ a: 'one', b: 'two' });
  const path = join(directory, 'a');
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
  const seconds = (await stat(path)).mtimeMs / 1000;
  await utimes(path, seconds, seconds);
  await utimes(join(directory, 'b'), seconds, seconds);
  const stamp = await files.stamp('a');
  await utimes(path, seconds, seconds + 1);
  t.not(await files.stamp('a'), stamp, 'in one place');
  await rename(join(directory, 'b'), path);
  t.not(await files.stamp('a'), stamp, 'of one time');
});

t.test('an update resolves once it is on the disk, and replaces the old file no earlier', async (t) => {
  const directory = t.testdir({ a: 'old' });
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
  const { open, rename } = fsPromises;
  const done: string[] = [];
  const told = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    done.push(what);
    const result = await call();
    done.push(`${what}: done`);
    return result;
  };
  Object.assign(fsPromises, {
    async open(...given: Parameters<typeof open>) {
      const handle = await open(...given);
      const name = basename(String(given[0]));
      const write = handle.writeFile.bind(handle);
      const sync = handle.sync.bind(handle);
      return Object.assign(handle, {
        writeFile: (text: string) => told(`write ${name}`, () => write(text)),
        sync: () => told(`sync ${name}`, sync),
      });
    },
    rename: (...given: Parameters<typeof rename>) => told('rename', () => rename(...given)),
  });
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(fsPromises, { open, rename });
    syncBuiltinESMExports();
  });
  await files.update('a', () => 'new');
  const steps = ['write a.new', 'sync a.new', 'rename', `sync ${basename(directory)}`];
  t.strictSame(
    done,
    steps.flatMap((step) => [step, `${step}: done`]),
  );
});

t.test('what cannot be read is not taken for what is not there', async (t) => {
  const directory = t.testdir({ a: {} });
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
  await t.rejects(files.read('a'), { code: 'EISDIR' });
  let isAsked = false;
  await t.rejects(
    files.update('a', () => {
      isAsked = true;
      return 'only the newest key';
    }),
    { code: 'EISDIR' },
  );
  t.notOk(isAsked);
});

t.test('only the owner may read the files, and nothing is left beside them', async (t) => {
  const directory = t.testdir();
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
  await files.update('a', () => 'secret');
  t.equal((await stat(join(directory, 'a'))).mode & 0o777, 0o600);
  t.strictSame(await readdir(directory), ['a']);
});

t.test('behind a link the file is updated, and the link stays', async (t) => {
  const directory = t.testdir({ shared: { a: 'old' }, one: {}, other: {} });
  for (const name of ['one', 'other']) await symlink('../shared/a', join(directory, name, 'a'));
  const [one, other] = ['one', 'other'].map(
    (name) => new DiskKeyFiles(join(directory, name), systemClock, PATIENCE_MS, lockFile),
  );
  await one?.update('a', (current) => `${String(current)}er`);
  t.equal(await other?.read('a'), 'older', 'who reads the same file hears of it');
  t.equal(await readlink(join(directory, 'one', 'a')), '../shared/a');
  t.strictSame(await readdir(join(directory, 'shared')), ['a'], 'nothing is left beside it');
});

t.test(
  'what root updates stays the file of whom it was of, and what is new is of its directory’s owner',
  { skip: process.geteuid?.() !== 0 && 'only root gives files away' },
  async (t) => {
    const directory = t.testdir({ a: 'old' });
    await chown(join(directory, 'a'), NOBODY, NOBODY);
    await chown(directory, NOBODY - 1, NOBODY - 1);
    const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
    await files.update('a', () => 'new');
    await files.update('b', () => 'new');
    t.match(await stat(join(directory, 'a')), { uid: NOBODY, gid: NOBODY });
    t.match(await stat(join(directory, 'b')), { uid: NOBODY - 1, gid: NOBODY - 1 });
  },
);

t.test('an update that fails leaves the old content and the way free', async (t) => {
  const directory = t.testdir({ a: 'old' });
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile);
  await t.rejects(
    files.update('a', () => {
      throw new Error('no');
    }),
    /^no$/,
  );
  t.equal(await files.read('a'), 'old');
  t.strictSame(await readdir(directory), ['a'], 'nothing is left beside it');
  t.equal(await files.update('a', (current) => `${String(current)}er`), 'older');
});

t.test('updates from several sides at once are all there', async (t) => {
  const directory = t.testdir();
  const sides = Array.from({ length: 8 }, () => new DiskKeyFiles(directory, systemClock, PATIENCE_MS, lockFile));
  await Promise.all(sides.map((files, index) => files.update('a', (current) => `${current ?? ''} ${index}`)));
  const content = await new DiskKeyFiles(directory, systemClock, 0, lockFile).read('a');
  t.strictSame(content?.trim().split(' ').sort(), ['0', '1', '2', '3', '4', '5', '6', '7']);
});

t.test('each update gives its lock back, one that fails too', async (t) => {
  const [taken, given]: [string[], string[]] = [[], []];
  const directory = t.testdir();
  const files = new DiskKeyFiles(directory, systemClock, PATIENCE_MS, async (path) => {
    taken.push(path);
    const lock = await lockFile(path);
    return (
      lock && {
        async release() {
          given.push(path);
          await lock.release();
        },
      }
    );
  });
  await files.update('a', () => 'one');
  await t.rejects(
    files.update('a', () => {
      throw new Error('no');
    }),
  );
  t.strictSame(given, taken);
});

t.test("what a process left that died while it wrote is in nobody's way", async (t) => {
  const directory = t.testdir({ a: 'old', 'a.new': 'torn, and longer than what comes' });
  const files = new DiskKeyFiles(directory, systemClock, 0, lockFile);
  t.equal(await files.update('a', (current) => `${String(current)}er`), 'older');
  t.equal(await files.read('a'), 'older');
  t.strictSame(await readdir(directory), ['a']);
});

t.test('reports a process that writes for too long', async (t) => {
  const directory = t.testdir();
  const held = await lockFile(join(directory, 'a.new'));
  const clock = new ManualClock();
  const files = new DiskKeyFiles(directory, clock, 1000, lockFile);
  const update = files.update('a', () => 'new');
  const ended = update.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, new Promise((resolve) => setImmediate(resolve, false))]))) clock.advance(50);
  await t.rejects(update, /a\.new is in the way/);
  t.equal(await files.read('a'), null);
  await held?.release();
  t.equal(await files.update('a', () => 'new'), 'new');
});

t.test('a directory that cannot be written is an error, not a silence', async (t) => {
  const directory = t.testdir();
  await mkdir(join(directory, 'a.new'));
  const files = new DiskKeyFiles(directory, systemClock, 0, lockFile);
  await t.rejects(files.update('a', () => 'x'));
  await writeFile(join(directory, 'plain'), '');
  const inFile = new DiskKeyFiles(join(directory, 'plain'), systemClock, 0, lockFile);
  await t.rejects(inFile.update('a', () => 'x'));
});

t.test('a store on disk is there again for the next process', async (t) => {
  const files = new DiskKeyFiles(t.testdir(), systemClock, PATIENCE_MS, lockFile);
  const options = { files, clock: systemClock, random: systemRandom, cacheSize: 10 };
  const { id, key } = await (await KeyStore.open(options)).create('paid', 'a maker');
  t.strictSame((await KeyStore.open(options)).verify(key), { id, tier: 'paid' });
});
