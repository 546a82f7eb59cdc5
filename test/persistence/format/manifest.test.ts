import t from 'tap';
import { readManifest, type Manifest, writeManifest } from '../../../src/persistence/format/manifest.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

const manifest: Manifest = {
  epoch: Buffer.from('0011223344556677', 'hex'),
  reorgDepth: 64,
  identity: { chainId: 1, genesis: '0xab' },
  feedEpoch: Buffer.from('8899aabbccddeeff', 'hex'),
  sync: 'never',
  closedGroup: 17,
  files: ['budgets.jsonl'],
};

t.test('a stamp reads as it was written, also when people have reformatted it', async (t) => {
  const disk = new MemoryDisk([]);
  t.equal(await readManifest(disk), null);
  await writeManifest(disk, manifest);
  t.strictSame(await readManifest(disk), manifest);
  const text = String(disk.files.get('stamp.json'));
  disk.files.set('stamp.json', Buffer.from(JSON.stringify(JSON.parse(text))));
  t.strictSame(await readManifest(disk), manifest);
});

t.test('a stamp with anything changed is refused', async (t) => {
  const disk = new MemoryDisk([]);
  await writeManifest(disk, manifest);
  const text = String(disk.files.get('stamp.json'));
  for (const changed of [
    text.replace('0011', '0012'),
    text.replace('64', '63'),
    text.replace('8899', '8898'),
    text.replace('never', 'always'),
    text.replace('17', '18'),
    text.replace('budgets', 'others'),
    text.replace('0xab', '0xac'),
    text.replace('"crc"', '"src"'),
    text.slice(0, -5),
    '{}',
    'null',
  ]) {
    await t.rejects(readManifest(new MemoryDisk([['stamp.json', Buffer.from(changed)]])), { code: 'DAMAGED' }, changed);
  }
});

t.test('a directory of other chains is refused, saying what differs, and stays as it is', async (t) => {
  const world = new World();
  const process = await world.start({ identity: { chainId: 1, factory: '0xaa' } });
  world.submit(process, 3);
  await world.clock.until(process.log.close());
  const files = (): string[] => world.disk.fileNames().map((name) => name + world.disk.contentOf(name).toString('hex'));
  const before = files();
  await t.rejects(world.start({ identity: { chainId: 2, factory: '0xaa' } }), {
    code: 'FOREIGN',
    message: /belongs to other chains or contracts: chainId was 1 and is now 2$/,
  });
  await t.rejects(world.start({ identity: { chainId: 1 } }), { message: /factory was 0xaa and is now not there/ });
  t.strictSame(files(), before);
  t.equal((await world.start({ identity: { chainId: 1, factory: '0xaa' } })).log.engine.index, 3);
});

t.test('a log whose stamp is gone is refused, never begun anew', async (t) => {
  const world = new World();
  const process = await world.start();
  world.submit(process, 3);
  await world.clock.until(process.log.close());
  world.disk.lose('stamp.json');
  await t.rejects(world.start(), { code: 'NO_BASE', message: /has a log .*, and its stamp is gone/ });
  for (const name of world.disk.fileNames()) if (name.startsWith('segment-')) world.disk.lose(name);
  await t.rejects(world.start(), { code: 'NO_BASE', message: /has snapshots, and its stamp is gone/ });
});

t.test('a log keeps the reorg depth that it was begun with', async (t) => {
  const world = new World();
  const first = await world.start({ reorgDepth: 8 });
  await world.clock.until(first.log.close());
  const second = await world.start({ reorgDepth: 16 });
  t.equal(second.log.reorgDepth, 8);
  const warnings = second.lines.filter(({ level }) => level === 'warn');
  t.match(warnings, [{ details: { reorgDepth: 8, wanted: 16 } }]);
});
