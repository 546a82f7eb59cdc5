import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { platform } from 'node:process';
import t from 'tap';
import { makeDirectory, modeBeyondOwner } from '../../src/system/make-directory.js';

const modeOf = async (directory: string): Promise<number> => (await stat(directory)).mode & 0o777;

t.test('every directory that it makes is the owner’s alone', async (t) => {
  const root = t.testdir();
  const directory = path.join(root, 'a', 'b', 'c');
  await makeDirectory(directory);
  for (let at = directory; at !== root; at = path.dirname(at)) t.equal(await modeOf(at), 0o700, at);
  t.equal(await modeBeyondOwner(directory), null);
  await makeDirectory(directory);
});

t.test('one that is there stays as it is, and is named when others may enter it', async (t) => {
  const root = t.testdir({ data: {} });
  const data = path.join(root, 'data');
  await chmod(data, 0o1750);
  await symlink(data, path.join(root, 'link'));
  await makeDirectory(path.join(root, 'link'));
  t.equal(await modeOf(data), 0o750);
  t.equal(await modeBeyondOwner(data), '1750');
});

t.test('several may make the same at once', async (t) => {
  const directory = path.join(t.testdir(), 'a', 'b');
  await Promise.all(Array.from({ length: 8 }, () => makeDirectory(directory)));
  t.equal(await modeOf(directory), 0o700);
});

t.test('what stands in the way is named', async (t) => {
  const root = t.testdir({ file: 'text' });
  const file = path.join(root, 'file');
  await t.rejects(makeDirectory(file), { code: 'EEXIST', path: file });
  await t.rejects(makeDirectory(path.join(file, 'below')), { code: 'EEXIST', path: file });
  const link = path.join(root, 'dangling');
  await symlink(path.join(root, 'gone'), link);
  await t.rejects(makeDirectory(link), { code: 'EEXIST', path: link });
  await mkdir(path.join(root, 'gone'));
  await makeDirectory(link);
});

t.test(
  'below a directory in which nothing can be made it ends at once',
  { skip: platform !== 'linux' && 'there is no /proc' },
  async (t) => {
    for (const below of ['/proc/x', '/proc/x/y/z']) {
      await t.rejects(makeDirectory(below), { code: 'ENOENT', path: '/proc/x' });
    }
  },
);
