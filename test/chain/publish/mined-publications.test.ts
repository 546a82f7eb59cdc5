import t from 'tap';
import { MinedPublications } from '../../../src/chain/publish/mined-publications.js';
import { sampleQuote, txHashOf } from '../../engine/samples.js';

/** One publication for each of these blocks; told by their places in the list. */
function minedIn(...blocks: readonly number[]) {
  const mined = new MinedPublications({ reorgDepth: 4, txRemembered: 3 });
  for (const [n, blockNumber] of blocks.entries()) {
    mined.add({ quotes: [sampleQuote({ n })], receipt: { txHash: txHashOf(n), blockNumber } });
  }
  const names = new Map(blocks.map((_, n) => [txHashOf(n), n]));
  return (ancestor: number) => mined.takenBackAfter(ancestor).map(({ receipt }) => names.get(receipt.txHash));
}

t.test('a reorg takes back what was mined after its ancestor', (t) => {
  const takenBackAfter = minedIn(1, 2, 3);
  t.strictSame(takenBackAfter(3), []);
  t.strictSame(takenBackAfter(1), [1, 2]);
  t.end();
});

t.test('in which block it is mined again is not known: any reorg may take that back', (t) => {
  const takenBackAfter = minedIn(1, 2);
  takenBackAfter(1);
  t.strictSame(takenBackAfter(5), [1]);
  t.end();
});

t.test('what is too deep for a reorg is forgotten, and so is what there is too much of', (t) => {
  t.strictSame(minedIn(1, 2, 5)(0), [1, 2]);
  t.strictSame(minedIn(1, 1, 1, 1)(0), [1, 2, 3]);
  t.end();
});
