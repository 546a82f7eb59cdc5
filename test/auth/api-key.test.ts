import fc from 'fast-check';
import t from 'tap';
import { createApiKey, isWellFormedKey } from '../../src/auth/api-key.js';
import { systemRandom } from '../../src/system/clock.js';

t.test('a key is a prefix and 48 characters that a shell, a header and a URL take as they are', async (t) => {
  const key = createApiKey(systemRandom);
  t.match(key, /^qb_[A-Za-z0-9_-]{48}$/);
  t.ok(isWellFormedKey(key));
  t.not(createApiKey(systemRandom), key);
});

t.test('the same bytes give the same key', async (t) => {
  const zeros = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };
  t.equal(createApiKey(zeros), 'qb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAZClWt');
});

t.test('one wrong character is noticed', async (t) => {
  const key = createApiKey(systemRandom);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (let at = 3; at < key.length; at++) {
    const other = alphabet[(alphabet.indexOf(key.charAt(at)) + 1) % alphabet.length] ?? '';
    t.notOk(isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1)), `at ${at}`);
  }
});

t.test('anything else is not well-formed', async (t) => {
  const key = createApiKey(systemRandom);
  for (const text of ['', 'qb_', key.slice(1), `${key} `, `${key}\n`, key.toUpperCase(), key.replace('qb_', 'qc_')]) {
    t.notOk(isWellFormedKey(text), JSON.stringify(text));
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isWellFormedKey(text)));
});
