import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import secp256k1 from 'secp256k1';
import t, { type Test } from 'tap';
import { toHex } from '../../src/auth/keccak256.js';
import { QuoteDigest, QuoteSignature } from '../../src/auth/quote-signature.js';
import { type ClaimedSignature, loadSecp256k1 } from '../../src/auth/secp256k1.js';
import { InlineSignatureChecks, SignatureCache, SignaturePool } from '../../src/auth/signature-pool.js';
import type { Hex } from '../../src/engine/quote.js';
import { systemClock } from '../../src/system/clock.js';

const limits = { signatureWorkers: 2, signaturePoolFrom: 4, signaturesPerMessage: 8 };
const digests = new QuoteDigest(421613, 10);
const signatures = new QuoteSignature(digests, await loadSecp256k1());
const inline = new InlineSignatureChecks(signatures, systemClock, 10);

function signed(count: number): ClaimedSignature[] {
  const key = randomBytes(32);
  const provider = toHex(digests.keccak256(secp256k1.publicKeyCreate(key, false).subarray(1)).subarray(12));
  return Array.from({ length: count }, () => {
    const digest = randomBytes(32);
    const { signature, recid } = secp256k1.ecdsaSign(digest, key);
    const [r, s] = [toHex(signature.subarray(0, 32)), toHex(signature.subarray(32))];
    return { quoteId: toHex(digest), provider, signature: { r, s, v: 27 + recid } };
  });
}

/** Every third signature has another signer, or an invalid `v`. */
function withForgeries(claimed: readonly ClaimedSignature[]): ClaimedSignature[] {
  return claimed.map((each, i) => {
    if (i % 6 === 1) return { ...each, provider: toHex(randomBytes(20)) };
    if (i % 6 === 4) return { ...each, signature: { ...each.signature, v: each.signature.v + 256 } };
    return each;
  });
}

const expected = (count: number): boolean[] => Array.from({ length: count }, (_, i) => i % 3 !== 1);

function openPool(t: Test, fallback = inline): SignaturePool {
  const pool = new SignaturePool(fallback, limits, (error) => t.fail('a thread failed', { error }));
  t.teardown(() => pool.close());
  return pool;
}

t.test(
  'the pool and this thread say the same of every signature, in order, whatever the size of the batch',
  async (t) => {
    const pool = openPool(t);
    for (const count of [0, 1, 3, 4, 7, 16, 17, 100]) {
      const claimed = withForgeries(signed(count));
      t.same(await inline.verifyAll(claimed), expected(count), `${count} on this thread`);
      t.same(await pool.verifyAll(claimed), expected(count), `${count} in the pool`);
    }
  },
);

t.test('batches that are under way together get their own answers', async (t) => {
  const pool = openPool(t);
  const batches = [40, 5, 64, 9].map((count) => withForgeries(signed(count)));
  const verdicts = await Promise.all(batches.map((claimed) => pool.verifyAll(claimed)));
  t.same(
    verdicts,
    batches.map(({ length }) => expected(length)),
  );
});

/** Checks on this thread, and how many were asked of it. */
class Counting extends InlineSignatureChecks {
  asked = 0;

  override verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    this.asked += claimed.length;
    return super.verifyAll(claimed);
  }
}

t.test('a batch that is too small for the way there is checked on this thread', async (t) => {
  const counting = new Counting(signatures, systemClock, 10);
  const pool = openPool(t, counting);
  await pool.verifyAll(signed(3));
  t.equal(counting.asked, 3);
  await pool.verifyAll(signed(4));
  t.equal(counting.asked, 3, 'and a larger one is not');
});

/** Those that are started until the test ends. */
function threadsOf(t: Test): readonly Worker[] {
  const threads: Worker[] = [];
  const note = (thread: Worker): unknown => threads.push(thread);
  process.on('worker', note);
  t.teardown(() => process.off('worker', note));
  return threads;
}

t.test('what a thread that dies leaves undone is checked on this one, and so is all that comes later', async (t) => {
  const threads = threadsOf(t);
  const faults: unknown[] = [];
  const pool = new SignaturePool(inline, limits, (error) => faults.push(error));
  t.teardown(() => pool.close());
  const claimed = withForgeries(signed(200));
  t.same(await pool.verifyAll(claimed), expected(200));
  for (const thread of threads) thread.postMessage({ id: -1, bytes: 'none' });
  t.same(await pool.verifyAll(claimed), expected(200));
  t.equal(faults.length, limits.signatureWorkers);
  t.same(await pool.verifyAll(claimed), expected(200));
});

t.test('where one of two threads dies, the other does the work', async (t) => {
  const threads = threadsOf(t);
  const faults: unknown[] = [];
  const counting = new Counting(signatures, systemClock, 10);
  const pool = new SignaturePool(counting, limits, (error) => faults.push(error));
  t.teardown(() => pool.close());
  const claimed = withForgeries(signed(200));
  await pool.verifyAll(claimed);
  threads[0]?.postMessage({ id: -1, bytes: 'none' });
  t.same(await pool.verifyAll(claimed), expected(200));
  t.equal(faults.length, 1);
  t.ok(counting.asked > 0 && counting.asked < 200, `what it had is checked on this thread: ${counting.asked}`);
  const { asked } = counting;
  t.same(await pool.verifyAll(claimed), expected(200));
  t.equal(counting.asked, asked, 'and nothing else');
});

