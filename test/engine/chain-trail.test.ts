import t from 'tap';
import { ChainTrail } from '../../src/engine/chain-trail.js';
import { NO_BLOCK } from '../../src/engine/order-book.js';
import { at, blockHashOf } from './samples.js';

function read(trail: ChainTrail, ...blockNumbers: number[]): ChainTrail {
  for (const blockNumber of blockNumbers) trail.advance(at('stream', blockNumber));
  trail.checkInvariants();
  return trail;
}

const heights = (trail: ChainTrail) => trail.blocks.map(({ blockNumber }) => blockNumber);

t.test('a trail begins with the first block that is read', async (t) => {
  const trail = new ChainTrail(4);
  t.equal(trail.position, null);
  read(trail, 7);
  t.same(trail.position, at('stream', 7));
  t.same(trail.blocks, [{ blockNumber: 7, blockHash: blockHashOf(7) }]);
});

t.test('blocks beyond the depth are dropped, and what lies below the oldest is final', async (t) => {
  const trail = read(new ChainTrail(4), 1, 2, 3, 4, 5, 6, 7);
  t.same(heights(trail), [3, 4, 5, 6, 7]);
  t.equal(trail.floor, 3);
});

t.test('nothing is final before as many blocks as the depth lie behind', async (t) => {
  const trail = read(new ChainTrail(4), 3, 6);
  t.equal(trail.floor, NO_BLOCK);
  trail.rewind(at('stream', 2));
  t.same(heights(trail), [2], 'not even the first block that was read');
  t.equal(read(trail, 5).floor, NO_BLOCK);
  t.equal(read(trail, 6).floor, 2);
});

t.test('a reader with long strides keeps an ancestor', async (t) => {
  const trail = read(new ChainTrail(4), 100, 200);
  t.same(heights(trail), [100, 200]);
  t.equal(trail.floor, 100);
  t.same(heights(read(trail, 201, 202)), [100, 200, 201, 202]);
  t.same(heights(read(trail, 204)), [200, 201, 202, 204]);
});

t.test('a position within a block moves on to the end of the block', async (t) => {
  const trail = read(new ChainTrail(4), 5);
  trail.advance({ ...at('stream', 6), logIndex: 2 });
  trail.advance({ ...at('stream', 6), logIndex: 1 });
  t.equal(trail.position?.logIndex, 2);
  trail.advance({ ...at('stream', 6), logIndex: 3 });
  t.equal(trail.position?.logIndex, 3);
  trail.advance(at('stream', 6));
  t.equal(trail.position?.logIndex, null);
  trail.advance({ ...at('stream', 6), logIndex: 9 });
  t.equal(trail.position?.logIndex, null);
  t.same(heights(trail), [5, 6]);
});

t.test('a position that was passed, or is on another branch, changes nothing', async (t) => {
  const trail = read(new ChainTrail(4), 5);
  trail.advance({ ...at('stream', 6), logIndex: 2 });
  trail.advance(at('stream', 5));
  trail.advance(at('stream', 6, 1));
  t.same(trail.position, { ...at('stream', 6), logIndex: 2 });
});

t.test('a rewind goes back to the block it names, remembered or not', async (t) => {
  const trail = read(new ChainTrail(4), 5, 6, 8);
  trail.rewind(at('stream', 7));
  t.same(heights(trail), [5, 6, 7]);
  trail.rewind(at('stream', 6));
  t.same(heights(trail), [5, 6]);
  t.same(trail.position, at('stream', 6));
  t.same(heights(read(trail, 7, 8)), [5, 6, 7, 8]);
});

t.test('a rewind does not make final blocks open again', async (t) => {
  const trail = read(new ChainTrail(4), 1, 2, 3, 4, 5, 6, 7);
  trail.rewind(at('stream', 3));
  t.equal(trail.floor, 3);
  t.throws(() => trail.rewind(at('stream', 2)), { name: 'AssertionFailure' });
});

t.test('a rewind to a block ahead, which a reader went through in silence, drops old blocks too', async (t) => {
  const trail = read(new ChainTrail(4), 1, 2, 3);
  trail.rewind(at('stream', 9));
  trail.checkInvariants();
  t.same(heights(trail), [3, 9]);
  t.equal(trail.floor, 3);
});
