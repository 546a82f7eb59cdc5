import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { KeyStore } from '../../src/auth/key-store.js';
import { LocalProofStore, type ProofStore } from '../../src/auth/proof-store.js';
import { SignIn, type SignInOptions } from '../../src/auth/sign-in.js';
import type { Hex } from '../../src/engine/quote.js';
import { systemRandom } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';
import { MemoryKeyFiles } from './memory-key-files.js';
import { signInParts } from './sign-in-parts.js';

const limits = {
  nonceMs: 60_000,
  nonceLeadMs: 5_000,
  sessionMs: 3_600_000,
  signIns: 100,
  signInsPerKey: 20,
  signInsPerAddress: 3,
  provenPerKey: 2,
  sessions: 5,
  sessionsPerKey: 4,
  signedOut: 3,
  signedOutPerKey: 2,
  selfKeys: 3,
  selfKeysPerNetwork: 2,
  selfKeyUnusedDays: 30,
};
const account = privateKeyToAccount(generatePrivateKey());
const owner = account.address.toLowerCase();

type MessageFields = Parameters<typeof createSiweMessage>[0];

/** A clock whose wall time may step. */
class SteppingClock extends ManualClock {
  stepMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.stepMs;
  }
}

/** A key and all that a sign-in with it takes. */
async function signedUp(options: Partial<SignInOptions> = {}, changed: Partial<typeof limits> = {}) {
  const clock = new SteppingClock();
  const files = new MemoryKeyFiles();
  const keys = await KeyStore.open({ files, clock, random: systemRandom, cacheSize: 10 });
  const { id, key } = await keys.create('free', 'a taker');
  const proofs: ProofStore = new LocalProofStore(keys, clock, { ...limits, ...changed });
  const parts: SignInOptions = { ...signInParts(keys, proofs, clock, limits), ...options };
  const signIn = new SignIn(parts);
  /** The message of that account's sign-in, or another one. */
  const message = (fields: Partial<MessageFields> = {}, by = account): string =>
    createSiweMessage({
      address: by.address,
      domain: 'book.example',
      uri: 'https://book.example/',
      version: '1',
      chainId: 42161,
      nonce: signIn.issueNonce(id).nonce,
      issuedAt: new Date(clock.wallMs()),
      ...fields,
    });
  return {
    ...{ clock, files, keys, id, key, parts, signIn, message },
    verify: async (text = message(), keep: 'session' | 'key' = 'session', by = account) =>
      signIn.verify(id, { message: text, signature: await by.signMessage({ message: text }), keep }),
  };
}

t.test('a session token stands for its key and the address until it expires', async (t) => {
  const { clock, keys, id, key, verify } = await signedUp();
  const result = await verify();
  if (result.type !== 'SIGNED_IN') throw new Error(result.type);
  t.equal(result.address, owner);
  t.match(keys.verify(result.token), { id, tier: 'free', proven: [owner] });
  t.strictSame(keys.verify(key), { id, tier: 'free' }, 'the key has proven nothing');
  clock.advance(limits.sessionMs - 1);
  t.match(keys.verify(result.token), { proven: [owner] });
  clock.advance(1);
  t.equal(keys.verify(result.token), 'NOT_FOUND');
});

t.test('a session ends no later than its message says', async (t) => {
  const { clock, keys, message, verify } = await signedUp();
  const result = await verify(message({ expirationTime: new Date(clock.wallMs() + 1_000) }));
  if (result.type !== 'SIGNED_IN') throw new Error(result.type);
  clock.advance(1_000);
  t.equal(keys.verify(result.token), 'NOT_FOUND');
});

t.test('a session ends with its key, and a changed token is invalid', async (t) => {
  const { keys, id, verify } = await signedUp();
  const result = await verify();
  if (result.type !== 'SIGNED_IN') throw new Error(result.type);
  const { token } = result;
  const changed = `${token.slice(0, 20)}${token[20] === 'A' ? 'B' : 'A'}${token.slice(21)}`;
  t.equal(keys.verify(changed), 'NOT_FOUND');
  t.equal(keys.verify(`${token}A`), 'NOT_FOUND');
  await keys.revoke(id);
  t.equal(keys.verify(token), 'NOT_FOUND');
});

