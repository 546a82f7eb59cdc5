import t from 'tap';
import { RememberedSignatures } from '../../src/auth/remembered-signatures.js';
import type { ClaimedSignature } from '../../src/auth/packed-signatures.js';
import type { Hex } from '../../src/engine/quote.js';

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
  const remembered = new RememberedSignatures(
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
