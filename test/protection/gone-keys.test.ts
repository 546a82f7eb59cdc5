import t from 'tap';
import { KeyStore } from '../../src/auth/key-store.js';
import { GoneKeys } from '../../src/protection/gone-keys.js';
import { systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { address, MAKER, quoteIdOf } from '../engine/samples.js';
import { authorized, KEY } from './protection-fixture.js';

const LOOK_MS = 30_000;
const SELF = { signedOut: 1, signedOutPerKey: 1, selfKeys: 9, selfKeysPerNetwork: 9, selfKeyUnusedDays: 30 };

/** Looks at an engine in which `KEY`, of no list, is authorised, and other keys are of `store`. */
async function looking() {
  const on = await authorized();
  const { clock, commit, engine, sequencer, ask } = on;
  const files = new MemoryKeyFiles();
  const open = () => KeyStore.open({ files, clock, random: systemRandom, cacheSize: 1 });
  /** As another process has it. */
  const store = await open();
  const own = await open();
  const keys = { missing: own.missing.bind(own) };
  const faults: unknown[] = [];
  const onFault = (fault: unknown): void => void faults.push(fault);
  const gone = new GoneKeys({ engine, sequencer, keys, clock, onFault, limits: { goneKeyLookMs: LOOK_MS } });
  gone.start();
  t.teardown(() => gone.stop());
  const look = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      clock.advance(LOOK_MS);
      await new Promise((resolve) => setImmediate(resolve));
      await commit();
    }
  };
  const authorize = (keyId: string, provider = MAKER) => ask({ type: 'AUTHORIZE', provider, keyId, consent: 'PROVEN' });
  const owners = () => Array.from(engine.protections.authorizations(), ({ owner }) => owner);
  return { ...on, files, store, keys, faults, gone, look, authorize, owners };
}

t.test('the second look that misses a key ends what it was authorised for', async (t) => {
  const { look, authorize, owners, store } = await looking();
  const { id } = await store.create('paid', 'stays');
  await authorize(id);
  await authorize(KEY, address(0x11));
  await look();
  t.strictSame(owners(), [KEY, id, KEY]);
  await look();
  t.strictSame(owners(), [id]);
});

t.test('keys that another process revokes, and keys of the tier self that are replaced, are gone', async (t) => {
  const { look, authorize, owners, store } = await looking();
  const [revoked, kept] = [await store.create('paid', 'one'), await store.create('paid', 'another')];
  const add = async () => {
    const { id, hash } = store.newKey();
    await store.addSelfKey({ id, hash, address: MAKER, network: '0'.repeat(16) }, SELF);
    return id;
  };
  const replaced = await add();
  for (const id of [revoked.id, kept.id, replaced]) await authorize(id);
  await look(3);
  t.strictSame(owners(), [revoked.id, kept.id, replaced]);
  await store.revoke(revoked.id);
  const current = await add();
  await authorize(current);
  await look(2);
  t.strictSame(owners(), [kept.id, current]);
});

t.test('an authorisation stays until its timer has withdrawn the quotes', async (t) => {
  const { look, owners, post, beat, shown } = await looking();
  post(1);
  await beat(3_600);
  await look(10);
  t.strictSame([owners(), shown()], [[KEY], [quoteIdOf(1)]]);
  await look(110);
  t.strictSame(shown(), []);
  await look(2);
  t.strictSame(owners(), []);
});

t.test('a key that one look alone misses keeps its authorisations', async (t) => {
  const { look, owners, keys } = await looking();
  const { missing } = keys;
  await look();
  keys.missing = async () => new Set();
  await look();
  keys.missing = missing;
  await look();
  t.strictSame(owners(), [KEY]);
});

t.test('while the keys cannot be read, or nothing can be written, nothing ends', async (t) => {
  const { look, owners, files, faults, journal } = await looking();
  await look();
  const text = files.contents.get('keys.json') ?? '';
  files.contents.delete('keys.json');
  await look();
  t.match(faults, [/keys\.json is gone/]);
  files.contents.set('keys.json', text);
  journal.refusing = 'STORAGE_FULL';
  await look(2);
  t.strictSame(owners(), [KEY]);
  journal.refusing = null;
  await look();
  t.strictSame(owners(), [], 'and then it does');
});

t.test('without authorisations the keys are not read, and after the end there are no looks', async (t) => {
  const { look, owners, sequencer, commit, keys, gone, authorize } = await looking();
  let reads = 0;
  keys.missing = async (ids) => {
    reads += 1;
    return ids;
  };
  sequencer.submit({ type: 'AUTHORIZE_KEY', provider: MAKER, owner: KEY, until: 0, signed: null });
  await commit();
  await look(3);
  t.equal(reads, 0);
  await authorize(KEY);
  gone.stop();
  await look(3);
  t.strictSame([reads, owners()], [0, [KEY]]);
});