t.test(
  'where the system starts fewer threads than there should be, those there are do the work, or this one',
  async (t) => {
    for (const started of [0, 1]) {
      let room = started;
      const startThread = (): Worker => {
        if (room === 0) throw new Error('EAGAIN');
        room -= 1;
        return new Worker(new URL('../../src/auth/signature-worker.js', import.meta.url));
      };
      const faults: unknown[] = [];
      const counting = new Counting(signatures, systemClock, 10);
      const pool = new SignaturePool(counting, limits, (error) => faults.push(error), startThread);
      t.teardown(() => pool.close());
      const claimed = withForgeries(signed(100));
      t.same(await pool.verifyAll(claimed), expected(100), `${started} threads`);
      t.same(await pool.verifyAll(claimed), expected(100), `${started} threads, asked again`);
      t.equal(counting.asked, started === 0 ? 200 : 0);
      t.equal(faults.length, 1, 'reports the fault once');
    }
  },
);

t.test('a thread that has nothing to do keeps no process alive, whether or not it ever had', async (t) => {
  const threads = threadsOf(t);
  const pool = openPool(t);
  await pool.verifyAll(signed(limits.signaturePoolFrom));
  t.equal(threads.length, 2);
  t.notOk(process.getActiveResourcesInfo().includes('MessagePort'));
});

t.test('a pool that is closed answers what is under way, and what comes later', async (t) => {
  const pool = openPool(t);
  const claimed = withForgeries(signed(200));
  const underWay = pool.verifyAll(claimed);
  await pool.close();
  t.same(await underWay, expected(200));
  t.same(await pool.verifyAll(claimed), expected(200));
});

t.test('a pool can be closed at any moment of the start of its threads', async (t) => {
  const claimed = signed(limits.signaturePoolFrom);
  for (let afterMs = 0; afterMs < 60; afterMs += 4) {
    const pool = new SignaturePool(inline, limits, (error) => t.fail('a thread failed', { error }));
    const underWay = pool.verifyAll(claimed);
    await new Promise<void>((resolve) => systemClock.after(afterMs, resolve));
    await pool.close();
    t.same(await underWay, [true, true, true, true], `after ${afterMs} ms`);
  }
});

t.test('checks on this thread let others have their turn', async (t) => {
  let checked = 0;
  const turns: number[] = [];
  const clock = {
    ...systemClock,
    after(_delayMs: number, task: () => void) {
      setImmediate(() => {
        turns.push(checked);
        task();
      });
      return () => undefined;
    },
  };
  const counting = new QuoteSignature(digests, await loadSecp256k1());
  const verify = counting.verify.bind(counting);
  counting.verify = (each) => {
    checked += 1;
    return verify(each);
  };
  await new InlineSignatureChecks(counting, clock, 10).verifyAll(signed(41));
  t.strictSame(turns, [10, 20, 30, 40]);
});

const hex = (n: number, digits: number): Hex => `0x${n.toString(16).padStart(digits, '0')}`;

const claim = (n: number): ClaimedSignature => ({
  quoteId: hex(n, 64),
  provider: hex(1, 40),
  signature: { r: hex(n + 1, 64), s: hex(n + 2, 64), v: 27 },
});

/** Checks that find all good but those with an odd id, and note what they were asked. */
function counted(capacity: number) {
  const asked: string[] = [];
  let isClosed = false;
  const remembered = new SignatureCache(
    {
      verifyAll(claimed) {
        asked.push(claimed.map(({ quoteId }) => Number(quoteId)).join(' '));
        return Promise.resolve(claimed.map(({ quoteId }) => Number(quoteId) % 2 === 0));
      },
      close() {
        isClosed = true;
        return Promise.resolve();
      },
    },
    capacity,
  );
  return { asked, remembered, isClosed: () => isClosed };
}

t.test('a good signature is checked once for the post and not again for its event', async (t) => {
  const { asked, remembered } = counted(10);
  t.same(await remembered.verifyAll([claim(2), claim(3), claim(4)]), [true, false, true]);
  t.same(await remembered.verifyAll([claim(6), claim(4), claim(3), claim(2)]), [true, true, false, true]);
  t.same(asked, ['2 3 4', '6 3'], 'a bad one is never remembered');
});

t.test('a third time it is checked again', async (t) => {
  const { asked, remembered } = counted(10);
  for (let time = 0; time < 3; time++) t.same(await remembered.verifyAll([claim(2)]), [true]);
  t.same(asked, ['2', '2']);
});

t.test('anything else under a known id is checked', async (t) => {
  const { asked, remembered } = counted(10);
  await remembered.verifyAll([claim(2)]);
  const { signature, ...rest } = claim(2);
  const others: ClaimedSignature[] = [
    { ...rest, signature: { ...signature, r: hex(9, 64) } },
    { ...rest, signature: { ...signature, s: hex(9, 64) } },
    { ...rest, signature: { ...signature, v: 28 } },
    { ...rest, signature, provider: hex(9, 40) },
  ];
  await remembered.verifyAll(others);
  t.same(asked, ['2', '2 2 2 2']);
});

t.test('no more are remembered than there is room for: the oldest are forgotten', async (t) => {
  const { asked, remembered } = counted(2);
  await remembered.verifyAll([claim(2), claim(4), claim(6)]);
  await remembered.verifyAll([claim(6), claim(4), claim(2)]);
  t.same(asked, ['2 4 6', '2']);
});

t.test('also where some were asked for again, or came a second time, in between', async (t) => {
  const { asked, remembered } = counted(3);
  await remembered.verifyAll([2, 4, 6, 8].map(claim));
  t.same(await remembered.verifyAll([claim(4)]), [true]);
  await remembered.verifyAll([claim(10)]);
  await remembered.verifyAll([claim(4)]);
  asked.length = 0;
  t.same(await remembered.verifyAll([8, 10, 4, 6].map(claim)), [true, true, true, true]);
  t.same(asked, ['6'], 'the oldest of four was forgotten');
});

t.test('what checks for it is closed with it', async (t) => {
  const { remembered, isClosed } = counted(1);
  await remembered.close();
  t.ok(isClosed());
});
