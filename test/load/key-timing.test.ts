import t from 'tap';
import { createApiKey } from '../../src/auth/api-key.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { ManualClock } from '../system/manual-clock.js';

const ROUNDS = 41;
/** So many where other things that the machine does make the median of those doubtful. */
const MOST_ROUNDS = 123;
const GUESSES = 10_000;
const SECRET_BYTES = 32;
/** Of the time of a key that is wrong from its first character on. */
const MOST_APART = 0.1;

/** In one piece, as they come out of a request: a string put together of two is copied when it is hashed. */
const inOnePiece = (key: string): string => Buffer.from(key, 'latin1').toString('latin1');

/** The key of the same secret but for its last four bytes, with a checksum that holds. */
function withAnotherEnd(secret: Uint8Array): string {
  const end = systemRandom.bytes(4);
  const bytes = Buffer.concat([secret.subarray(0, SECRET_BYTES - end.length), end]);
  return createApiKey({ ...systemRandom, bytes: () => bytes });
}

function microsEach(store: KeyStore, guesses: readonly string[]): number {
  const startMs = performance.now();
  let unknown = 0;
  for (const guess of guesses) if (store.verify(guess) === 'NOT_FOUND') unknown++;
  if (unknown !== guesses.length) throw new Error('A guess was right');
  return ((performance.now() - startMs) * 1_000) / guesses.length;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

t.test('how long a guess takes does not tell how much of it is right', async (t) => {
  const clock = new ManualClock(Date.UTC(2024, 0, 1));
  const store = await KeyStore.open({ files: new MemoryKeyFiles(), clock, random: systemRandom, cacheSize: 100 });
  const { key } = await store.create('paid', 'a maker');
  store.verify(key);
  const secret = Buffer.from(key.slice('qb_'.length), 'base64url').subarray(0, SECRET_BYTES);
  const ratios: number[] = [];
  const isAlike = (): boolean => Math.abs(median(ratios) - 1) < MOST_APART;
  for (let round = 0; round < ROUNDS || (!isAlike() && round < MOST_ROUNDS); round++) {
    const wrong = Array.from({ length: GUESSES }, () => inOnePiece(createApiKey(systemRandom)));
    const nearly = Array.from({ length: GUESSES }, () => inOnePiece(withAnotherEnd(secret)));
    // The order changes from round to round, and times are compared within a round.
    const [first, second] = round % 2 === 0 ? [wrong, nearly] : [nearly, wrong];
    const times = new Map([first, second].map((guesses) => [guesses, microsEach(store, guesses)]));
    ratios.push((times.get(nearly) ?? NaN) / (times.get(wrong) ?? NaN));
  }
  t.ok(isAlike(), `nearly right takes ${median(ratios).toFixed(3)} of the time of wrong`);
});
