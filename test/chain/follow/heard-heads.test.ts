import t from 'tap';
import type { BlockHead } from '../../../src/chain/contracts/blocks-and-logs.js';
import { HeardHeads } from '../../../src/chain/follow/heard-heads.js';
import { blockHashOf } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const CHECK_MS = 5_000;
const LAG_MS = 1_000;

/** Block `number` of a branch; the branches part above block 10. */
function head(number: number, branch = 1): BlockHead {
  const hash = (n: number) => blockHashOf(n, n > 10 ? branch : 1);
  return { number, hash: hash(number), parentHash: hash(number - 1), timestamp: number };
}

const id = (number: number, branch = 1) => ({ blockNumber: number, blockHash: head(number, branch).hash });
const numbers = (heads: readonly BlockHead[] | null) => heads?.map(({ number }) => number) ?? null;

/** A subscription that has begun at block 10. */
function opened() {
  const clock = new ManualClock();
  const heard = new HeardHeads(clock, { checkMs: CHECK_MS, lagMs: LAG_MS });
  heard.open();
  heard.check(head(10));
  return { clock, heard };
}

t.test('heads are current from the first answer after the subscription has begun until it ends', (t) => {
  const heard = new HeardHeads(new ManualClock(), { checkMs: CHECK_MS, lagMs: LAG_MS });
  heard.check(head(10));
  t.notOk(heard.isCurrent, 'no subscription');
  heard.open();
  t.notOk(heard.isCurrent, 'a block may have come before it began');
  heard.check(head(10));
  t.ok(heard.isCurrent);
  heard.close();
  t.notOk(heard.isCurrent);
  heard.open();
  t.notOk(heard.isCurrent);
  t.end();
});

t.test('they are those above a block, if each is the parent of the next', (t) => {
  const { heard } = opened();
  t.strictSame(numbers(heard.after(id(10))), []);
  heard.add(head(11));
  heard.add(head(12));
  t.strictSame(numbers(heard.after(id(10))), [11, 12]);
  t.strictSame(numbers(heard.after(id(11))), [12]);
  t.strictSame(numbers(heard.after(id(12))), []);
  t.equal(heard.after(id(11, 2)), null, 'another branch');
  t.equal(heard.after(id(12, 2)), null);
  t.strictSame(numbers(heard.after(id(9))), [10, 11, 12]);
  t.equal(heard.after(id(8)), null, 'block 9 was not announced');
  t.equal(heard.after(id(13)), null, 'they end below it');
  heard.add(head(14));
  t.equal(heard.after(id(12)), null, 'one was missed');
  t.strictSame(numbers(heard.after(id(13))), [14]);
  t.end();
});

t.test('a block of another branch replaces those at its height and above', (t) => {
  const { heard } = opened();
  for (const number of [11, 12, 13]) heard.add(head(number));
  heard.add(head(11, 2));
  t.strictSame(heard.after(id(10)), [head(11, 2)]);
  t.equal(heard.after(id(13)), null);
  heard.add(head(12, 2));
  t.strictSame(heard.after(id(10)), [head(11, 2), head(12, 2)]);
  t.end();
});

t.test('the node is asked again once in a while', (t) => {
  const { clock, heard } = opened();
  clock.advance(CHECK_MS - 1);
  t.ok(heard.isCurrent);
  clock.advance(1);
  t.notOk(heard.isCurrent);
  heard.check(head(10));
  t.ok(heard.isCurrent);
  t.end();
});

t.test('a block that the node has and the subscription has not announced ends the belief in it', (t) => {
  const { heard } = opened();
  heard.check(head(11));
  t.notOk(heard.isCurrent);
  heard.add(head(11));
  t.ok(heard.isCurrent, 'until it announces that block');
  heard.check(head(11, 2));
  t.notOk(heard.isCurrent, 'a block of another branch');
  heard.add(head(12, 2));
  t.ok(heard.isCurrent);
  t.equal(heard.after(id(11)), null);
  t.end();
});

t.test('a node that is a moment behind the subscription is not behind', (t) => {
  const { clock, heard } = opened();
  heard.add(head(11));
  heard.add(head(12));
  heard.check(head(10));
  t.equal(heard.aheadOf(head(10))?.number, 12);
  t.equal(heard.aheadOf(head(12)), null, 'it has the newest block');
  heard.check(head(9));
  t.equal(heard.aheadOf(head(9))?.number, 12, 'and its parent, too, has a block that was announced');
  clock.advance(LAG_MS);
  t.equal(heard.aheadOf(head(10)), null, 'it should have the next block by now');
  t.end();
});

t.test('a header that the node gives another filter for is not believed', (t) => {
  const { clock, heard } = opened();
  heard.add({ ...head(11), logsBloom: '0x00' });
  heard.check({ ...head(11), logsBloom: '0x01' });
  t.notOk(heard.isCurrent);
  clock.advance(60_000);
  heard.check({ ...head(11), logsBloom: '0x00' });
  t.ok(heard.isCurrent);
  t.end();
});

t.test('it is known whether blocks were read by them since the node was last asked', (t) => {
  const { heard } = opened();
  t.equal(heard.askAgain(), false);
  t.notOk(heard.isCurrent, 'the node is to be asked first');
  heard.check(head(10));
  heard.use();
  t.equal(heard.askAgain(), true);
  t.equal(heard.askAgain(), false);
  heard.use();
  heard.check(head(10));
  t.equal(heard.askAgain(), false);
  t.end();
});

t.test('only the newest are kept', (t) => {
  const { heard } = opened();
  for (let number = 11; number <= 300; number += 1) heard.add(head(number));
  t.equal(heard.at(44), undefined);
  t.equal(heard.at(45)?.number, 45);
  t.equal(heard.after(id(44))?.length, 256);
  t.equal(heard.after(id(43)), null);
  t.end();
});
