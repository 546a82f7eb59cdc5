import t from 'tap';
import { createApiKey } from '../../src/auth/api-key.js';
import { type KeyChange, KeyStore } from '../../src/auth/key-store.js';
import { systemRandom } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';
import { MemoryKeyFiles } from './memory-key-files.js';

interface Process {
  readonly store: KeyStore;
  readonly clock: ManualClock;
}

async function openStore(files: MemoryKeyFiles, cacheSize = 100): Promise<Process> {
  const clock = new ManualClock(Date.UTC(2024, 0, 1));
  return { clock, store: await KeyStore.open({ files, clock, random: systemRandom, cacheSize }) };
}

/** Runs everything that waits only on memory. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

t.test('a key that was created is known, with its tier', async (t) => {
  const { store } = await openStore(new MemoryKeyFiles());
  const free = await store.create('free', 'a maker');
  const paid = await store.create('paid', 'another');
  t.strictSame(store.verify(free.key), { id: free.id, tier: 'free' });
  t.strictSame(store.verify(paid.key), { id: paid.id, tier: 'paid' });
  t.strictSame(store.verify(paid.key), { id: paid.id, tier: 'paid' }, 'and again, from the cache');
});

t.test('a key has the scopes that it was created with', async (t) => {
  const files = new MemoryKeyFiles();
  const { store } = await openStore(files);
  const { key, id } = await store.create('paid', 'a desk', ['operator']);
  const holder = { id, tier: 'paid', scopes: ['operator'] };
  t.strictSame(store.verify(key), holder);
  t.match(store.list(), [{ id, scopes: ['operator'] }]);
  t.strictSame((await openStore(files)).store.verify(key), holder, 'and after a restart');
});

t.test('a scope that is taken away is gone at the next look', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  const { key, id } = await store.create('paid', 'a desk', ['operator']);
  store.verify(key);
  const changes: KeyChange[] = [];
  store.onChange((change) => changes.push(change));
  store.watch(1000, (error) => t.fail(String(error)));
  await files.update('keys.json', (text) => String(text).replace('"operator"', ''));
  clock.advance(1000);
  await settle();
  t.strictSame(store.verify(key), { id, tier: 'paid', scopes: [] });
  t.strictSame(changes, [{ id, tier: 'paid' }]);
  store.close();
});

t.test('no key, an unknown key, no key at all', async (t) => {
  const { store } = await openStore(new MemoryKeyFiles());
  t.equal(store.verify(undefined), 'MISSING');
  t.equal(store.verify(''), 'MISSING');
  t.equal(store.verify(createApiKey(systemRandom)), 'NOT_FOUND');
  t.equal(store.verify('__proto__'), 'NOT_FOUND');
});

t.test('neither the key nor anything it can be read from is kept', async (t) => {
  const files = new MemoryKeyFiles();
  const { store } = await openStore(files);
  const { key, id } = await store.create('free', 'a maker');
  const kept = [...files.contents.values()].join('\n');
  t.notOk(kept.includes(key.slice(3, 20)));
  t.notMatch(JSON.stringify(store.list()), 'hash');
  t.strictSame(store.list(), [{ id, tier: 'free', label: 'a maker', createdAt: '2024-01-01T00:00:00.000Z' }]);
});

t.test('the hashes are worth nothing under another secret', async (t) => {
  const files = new MemoryKeyFiles();
  const { key } = await (await openStore(files)).store.create('free', 'a maker');
  files.contents.set('keys.secret', 'ab'.repeat(32));
  t.equal((await openStore(files)).store.verify(key), 'NOT_FOUND');
});

t.test('a revoked key is unknown at once, cached or not, and stays in the list', async (t) => {
  const { store, clock } = await openStore(new MemoryKeyFiles());
  const { id, key } = await store.create('free', 'a maker');
  t.match(store.verify(key), { id });
  clock.advance(1000);
  t.equal(await store.revoke(id), 'REVOKED');
  t.equal(store.verify(key), 'NOT_FOUND');
  clock.advance(1000);
  t.equal(await store.revoke(id), 'ALREADY_REVOKED');
  t.match(store.list(), [{ id, revokedAt: '2024-01-01T00:00:01.000Z' }]);
  t.equal(await store.revoke('0000000000000000'), 'NOT_FOUND');
});

t.test('a key that stands in the file twice is revoked when either says so', async (t) => {
  const files = new MemoryKeyFiles();
  const { store } = await openStore(files);
  const { id, key } = await store.create('free', 'a maker');
  const before = JSON.parse(files.contents.get('keys.json') ?? '') as { readonly keys: readonly object[] };
  await store.revoke(id);
  const after = JSON.parse(files.contents.get('keys.json') ?? '') as { readonly keys: readonly object[] };
  for (const keys of [
    [...before.keys, ...after.keys],
    [...after.keys, ...before.keys],
  ]) {
    files.contents.set('keys.json', JSON.stringify({ version: 1, keys }));
    t.equal((await openStore(files)).store.verify(key), 'NOT_FOUND');
  }
});

t.test('what another process creates or revokes is seen at the next look', async (t) => {
  const files = new MemoryKeyFiles();
  const server = await openStore(files);
  const changes: KeyChange[] = [];
  server.store.onChange((change) => changes.push(change));
  server.store.watch(1000, (error) => t.fail(String(error)));
  const { store: cli } = await openStore(files);

  const { id, key } = await cli.create('paid', 'from the command line');
  t.equal(server.store.verify(key), 'NOT_FOUND');
  server.clock.advance(1000);
  await settle();
  t.match(server.store.verify(key), { id });
  t.strictSame(changes, [], 'a new key changes nothing for those who are connected');

  await cli.revoke(id);
  server.clock.advance(1000);
  await settle();
  t.equal(server.store.verify(key), 'NOT_FOUND');
  t.strictSame(changes, [{ id, tier: null }]);
});

t.test('a change of tier reaches listeners', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  const { id, key } = await store.create('free', 'a maker');
  store.verify(key);
  const changes: KeyChange[] = [];
  const stop = store.onChange((change) => changes.push(change));
  store.watch(1000, (error) => t.fail(String(error)));
  await files.update('keys.json', (text) => String(text).replace('"free"', '"paid"'));
  clock.advance(1000);
  await settle();
  t.strictSame(changes, [{ id, tier: 'paid' }]);
  t.strictSame(store.verify(key), { id, tier: 'paid' });
  stop();
  await store.revoke(id);
  t.equal(changes.length, 1, 'a listener that stopped gets no more changes');
});

t.test('a key can move to another tier, and listeners get the change', async (t) => {
  const { store } = await openStore(new MemoryKeyFiles());
  const { key, id } = await store.create('free', 'a maker');
  const changes: KeyChange[] = [];
  store.onChange((change) => changes.push(change));
  t.equal(await store.changeTier(id, 'paid'), 'CHANGED');
  t.strictSame(store.verify(key), { id, tier: 'paid' });
  t.equal(await store.changeTier(id, 'paid'), 'UNCHANGED');
  t.strictSame(changes, [{ id, tier: 'paid' }]);
  await store.revoke(id);
  t.equal(await store.changeTier(id, 'free'), 'REVOKED');
  t.match(store.list(), [{ id, tier: 'paid' }], 'it stays as it was revoked');
  t.equal(await store.changeTier('0123456789abcdef', 'free'), 'NOT_FOUND');
});

t.test('a look that finds nothing new reads nothing', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  await store.create('free', 'a maker');
  store.watch(1000, (error) => t.fail(String(error)));
  const reads = files.reads;
  for (let i = 0; i < 5; i++) {
    clock.advance(1000);
    await settle();
  }
  t.equal(files.reads, reads);
});

t.test('a slow look that began before a key was revoked does not bring it back', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  const { key, id } = await store.create('free', 'a maker');
  await (await openStore(files)).store.create('free', 'made by another process');
  const read = files.read.bind(files);
  let goOn = (): void => undefined;
  files.read = async (name) => {
    const content = await read(name);
    await new Promise<void>((resolve) => (goOn = resolve));
    return content;
  };
  store.watch(1000, (error) => t.fail(String(error)));
  clock.advance(1000);
  await settle();
  files.read = read;
  const revoked = store.revoke(id);
  await settle();
  goOn();
  t.equal(await revoked, 'REVOKED');
  await settle();
  t.equal(store.verify(key), 'NOT_FOUND');
});

t.test('while the file cannot be read the known keys stay in force, and the watch goes on', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  const { key, id } = await store.create('free', 'a maker');
  const faults: string[] = [];
  store.watch(1000, (error) => faults.push((error as Error).message));
  const good = files.contents.get('keys.json') ?? '';

  files.fault = new Error('EIO');
  clock.advance(1000);
  await settle();
  await files.update('keys.json', () => '{"version": 1');
  clock.advance(1000);
  await settle();
  t.strictSame(faults, ['EIO', 'keys.json is not JSON']);
  t.match(store.verify(key), { id });

  await files.update('keys.json', () => good.replace(key, ''));
  clock.advance(1000);
  await settle();
  t.equal(faults.length, 2);
  store.close();
  t.equal(clock.pending, 0, 'closed: nothing keeps looking');
});

t.test('a file of keys that is away for a moment revokes nothing', async (t) => {
  const files = new MemoryKeyFiles();
  const { store, clock } = await openStore(files);
  const { key, id } = await store.create('free', 'a maker');
  const [faults, changes]: [string[], unknown[]] = [[], []];
  store.watch(1000, (error) => faults.push((error as Error).message));
  store.onChange((change) => changes.push(change));
  const good = files.contents.get('keys.json') ?? '';
  files.contents.delete('keys.json');
  clock.advance(1000);
  await settle();
  t.strictSame(faults, ['keys.json is gone']);
  t.match(store.verify(key), { id });

  await files.update('keys.json', () => good.replace('"free"', '"paid"'));
  clock.advance(1000);
  await settle();
  t.strictSame(changes, [{ id, tier: 'paid' }], 'what is in its place counts');
  t.equal(faults.length, 1);
  store.close();
});

t.test('a watch that is ended while it looks does not look again', async (t) => {
  const { store, clock } = await openStore(new MemoryKeyFiles());
  store.watch(1000, (fault) => t.fail('the files can be read', { fault }));
  clock.advance(1000);
  store.close();
  await settle();
  t.equal(clock.pending, 0);
});

t.test('two processes that create at the same moment lose nothing', async (t) => {
  const files = new MemoryKeyFiles();
  const [a, b] = [await openStore(files), await openStore(files)];
  const labels = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  await Promise.all(labels.map((label, index) => (index % 2 === 0 ? a : b).store.create('free', label)));
  const { store } = await openStore(files);
  t.strictSame(
    store
      .list()
      .map(({ label }) => label)
      .sort(),
    labels.sort(),
  );
});

t.test('two processes that are the first at the same moment share one secret', async (t) => {
  const files = new MemoryKeyFiles();
  const [a, b] = await Promise.all([openStore(files), openStore(files)]);
  const keys = [await a.store.create('free', 'of one'), await b.store.create('free', 'of the other')];
  const { store } = await openStore(files);
  for (const { key, id } of keys) t.match(store.verify(key), { id });
});

t.test('more keys than are remembered are known all the same', async (t) => {
  const files = new MemoryKeyFiles();
  const { store } = await openStore(files, 2);
  const keys = [];
  for (let i = 0; i < 4; i++) keys.push(await store.create('free', `key ${i}`));
  for (const { key, id } of [...keys, ...keys]) t.match(store.verify(key), { id });
});

t.test('refuses to open without the secret that its keys were hashed under', async (t) => {
  const files = new MemoryKeyFiles();
  await (await openStore(files)).store.create('free', 'a maker');
  const secret = files.contents.get('keys.secret') ?? '';
  files.contents.delete('keys.secret');
  await t.rejects(openStore(files), /keys.secret is missing/);
  for (const damaged of [secret.slice(1), `${secret}0`, `0${secret}`]) {
    files.contents.set('keys.secret', damaged);
    await t.rejects(openStore(files), /keys.secret is damaged/);
  }
});

t.test('refuses to open without the list of keys beside its secret, until that is accepted', async (t) => {
  const files = new MemoryKeyFiles();
  await openStore(files);
  t.equal(files.contents.has('keys.json'), true, 'a store without keys has an empty list');
  files.contents.delete('keys.json');
  await t.rejects(openStore(files), /keys.json is missing beside keys.secret.*--accept-missing keys.json/);
  t.equal(files.contents.has('keys.json'), false);
  const options = { files, clock: new ManualClock(0), random: systemRandom, cacheSize: 10, acceptMissing: true };
  t.strictSame((await KeyStore.open(options)).list(), []);
  t.strictSame((await openStore(files)).store.list(), []);
});

t.test('rejects a ledger of another version, and says why', async (t) => {
  const files = new MemoryKeyFiles();
  await openStore(files);
  files.contents.set('keys.json', '{"version":2,"keys":[]}');
  await t.rejects(openStore(files), /\/version must be equal to constant/);
  files.contents.set('keys.json', '{"version":1,"keys":[{"id":"1"}]}');
  await t.rejects(openStore(files), /\/keys\/0 must have required property 'hash'/);
});

t.test('refuses a record with something in it that the next write would lose, or that no key has', async (t) => {
  const files = new MemoryKeyFiles();
  const { store } = await openStore(files);
  await store.create('free', 'a maker');
  const ledger = JSON.parse(files.contents.get('keys.json') ?? '') as { keys: object[] };
  const [record] = ledger.keys;
  const refused = [
    { ...ledger, note: 'of a later version' },
    ...[{ note: 'of a later version' }, { id: 'A'.repeat(16) }, { hash: 'ab' }].map((change) => ({
      ...ledger,
      keys: [{ ...record, ...change }],
    })),
  ];
  for (const content of refused) {
    files.contents.set('keys.json', JSON.stringify(content));
    await t.rejects(openStore(files), /keys.json is not a list of keys that this version reads/);
  }
});

t.test('a label is short and printable', async (t) => {
  const { store } = await openStore(new MemoryKeyFiles());
  for (const label of ['', 'a\nb', '\u001b[31m', 'x'.repeat(101)]) {
    await t.rejects(store.create('free', label), /a label is 1 to 100 printable characters/, JSON.stringify(label));
  }
  t.strictSame(store.list(), []);
  await t.resolves(store.create('free', 'x'.repeat(100)));
});
