import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { KeyStore } from '../../src/auth/key-store.js';
import { LocalProofStore } from '../../src/auth/proof-store.js';
import { type KeyCreation, SignIn } from '../../src/auth/sign-in.js';
import { limits as defaultLimits } from '../../src/config/limits.js';
import { systemRandom } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';
import { MemoryKeyFiles } from './memory-key-files.js';
import { signInParts } from './sign-in-parts.js';

const DAY_MS = 86_400_000;
const limits = { ...defaultLimits, selfKeys: 4, selfKeysPerNetwork: 2, selfKeyUnusedDays: 30 };
const [HOME, CAFE, OFFICE] = ['192.0.2.1', '192.0.2.2', '2001:db8:0:1'] as const;

/** A service that hands out keys, on files that outlive it. */
async function handingOut(files = new MemoryKeyFiles(), clock = new ManualClock()) {
  const keys = await KeyStore.open({
    files,
    clock,
    random: systemRandom,
    cacheSize: 10,
    selfKeyUnusedDays: limits.selfKeyUnusedDays,
  });
  const proofs = new LocalProofStore(keys, clock, limits);
  const signIn = new SignIn(signInParts(keys, proofs, clock, limits));
  const ask = async (account = newAccount(), network: string = HOME, of = network): Promise<KeyCreation> => {
    const message = createSiweMessage({
      address: account.address,
      domain: 'book.example',
      uri: 'https://book.example/',
      version: '1',
      chainId: 42161,
      nonce: signIn.issueNonce(keys.networkId(of)).nonce,
      issuedAt: new Date(clock.wallMs()),
    });
    const signature = await account.signMessage({ message });
    return signIn.createKey(keys.networkId(network), { message, signature });
  };
  const create = async (account = newAccount(), network: string = HOME) => {
    const created = await ask(account, network);
    if (created.type !== 'CREATED') throw new Error(created.type);
    return created;
  };
  const noteUses = async (): Promise<number> => {
    const uses = keys.unwrittenUses();
    if (uses.length > 0) await proofs.noteUses(uses);
    return uses.length;
  };
  return { keys, clock, files, ask, create, noteUses };
}

const newAccount = () => privateKeyToAccount(generatePrivateKey());

t.test('a sign-in without a key gives a key of the self tier, which has proven the address', async (t) => {
  const { keys, create } = await handingOut();
  const account = newAccount();
  const { id, key, replaced, address } = await create(account);
  t.equal(address, account.address.toLowerCase());
  t.equal(replaced, false);
  t.strictSame(keys.verify(key), { id, tier: 'self', proven: [address] });
  t.match(keys.list(), [{ id, tier: 'self', proven: [address], label: address }]);
});

t.test('a key is in the files, in a form that tells neither the key nor the network', async (t) => {
  const { files, clock, create } = await handingOut();
  const { key, id, address } = await create();
  const text = files.contents.get('self-keys.json') ?? '';
  t.notOk(text.includes(key) || text.includes(HOME));
  const again = await handingOut(files, clock);
  t.strictSame(again.keys.verify(key), { id, tier: 'self', proven: [address] });
});

t.test('an address has one key: another sign-in replaces it, from any network', async (t) => {
  const { keys, create } = await handingOut();
  const account = newAccount();
  const first = await create(account, HOME);
  const changes: unknown[] = [];
  keys.onChange((change) => changes.push(change));
  const second = await create(account, CAFE);
  t.equal(second.replaced, true);
  t.equal(keys.verify(first.key), 'NOT_FOUND');
  t.match(keys.verify(second.key), { id: second.id, tier: 'self' });
  t.strictSame(changes, [{ id: first.id, tier: null }], 'sockets of the first are closed');
  t.equal(keys.list().length, 1);
});