t.test('a key keeps what it has proven over a restart, and loses it when told', async (t) => {
  const { clock, files, keys, id, key, verify, message } = await signedUp();
  const changes: string[] = [];
  keys.onChange((change) => changes.push(change.id));
  t.equal((await verify(message(), 'key')).type, 'PROVEN');
  t.match(keys.verify(key), { proven: [owner] });
  t.strictSame(changes, [], 'nothing that it may do has ended');
  const again = await KeyStore.open({ files, clock, random: systemRandom, cacheSize: 10 });
  t.match(again.verify(key), { proven: [owner] });
  t.equal(await keys.unprove(id), 1);
  t.strictSame(keys.verify(key), { id, tier: 'free' });
  t.strictSame(changes, [id]);
});

t.test('a key proves as many addresses as it may', async (t) => {
  const { message, verify } = await signedUp();
  const accounts = [1, 2, 3].map(() => privateKeyToAccount(generatePrivateKey()));
  const results: string[] = [];
  for (const each of accounts) results.push((await verify(message({}, each), 'key', each)).type);
  t.strictSame(results, ['PROVEN', 'PROVEN', 'TOO_MANY_TAKERS']);
});

t.test('a nonce is spent once, by the key that asked for it, in time', async (t) => {
  const { clock, keys, signIn, message, verify } = await signedUp();
  const text = message();
  t.equal((await verify(text)).type, 'SIGNED_IN');
  t.equal((await verify(text)).type, 'NONCE_REJECTED', 'it is spent');
  const stranger = await keys.create('free', 'another');
  t.equal((await verify(message({ nonce: signIn.issueNonce(stranger.id).nonce }))).type, 'NONCE_REJECTED');
  t.equal((await verify(message({ nonce: '0123456789abcdef' }))).type, 'NONCE_REJECTED', 'it was never issued');
  const late = message();
  clock.advance(limits.nonceMs);
  t.equal((await verify(late)).type, 'NONCE_REJECTED', 'it has expired');
});

t.test('a nonce of before the process began may have been spent there', async (t) => {
  const { clock, keys, id, parts, message } = await signedUp();
  const text = message();
  const signature = await account.signMessage({ message: text });
  clock.advance(1);
  const restarted = new SignIn({ ...parts, proofs: new LocalProofStore(keys, clock, limits) });
  t.equal((await restarted.verify(id, { message: text, signature, keep: 'session' })).type, 'NONCE_REJECTED');
});

t.test('where the clock was set back after the start, sign-ins go on', async (t) => {
  const { clock, verify } = await signedUp();
  clock.stepMs = -3_600_000;
  t.equal((await verify()).type, 'SIGNED_IN');
});

t.test(
  'where it was set back by less than the life of a nonce, they go on when it is past the start again',
  async (t) => {
    const { clock, verify } = await signedUp();
    clock.stepMs = -60_000;
    t.equal((await verify()).type, 'NONCE_REJECTED', 'an earlier process may have seen it spent');
    clock.advance(60_000);
    t.equal((await verify()).type, 'SIGNED_IN');
  },
);

t.test('a spent nonce does not hold again after the clock was set back by less than its life', async (t) => {
  const { clock, message, verify } = await signedUp();
  clock.advance(limits.nonceMs);
  const text = message();
  t.equal((await verify(text)).type, 'SIGNED_IN');
  clock.stepMs = -120_000;
  clock.advance(limits.nonceMs + 1);
  t.equal((await verify(text)).type, 'NONCE_REJECTED');
});

t.test('a spent nonce does not hold again after the clock has stepped forward and back', async (t) => {
  const { clock, message, verify } = await signedUp();
  const text = message();
  t.equal((await verify(text)).type, 'SIGNED_IN');
  clock.stepMs = 3_600_000;
  t.equal((await verify()).type, 'SIGNED_IN');
  clock.stepMs = 0;
  t.equal((await verify(text)).type, 'NONCE_REJECTED');
});

