import { cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { logCommand } from '../../src/cli/log.js';
import { runCommand } from '../../src/cli/run.js';
import { logIn } from './log-fixture.js';

async function run(...words: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand(['log', ...words], [logCommand], '1.2.3', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment: {},
    readText: () => Promise.reject(new Error('nothing is read')),
  });
  return { code, out, err };
}

const root = await mkdtemp(path.join(tmpdir(), 'quotebook-log-'));
t.teardown(() => rm(root, { recursive: true }));
const newDirectory = (): Promise<string> => mkdtemp(path.join(root, 'log-'));

t.test('verify says what is there', async (t) => {
  const directory = await newDirectory();
  const { index, stateHash } = await logIn(directory, 5);
  const { code, out } = await run('verify', directory);
  t.equal(code, 0);
  t.ok(out.includes(`lastIndex ${index}`));
  t.ok(out.includes(`stateHash ${stateHash}`));
});

t.test('dump prints the records after one, each a line of JSON', async (t) => {
  const directory = await newDirectory();
  await logIn(directory, 5);
  const { code, out } = await run('dump', directory, '--after', '3');
  t.equal(code, 0);
  t.strictSame(
    out.map((line) => (JSON.parse(line) as { stamp: { index: number } }).stamp.index),
    [4, 5],
  );
});

t.test('dump prints what lies before damage, and names the place', async (t) => {
  const directory = await newDirectory();
  await logIn(directory, 5, 1);
  const segment = path.join(directory, 'segment-00000001.log');
  const bytes = await readFile(segment);
  const fourth = bytes.indexOf('"note":4');
  bytes[fourth] = 0;
  await writeFile(segment, bytes);
  const { code, out, err } = await run('dump', directory);
  t.equal(code, 1);
  t.strictSame(
    out.map((line) => (JSON.parse(line) as { stamp: { index: number } }).stamp.index),
    [1, 2, 3],
  );
  t.match(err.join(), /segment-00000001\.log, offset \d+, after record 3 \(seq 3\): the CRC is wrong/);
});

t.test('restore begins a damaged log anew with the state of a copy, and a server goes on with it', async (t) => {
  const [directory, copy] = [await newDirectory(), await newDirectory()];
  const { index, stateHash } = await logIn(directory, 5, 1);
  await cp(directory, copy, { recursive: true });
  const segment = path.join(directory, 'segment-00000001.log');
  const bytes = await readFile(segment);
  bytes[bytes.indexOf('"note":4')] = 0;
  await writeFile(segment, bytes);
  t.equal((await run('verify', directory)).code, 1);
  const { code, out } = await run('restore', directory, '--restore-from', copy);
  t.equal(code, 0);
  t.ok(out.includes(`lastIndex ${index}`) && out.includes(`stateHash ${stateHash}`));
  t.strictSame(await readFile(`${segment}.broken`), bytes);
  t.match(await logIn(directory, 3), { index: index + 3 });
  t.ok((await run('verify', directory)).out.includes(`lastIndex ${index + 3}`));
});

t.test('restore takes a snapshot file, too', async (t) => {
  const directory = await newDirectory();
  const { index } = await logIn(directory, 5);
  const snapshot = (await readdir(directory)).find((name) => name.endsWith('.snap')) ?? '';
  const { code, out } = await run('restore', directory, '--restore-from', path.join(directory, snapshot));
  t.equal(code, 0);
  t.ok(out.includes(`snapshotIndex ${index}`));
});

t.test('restore wants to know from what, and the others do not', async (t) => {
  const directory = await newDirectory();
  for (const words of [
    ['restore', directory],
    ['verify', directory, '--restore-from', directory],
  ]) {
    const { code, err } = await run(...words);
    t.equal(code, 2);
    t.match(err.join(), /`log restore` takes --restore-from/);
  }
});

t.test('a directory without a log is named, and stays as it is', async (t) => {
  const directory = await newDirectory();
  for (const action of ['verify', 'dump', 'repair']) {
    const { code, err } = await run(action, directory);
    t.equal(code, 1);
    t.match(err.join(), /holds no log/);
    t.strictSame(await readdir(directory), [], action);
  }
});

t.test('a directory that is not there is named, and not made', async (t) => {
  const parent = await newDirectory();
  const directory = path.join(parent, 'mistyped');
  for (const action of ['verify', 'dump', 'repair']) {
    const { code, err } = await run(action, directory);
    t.equal(code, 1);
    t.match(err.join(), directory);
    t.strictSame(await readdir(parent), [], action);
  }
});

t.test('what a repair that was killed had not finished is in the way of no other', async (t) => {
  const directory = await newDirectory();
  const { index } = await logIn(directory, 5);
  const segment = path.join(directory, 'segment-00000001.log');
  const torn = await readFile(segment);
  torn.write('half a group', torn.length - 100);
  await writeFile(segment, torn);
  t.equal((await run('repair', directory)).code, 0);
  const [kept = ''] = (await readdir(directory)).filter((name) => name.endsWith('.broken'));
  // Killed while it copied, before anything was cut.
  await writeFile(segment, torn);
  await rename(path.join(directory, kept), path.join(directory, `${kept}.tmp`));
  const { code, out } = await run('repair', directory);
  t.equal(code, 0);
  t.ok(out.includes('tornBytes 0') && out.includes(`lastIndex ${index}`));
  const names = await readdir(directory);
  t.ok(names.includes(kept) && !names.includes(`${kept}.tmp`), names.join());
});

t.test('damage is refused with its place', async (t) => {
  const directory = await newDirectory();
  await logIn(directory, 5);
  const [segment] = (await readdir(directory)).filter((name) => name.startsWith('segment-'));
  const file = path.join(directory, segment ?? '');
  const bytes = await readFile(file);
  bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200);
  await writeFile(file, bytes);
  const { code, err } = await run('repair', directory);
  t.equal(code, 1);
  t.match(err.join(), /segment-0*1\.log, offset \d+, after record 0/);
});

t.test('a log that has lost its end is refused, and repaired with the state of its newest snapshot', async (t) => {
  const directory = await newDirectory();
  const { index } = await logIn(directory, 5);
  const [segment = ''] = (await readdir(directory)).filter((name) => name.startsWith('segment-'));
  await truncate(path.join(directory, segment), 10);
  const refused = await run('verify', directory);
  t.equal(refused.code, 1);
  t.match(refused.err.join(), /snapshot-0*5\.snap, .* the log ends with record 0, .*`quotebook log repair/);
  const { code, out } = await run('repair', directory);
  t.equal(code, 0);
  t.ok(out.includes(`lastIndex ${index}`), out.join());
  t.equal((await run('verify', directory)).code, 0);
});

t.test('what is not a command of the log is refused', async (t) => {
  for (const words of [
    [],
    ['verify'],
    ['mend', 'x'],
    ['verify', 'x', '--after', '1'],
    ['dump', 'x', '--after', '-1'],
  ]) {
    t.equal((await run(...words)).code, 2, words.join(' '));
  }
});