t.test('a network creates as many keys as it may, and replaces its own at will', async (t) => {
  const { ask, create } = await handingOut();
  const account = newAccount();
  await create(account, HOME);
  await create(newAccount(), HOME);
  t.strictSame(await ask(newAccount(), HOME), { type: 'NETWORK_FULL' });
  t.match(await ask(account, HOME), { type: 'CREATED', replaced: true });
  t.match(await ask(newAccount(), CAFE), { type: 'CREATED' });
});

t.test('there are as many keys in all as may be, from whatever network', async (t) => {
  const { ask, create, keys } = await handingOut();
  const { id } = await create(newAccount(), HOME);
  await create(newAccount(), HOME);
  await create(newAccount(), CAFE);
  await create(newAccount(), CAFE);
  t.strictSame(await ask(newAccount(), OFFICE), { type: 'FULL' });
  t.equal(await keys.revoke(id), 'REVOKED');
  t.match(await ask(newAccount(), OFFICE), { type: 'CREATED' }, 'a revoked one makes room');
});

t.test('a key that nobody uses expires, and makes room for another', async (t) => {
  const { keys, clock, create, ask } = await handingOut();
  const created = [];
  for (const network of [HOME, HOME, CAFE, CAFE]) created.push(await create(newAccount(), network));
  const [idle, used] = created;
  clock.advance(29 * DAY_MS);
  t.match(keys.verify(used?.key), { tier: 'self' });
  clock.advance(DAY_MS - 1);
  t.strictSame(await ask(newAccount(), OFFICE), { type: 'FULL' });
  clock.advance(1);
  t.equal(keys.verify(idle?.key), 'NOT_FOUND');
  t.match(keys.verify(used?.key), { tier: 'self' });
  t.match(await ask(newAccount(), OFFICE), { type: 'CREATED' });
  t.equal(keys.list().length, 2, 'expired ones are gone');
  t.match(keys.verify(used?.key), { tier: 'self' }, 'a use that was not written down counted');
});

t.test('uses are written down once a day, and hold after a restart', async (t) => {
  const { keys, clock, files, create, noteUses } = await handingOut();
  const { key } = await create();
  clock.advance(DAY_MS - 1);
  keys.verify(key);
  t.equal(await noteUses(), 0);
  clock.advance(20 * DAY_MS);
  keys.verify(key);
  t.equal(await noteUses(), 1);
  t.equal(await noteUses(), 0, 'it is written down');
  clock.advance(20 * DAY_MS);
  const again = await handingOut(files, clock);
  t.match(again.keys.verify(key), { tier: 'self' });
  clock.advance(30 * DAY_MS);
  t.equal((await handingOut(files, clock)).keys.verify(key), 'NOT_FOUND');
});

t.test('a session of such a key is a use of it, and ends with it', async (t) => {
  const { keys, clock, create } = await handingOut();
  const { id, key, address } = await create();
  const token = keys.startSession(id, address, clock.wallMs() + 90 * DAY_MS);
  clock.advance(29 * DAY_MS);
  t.match(keys.verify(token), { id, tier: 'self' });
  clock.advance(29 * DAY_MS);
  t.match(keys.verify(key), { id });
  clock.advance(30 * DAY_MS);
  t.equal(keys.verify(token), 'NOT_FOUND');
});

t.test('a nonce counts for the network that asked for it, and once', async (t) => {
  const { ask } = await handingOut();
  t.strictSame(await ask(newAccount(), HOME, CAFE), { type: 'NONCE_REJECTED' });
});

t.test('one address does not sign in for keys more often than an address may sign in', async (t) => {
  const { ask, clock } = await handingOut();
  const account = newAccount();
  for (let i = 0; i < limits.signInsPerAddress; i += 1) t.match(await ask(account), { type: 'CREATED' });
  t.match(await ask(account), { type: 'TOO_MANY', retryAfterMs: limits.nonceMs });
  clock.advance(limits.nonceMs);
  t.match(await ask(account), { type: 'CREATED', replaced: true });
});