t.test('a nonce of a process whose clock is a little ahead holds, once', async (t) => {
  const { clock, message, verify } = await signedUp();
  const text = message();
  clock.stepMs = -limits.nonceLeadMs - 1;
  t.equal((await verify(text)).type, 'NONCE_REJECTED');
  clock.stepMs += 1;
  t.equal((await verify(text)).type, 'SIGNED_IN');
  clock.advance(limits.nonceMs);
  t.equal((await verify(text)).type, 'NONCE_REJECTED', 'its life has not ended by this clock');
});

t.test('sign-ins count no longer because the clock has stepped back', async (t) => {
  const { clock, verify } = await signedUp();
  clock.stepMs = 3_600_000;
  for (let n = 0; n < limits.signInsPerAddress; n++) t.equal((await verify()).type, 'SIGNED_IN');
  clock.stepMs = 0;
  clock.advance(limits.nonceMs);
  t.equal((await verify()).type, 'SIGNED_IN');
});

t.test('sign-ins of one address are capped within the life of a nonce', async (t) => {
  const { clock, verify } = await signedUp();
  for (let n = 0; n < limits.signInsPerAddress; n++) t.equal((await verify()).type, 'SIGNED_IN');
  t.strictSame(await verify(), { type: 'TOO_MANY', retryAfterMs: limits.nonceMs });
  clock.advance(limits.nonceMs);
  t.equal((await verify()).type, 'SIGNED_IN');
});

t.test('a message that does not hold is refused with what is wrong', async (t) => {
  const { clock, message, verify } = await signedUp();
  const other = privateKeyToAccount(generatePrivateKey());
  const at = (ms: number): Date => new Date(clock.wallMs() + ms);
  const cases: [string, string, typeof account][] = [
    ['hello', 'The message is no sign-in message of EIP-4361', account],
    [message({ domain: 'evil.example', uri: 'https://evil.example/' }), 'The domain evil.example is none of', account],
    [message({ uri: 'https://evil.example/' }), 'The URI of the message is of another host', account],
    [message({ chainId: 1 }), 'The message is for chain 1, not for 42161', account],
    [message({ expirationTime: at(0) }), 'The message has expired, or does not hold yet', account],
    [message({ notBefore: at(1) }), 'The message has expired, or does not hold yet', account],
    [message(), `The signature is not of ${owner}`, other],
  ];
  for (const [text, problem, by] of cases) {
    const result = await verify(text, 'session', by);
    if (result.type !== 'INVALID') throw new Error(result.type);
    t.ok(result.problem.startsWith(problem), result.problem);
  }
});

t.test('without domains of its own it takes those of this machine alone', async (t) => {
  const { message, verify } = await signedUp({ domains: [] });
  for (const [domain, type] of [
    ['localhost:8080', 'SIGNED_IN'],
    ['127.0.0.1:8080', 'SIGNED_IN'],
    ['localhost.example', 'INVALID'],
    ['book.example', 'INVALID'],
  ] as const) {
    t.equal((await verify(message({ domain, uri: `http://${domain}/` }))).type, type, domain);
  }
});

t.test('a contract signs by its own rule, and is not asked about keys that sign', async (t) => {
  const asked: Hex[] = [];
  const { signIn, id, message, verify } = await signedUp({
    isContractSignature: async (address, _, signature) => {
      asked.push(address);
      return signature === '0x1234';
    },
  });
  t.equal((await verify()).type, 'SIGNED_IN');
  t.strictSame(asked, []);
  const signed = { message: message(), signature: '0x1234', keep: 'session' } as const;
  t.match(await signIn.verify(id, signed), { type: 'SIGNED_IN', address: owner });
  t.strictSame(asked, [owner]);
});

