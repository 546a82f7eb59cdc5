import t from 'tap';
import { CountedByKey } from '../../src/system/counted-by-key.js';

t.test('a key has room until it has its most, and again when one of them has ended', async (t) => {
  const counted = new CountedByKey<string>({ perKey: 2, inAll: 10 });
  counted.add('a', 'a1', 30);
  counted.add('a', 'a2', 20);
  t.equal(counted.nearestEnd('a'), 20);
  t.strictSame([counted.hasRoom('a', 19), counted.hasRoom('b', 19)], [false, true]);
  t.ok(counted.hasRoom('a', 20));
  t.strictSame([counted.has('a1'), counted.has('a2')], [true, false]);
});

t.test('one that is deleted counts no more', async (t) => {
  const counted = new CountedByKey<string>({ perKey: 1, inAll: 10 });
  counted.add('a', 'a1', 30);
  counted.delete('a1');
  counted.delete('unknown');
  t.ok(counted.hasRoom('a', 0));
  t.equal(counted.nearestEnd('a'), Infinity);
});

t.test('with too many in all, ended ones of any key go first, then the oldest of the key with most', async (t) => {
  const counted = new CountedByKey<string>({ perKey: 10, inAll: 3 });
  t.equal(counted.add('a', 'a1', 30), null);
  t.equal(counted.add('a', 'a2', 30), null);
  t.equal(counted.add('b', 'b1', 20), null);
  t.notOk(counted.hasRoom('a', 19), 'no other key has more');
  t.ok(counted.hasRoom('a', 20), 'that of b has ended');
  t.equal(counted.add('a', 'a3', 30), null);
  t.ok(counted.hasRoom('c', 20));
  t.equal(counted.add('c', 'c1', 30), 'a1');
  t.strictSame([counted.has('a1'), counted.has('c1')], [false, true]);
});

t.test('an id that is added again counts once, for the last key', async (t) => {
  const counted = new CountedByKey<string>({ perKey: 1, inAll: 2 });
  counted.add('a', 'id', 30);
  t.equal(counted.add('b', 'id', 40), null);
  t.strictSame([counted.hasRoom('a', 0), counted.hasRoom('b', 0), counted.nearestEnd('b')], [true, false, 40]);
});
