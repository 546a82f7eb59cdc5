import t from 'tap';
import { FilterTrust } from '../../../src/chain/follow/filter-trust.js';
import { ManualClock } from '../../system/manual-clock.js';

const DISTRUST_MS = 60_000;

function newTrust() {
  const node = { switches: 0 };
  const clock = new ManualClock();
  return { node, clock, trust: new FilterTrust(node, clock) };
}

t.test('filters are used at once, and trusted when one has been true', (t) => {
  const { trust } = newTrust();
  t.strictSame([trust.isUsable, trust.isTrusted], [true, false]);
  trust.prove();
  t.strictSame([trust.isUsable, trust.isTrusted], [true, true]);
  t.end();
});

t.test('a false one ends that for a while, and then one has to be true again', (t) => {
  const { clock, trust } = newTrust();
  t.ok(trust.isUsable);
  trust.prove();
  trust.end();
  t.strictSame([trust.isUsable, trust.isTrusted], [false, false]);
  clock.advance(DISTRUST_MS - 1);
  t.notOk(trust.isUsable);
  clock.advance(1);
  t.strictSame([trust.isUsable, trust.isTrusted], [true, false]);
  t.end();
});

t.test('another node is tried anew', (t) => {
  const { node, trust } = newTrust();
  t.ok(trust.isUsable);
  trust.prove();
  node.switches = 1;
  t.strictSame([trust.isUsable, trust.isTrusted], [true, false]);
  trust.end();
  node.switches = 2;
  t.ok(trust.isUsable);
  t.end();
});