t.test('a session that signs out ends at every process with these keys, and its key stays', async (t) => {
  const { clock, files, keys, id, key, signIn, verify } = await signedUp();
  const open = () => KeyStore.open({ files, clock, random: systemRandom, cacheSize: 10 });
  const other = await open();
  const changes: unknown[] = [];
  other.onChange((change) => changes.push(change));
  const result = await verify();
  if (result.type !== 'SIGNED_IN') throw new Error(result.type);
  t.match(other.verify(result.token), { id });
  t.equal(await signIn.signOut(key), 'NO_SESSION');
  t.equal(await signIn.signOut(result.token), 'SIGNED_OUT');
  await other.refresh();
  for (const store of [keys, other, await open()]) {
    t.equal(store.verify(result.token), 'NOT_FOUND');
    t.match(store.verify(key), { id });
  }
  t.strictSame(changes, [{ id, tier: 'free', onlySessions: true }]);
});

t.test('no other ending of its token opens a session, before or after it signs out', async (t) => {
  const { keys, signIn, verify } = await signedUp();
  const result = await verify();
  if (result.type !== 'SIGNED_IN') throw new Error(result.type);
  const { token } = result;
  const bytes = Buffer.from(token.slice(4), 'base64url');
  const others = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', (ending) => {
    return `${token.slice(0, -1)}${ending}`;
  }).filter((other) => other !== token);
  const same = others.filter((other) => Buffer.from(other.slice(4), 'base64url').equals(bytes));
  t.equal(same.length, 15, 'so many are decoded to the same bytes');
  const open = (): string[] => others.filter((other) => keys.verify(other) !== 'NOT_FOUND');
  t.strictSame(open(), []);
  t.equal(await signIn.signOut(token), 'SIGNED_OUT');
  t.strictSame(open(), []);
});

t.test('a signed-out session is kept until it expires, and so many of them at most', async (t) => {
  const { clock, files, keys, signIn, message, verify } = await signedUp();
  const tokens: string[] = [];
  for (let n = 0; n <= limits.signedOutPerKey; n++) {
    const account = privateKeyToAccount(generatePrivateKey());
    const result = await verify(message({}, account), 'session', account);
    if (result.type !== 'SIGNED_IN') throw new Error(result.type);
    tokens.push(result.token);
  }
  const outcomes: string[] = [];
  for (const token of tokens) outcomes.push(await signIn.signOut(token));
  t.strictSame(outcomes, ['SIGNED_OUT', 'SIGNED_OUT', 'TOO_MANY']);
  t.match(keys.verify(tokens[2]), { tier: 'free' }, 'it goes on');
  clock.advance(limits.sessionMs);
  const late = await verify();
  if (late.type !== 'SIGNED_IN') throw new Error(late.type);
  t.equal(await signIn.signOut(late.token), 'SIGNED_OUT');
  const { signedOut } = JSON.parse(files.contents.get('proofs.json') ?? '') as { signedOut: unknown[] };
  t.equal(signedOut.length, 1, 'expired ones are dropped');
});

t.test('keys that fill the list of signed-out sessions keep no other key from signing out', async (t) => {
  const { clock, keys, signIn } = await signedUp();
  const session = async (): Promise<string> => {
    const { id } = await keys.create('free', 'another');
    return keys.startSession(id, account.address, clock.wallMs() + 1_000);
  };
  const { id } = await keys.create('free', 'the one that has most');
  const ofFull = [1, 2].map((n) => keys.startSession(id, account.address, clock.wallMs() + 1_000 + n));
  for (const token of [...ofFull, await session()]) t.equal(await signIn.signOut(token), 'SIGNED_OUT');
  const late = await session();
  t.equal(await signIn.signOut(late), 'SIGNED_OUT');
  t.equal(keys.verify(late), 'NOT_FOUND');
  t.match([keys.verify(ofFull[0]), keys.verify(ofFull[1])], [{ id }, 'NOT_FOUND'], 'its oldest holds again');
  const another = keys.startSession(id, account.address, clock.wallMs() + 1_003);
  t.equal(await signIn.signOut(another), 'TOO_MANY', 'no other key has more');
});

