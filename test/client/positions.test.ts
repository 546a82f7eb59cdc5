import t from 'tap';
import { Positions } from '../../src/client/positions.js';

t.test('each message is the next, one that was seen, or one behind a gap', async (t) => {
  const positions = new Positions();
  t.equal(positions.take('a', 1, 0), 'GAP', 'nothing is known of the key');
  positions.set('a', 5);
  t.equal(positions.take('a', 6, 5), 'NEXT');
  t.equal(positions.take('a', 6, 5), 'SEEN');
  t.equal(positions.take('a', 9, 3), 'NEXT', 'it follows on one that was passed already');
  t.equal(positions.take('a', 12, 11), 'GAP');
  t.equal(positions.complete, 9);
});

t.test('what is complete is what is known of all keys, or what was confirmed beyond it', async (t) => {
  const positions = new Positions();
  t.equal(positions.complete, null);
  positions.set('a', 5);
  positions.set('b', 3);
  t.equal(positions.complete, 3);
  positions.confirm(8);
  positions.confirm(7);
  t.equal(positions.complete, 8);
});

t.test('a gap shows that what was confirmed did not all come', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.confirm(8);
  positions.take('a', 12, 11);
  t.equal(positions.complete, 5);
});

t.test('to go on from a place takes no key back', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.set('b', 3);
  positions.resumeFrom(4);
  t.strictSame([positions.take('b', 6, 4), positions.take('a', 6, 5)], ['NEXT', 'NEXT']);
});

t.test('after it was cleared nothing is confirmed: another log may be far behind', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.confirm(8);
  positions.clear();
  positions.set('a', 2);
  t.equal(positions.complete, 2);
});