t.test('a key has so many live sessions at most', async (t) => {
  const { clock, signIn, message, verify } = await signedUp();
  const session = async (): Promise<string> => {
    const account = privateKeyToAccount(generatePrivateKey());
    const result = await verify(message({}, account), 'session', account);
    return result.type === 'SIGNED_IN' ? result.token : result.type;
  };
  const tokens: string[] = [];
  for (let n = 0; n < limits.sessionsPerKey; n++) tokens.push(await session());
  t.equal(await session(), 'TOO_MANY');
  t.equal(await signIn.signOut(tokens[0] ?? ''), 'SIGNED_OUT');
  t.match(await session(), /^qbs_/);
  t.equal(await session(), 'TOO_MANY');
  clock.advance(limits.sessionMs);
  t.match(await session(), /^qbs_/, 'the others have expired');
});

/** Signs in with a fresh address, with a nonce of that key. */
async function signInWith({ signIn, message }: Awaited<ReturnType<typeof signedUp>>, keyId: string) {
  const account = privateKeyToAccount(generatePrivateKey());
  const signed = message({ nonce: signIn.issueNonce(keyId).nonce }, account);
  const signature = await account.signMessage({ message: signed });
  const again = () => signIn.verify(keyId, { message: signed, signature, keep: 'session' });
  return { again, result: await again() };
}

t.test('keys with many sign-ins leave room to others: the oldest of the key with most gives way', async (t) => {
  const on = await signedUp({}, { signIns: 4, sessions: 100, sessionsPerKey: 100 });
  const another = await on.keys.create('free', 'another taker');
  const pending = on.signIn.issueNonce(on.id).nonce;
  on.clock.advance(1);
  const used: Awaited<ReturnType<typeof signInWith>>[] = [];
  for (let n = 0; n < 4; n++) used.push(await signInWith(on, on.id));
  t.match((await signInWith(on, on.id)).result, { type: 'TOO_MANY' }, 'no other key has more');
  on.clock.advance(1);
  const late = on.signIn.issueNonce(on.id).nonce;
  for (let n = 0; n < 2; n++) t.match((await signInWith(on, another.id)).result, { type: 'SIGNED_IN' });
  t.match((await signInWith(on, another.id)).result, { type: 'TOO_MANY' }, 'it has as many by now');
  for (const { again } of used) t.match(await again(), { type: 'NONCE_REJECTED' }, 'a nonce that gave way counts once');
  const account = privateKeyToAccount(generatePrivateKey());
  const verify = (nonce: string) => on.verify(on.message({ nonce }, account), 'session', account);
  t.match(await verify(pending), { type: 'NONCE_REJECTED' }, 'so none that was issued before counts');
  t.match(await verify(late), { type: 'TOO_MANY' }, 'a later one does');
  on.clock.advance(limits.nonceMs - 1);
  t.match(await verify(late), { type: 'SIGNED_IN' }, 'once the others are over');
  t.match(await used[0]?.again(), { type: 'NONCE_REJECTED' });
});

t.test('nonces without a key give way to keys, too', async (t) => {
  const on = await signedUp({}, { signIns: 2 });
  const network = 'f'.repeat(16);
  const account = privateKeyToAccount(generatePrivateKey());
  for (let n = 0; n < 2; n++) {
    const text = on.message({ nonce: on.signIn.issueNonce(network).nonce }, account);
    const signature = await account.signMessage({ message: text });
    t.match(await on.signIn.createKey(network, { message: text, signature }), { type: 'CREATED' });
  }
  t.match((await signInWith(on, on.id)).result, { type: 'SIGNED_IN' });
});

t.test('keys with many live sessions leave room to others', async (t) => {
  const on = await signedUp({}, { sessions: 2 });
  const another = await on.keys.create('free', 'another taker');
  for (let n = 0; n < 2; n++) t.match((await signInWith(on, on.id)).result, { type: 'SIGNED_IN' });
  t.match((await signInWith(on, on.id)).result, { type: 'TOO_MANY' }, 'no other key has more');
  t.match((await signInWith(on, another.id)).result, { type: 'SIGNED_IN' });
});
