import t from 'tap';
import { ChainMoved, reorgAncestor } from '../../../src/chain/follow/cursor.js';
import { ReadBlocks } from '../../../src/chain/follow/read-blocks.js';
import { RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import { ScriptedChain, timeOf } from '../scripted-chain.js';
import { cursorFarAhead, cursorOn, readAll } from '../scripted-cursor.js';

t.test('blocks are read once, from the first that matters to the newest', async (t) => {
  const chain = new ScriptedChain(12);
  const { cursor, heads } = cursorOn(chain, { reorgDepth: 1000 });
  t.strictSame(await readAll(cursor), [[10, 12]]);
  t.strictSame(await readAll(cursor), []);
  chain.mine(3);
  t.strictSame(await readAll(cursor), [[13, 15]]);
  t.strictSame(cursor.position, chain.id(15));
  t.ok(heads.length > 3, 'onHead gets every head, also one seen before');
});

t.test('onRead is called when nothing is left, and when a range or a reorg is in the book', async (t) => {
  const chain = new ScriptedChain(12);
  const { cursor, reads } = cursorOn(chain);
  cursor.moveTo(chain.id(9));
  t.equal(reads(), 1, 'a place to go on from');
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  t.equal(reads(), 1, 'a range that is yet to be read');
  cursor.narrow(step);
  t.equal(reads(), 1, 'one that the node refused');
  cursor.advance(step, []);
  t.equal(reads(), 2, 'one that was read');
  await cursor.poll();
  await cursor.poll();
  t.equal(reads(), 4, 'nothing new, each time');
});

t.test('reading is not told of while the node lags', async (t) => {
  const { chain, cursor, clock, reads } = await cursorFarAhead();
  const before = reads();
  chain.cutTo(30);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(1000);
  await t.rejects(cursor.poll());
  t.equal(reads(), before);
});

t.test('before the first block that matters there is nothing to read, and which it is is asked once', async (t) => {
  let asked = 0;
  const { cursor } = cursorOn(new ScriptedChain(5), { firstBlock: () => Promise.resolve(10 + asked++) });
  t.strictSame(await readAll(cursor), []);
  t.strictSame(await readAll(cursor), []);
  t.equal(cursor.position, null);
  t.equal(asked, 1);
});

t.test('it begins at the block before the first that matters', async (t) => {
  const chain = new ScriptedChain(12);
  t.strictSame(await cursorOn(chain).cursor.poll(), { type: 'BEGIN', at: chain.id(9) });
  const fromGenesis = cursorOn(chain, { firstBlock: () => Promise.resolve(0) });
  t.strictSame(await fromGenesis.cursor.poll(), { type: 'BEGIN', at: chain.id(0) });
});

t.test('ranges are bounded, and end where a reorg can begin', async (t) => {
  const { cursor } = cursorOn(new ScriptedChain(250));
  t.strictSame(await readAll(cursor), [
    [10, 109],
    [110, 209],
    [210, 242],
    [243, 250],
  ]);
});

t.test('a refused range is halved down to one block, and grows again when it is taken', async (t) => {
  const chain = new ScriptedChain(1000);
  const { cursor } = cursorOn(chain, { reorgDepth: 1 });
  cursor.moveTo(chain.id(9));
  for (const expected of [100, 50, 25, 13, 7, 4, 2]) {
    const step = await cursor.poll();
    if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
    t.equal(step.to.number - step.fromBlock + 1, expected);
    t.equal(cursor.narrow(step), true);
  }
  const single = await cursor.poll();
  if (single.type !== 'BLOCKS') throw new Error('Blocks were expected');
  t.equal(cursor.narrow(single), false, 'one block cannot be halved');
  cursor.advance(single, []);
  const sizes = (await readAll(cursor)).map(([from, to]) => to - from + 1);
  t.strictSame(sizes.slice(0, 7), [2, 4, 8, 16, 32, 64, 100]);
});

t.test('only blocks with enough blocks after them are read', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain, { confirmations: 4, reorgDepth: 1000 });
  t.strictSame(await readAll(cursor), [[10, 16]]);
  chain.cutTo(17);
  chain.mine(3, 'b');
  t.strictSame(await readAll(cursor), [], 'a reorg among the unconfirmed is never noticed');
  chain.mine(1, 'b');
  t.strictSame(await readAll(cursor), [[17, 17]]);
});

t.test('a chain that is shorter than that has nothing to be read', async (t) => {
  const chain = new ScriptedChain(3);
  const { cursor, reads } = cursorOn(chain, { confirmations: 4, firstBlock: () => Promise.resolve(0) });
  t.match(await cursor.poll(), { type: 'IDLE' });
  t.equal(reads(), 1);
  chain.mine(1);
  t.strictSame(await cursor.poll(), { type: 'BEGIN', at: chain.id(0) });
});

t.test('one answer shows that nothing is new, or what the next block is', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  await readAll(cursor);
  const asked = chain.requests.length;
  t.match(await cursor.poll(), { type: 'IDLE' });
  chain.mine(1);
  t.match(await cursor.poll(), { type: 'BLOCKS', fromBlock: 21, to: { number: 21 } });
  t.equal(chain.requests.length - asked, 2);
});

t.test(
  'new blocks near the head are asked for their headers, and these show that the last one read stands',
  async (t) => {
    const chain = new ScriptedChain(20);
    const { cursor } = cursorOn(chain, { nearBlocks: 3, reorgDepth: 1000 });
    cursor.moveTo(chain.id(17));
    const asked = chain.requests.length;
    const near = await cursor.poll();
    if (near.type !== 'BLOCKS') throw new Error('Blocks were expected');
    t.strictSame(
      near.heads.map(({ hash }) => hash),
      [18, 19, 20].map((number) => chain.hash(number)),
    );
    t.equal(chain.requests.length - asked, 3);
    cursor.advance(near, []);
    chain.mine(4);
    t.match(await cursor.poll(), { type: 'BLOCKS', fromBlock: 21, heads: [] }, 'there are too many');
  },
);

t.test('headers that do not follow each other are of two branches', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain, { nearBlocks: 3 });
  cursor.moveTo(chain.id(17));
  const request = chain.request.bind(chain);
  chain.request = async (asked) => {
    const answer = await request(asked);
    if ((asked.params as [string])[0] === 'latest') {
      chain.cutTo(18);
      chain.mine(2, 'b');
    }
    return answer;
  };
  await t.rejects(cursor.poll(), ChainMoved);
});

t.test('a header that the node lacks leaves those above it', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain, { nearBlocks: 3 });
  cursor.moveTo(chain.id(17));
  chain.lose(18);
  const step = await cursor.poll();
  t.match(step, { type: 'BLOCKS', fromBlock: 18, heads: [{ number: 19 }, { number: 20 }] });
  const request = chain.request.bind(chain);
  chain.request = (asked) =>
    Number((asked.params as [string])[0]) === 19
      ? Promise.reject(new RpcError(-32000, 'header not found', null))
      : request(asked);
  t.match(await cursor.poll(), { type: 'BLOCKS', fromBlock: 18, heads: [{ number: 20 }] }, 'one that it refuses, too');
});

t.test('blocks that a subscription announces are read without a request', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, clock, heard, heads, reads } = cursorOn(chain);
  heard.open();
  await readAll(cursor);
  const asked = chain.requests.length;
  chain.mine(2);
  for (const number of [21, 22]) heard.add(headOf(chain, number));
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  t.match(step, { fromBlock: 21, to: { number: 22 }, isLast: true, isHeard: true, heads: { length: 2 } });
  t.equal(heads.at(-1), 22);
  cursor.advance(step, []);
  const before = reads();
  t.match(await cursor.poll(), { type: 'IDLE' });
  t.equal(reads(), before + 1);
  t.equal(chain.requests.length, asked);
  t.equal(cursor.askAgain(), true);
  await cursor.poll();
  t.equal(chain.requests.length, asked + 1, 'until it is said that they are no good');
  clock.advance(5_000);
  await cursor.poll();
  t.equal(chain.requests.length, asked + 2, 'or for a while');
});

t.test('announced blocks wait for the blocks that have to follow them', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, heard } = cursorOn(chain, { confirmations: 2 });
  heard.open();
  await readAll(cursor);
  heard.add(headOf(chain, 19));
  heard.add(headOf(chain, 20));
  t.match(await cursor.poll(), { type: 'IDLE' });
  chain.mine(1);
  heard.add(headOf(chain, 21));
  t.match(await cursor.poll(), { type: 'BLOCKS', fromBlock: 19, to: { number: 19 }, isHeard: true });
});

t.test('a node that has not got the announced blocks yet does not lag', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, heard, heads, lags } = cursorOn(chain);
  heard.open();
  await readAll(cursor);
  const ahead = new ScriptedChain(21);
  heard.add(headOf(ahead, 21));
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  cursor.advance(step, []);
  cursor.askAgain();
  heard.add(headOf(chain, 20));
  heard.add(headOf(ahead, 21));
  t.match(await cursor.poll(), { type: 'IDLE' });
  t.strictSame([lags(), heads.at(-1)], [0, 21]);
});

t.test('an announced block that does not follow the one that was read is looked for at the node', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, heard } = cursorOn(chain);
  heard.open();
  await readAll(cursor);
  chain.mine(1);
  heard.add(headOf(chain, 21));
  await readAll(cursor);
  chain.cutTo(20);
  chain.mine(2, 'b');
  heard.add(headOf(chain, 22));
  t.match(await cursor.poll(), { type: 'REORG', ancestor: chain.id(20) });
});

/** As a subscription announces it. */
function headOf(chain: ScriptedChain, number: number) {
  return { number, hash: chain.hash(number), parentHash: chain.hash(number - 1), timestamp: timeOf(number) };
}

t.test('newestFarAbove returns a block only above what a reorg can take back', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  t.equal(cursor.newestFarAbove(chain.id(1)), null, 'none is known yet');
  await cursor.poll();
  t.equal(cursor.newestFarAbove(chain.id(12)), null);
  t.strictSame(cursor.newestFarAbove(chain.id(11)), chain.id(20));
});

t.test('a range whose end was replaced while it was read counts for nothing', async (t) => {
  const chain = new ScriptedChain(15);
  const { cursor } = cursorOn(chain, { reorgDepth: 1000 });
  cursor.moveTo(chain.id(9));
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  await cursor.confirm(step);
  chain.cutTo(14);
  chain.mine(1, 'b');
  await t.rejects(cursor.confirm(step), ChainMoved);
});

t.test('a range that another node took over in the middle of counts for nothing', async (t) => {
  const chain = new ScriptedChain(15);
  const { cursor } = cursorOn(chain, { reorgDepth: 1000 });
  cursor.moveTo(chain.id(9));
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  chain.switches += 1;
  await t.rejects(cursor.confirm(step), ChainMoved);
  const again = await cursor.poll();
  if (again.type !== 'BLOCKS') throw new Error('Blocks were expected');
  await t.resolves(cursor.confirm(again), 'by that node alone it is read');
});

t.test('after a restart reading goes on behind the last block', async (t) => {
  const chain = new ScriptedChain(22);
  const { cursor } = cursorOn(chain, {}, { trail: [chain.id(12), chain.id(18), chain.id(20)], isPartial: false });
  t.strictSame(cursor.position, chain.id(20));
  t.strictSame(await readAll(cursor), [[21, 22]]);
});

t.test('after a restart a partly applied block is read again, if it is still there', async (t) => {
  const chain = new ScriptedChain(22);
  const resume = { trail: [chain.id(18), chain.id(20)], isPartial: true };
  const { cursor } = cursorOn(chain, {}, resume);
  t.equal(cursor.position, null, 'no block is read completely until then');
  t.strictSame(await readAll(cursor), [[20, 22]]);

  chain.cutTo(19);
  chain.mine(4, 'b');
  const { cursor: onBranch } = cursorOn(chain, {}, resume);
  t.strictSame(await onBranch.poll(), { type: 'REORG', ancestor: chain.id(18) });
  onBranch.moveTo(chain.id(18));
  t.strictSame(await readAll(onBranch), [[19, 23]]);
});

/** Blocks 17, 18 and 20 of a chain of 20 were read. */
function read() {
  const chain = new ScriptedChain(20);
  const trail = new ReadBlocks([17, 18, 20].map((number) => chain.id(number)));
  const ancestor = async () => {
    const { reader } = chain;
    return reorgAncestor(trail, await reader.head(), (number) => reader.findBlock(number));
  };
  return { chain, ancestor };
}

t.test('it is the newest of the blocks that were read which both branches share', async (t) => {
  const { chain, ancestor } = read();
  t.strictSame(await ancestor(), chain.id(20));
  chain.cutTo(19);
  chain.mine(5, 'b');
  t.strictSame(await ancestor(), chain.id(18), 'of block 19 nothing is known');
});

t.test('a block that the node has lost is passed over', async (t) => {
  const { chain, ancestor } = read();
  chain.lose(20);
  chain.lose(18);
  chain.mine(1);
  t.strictSame(await ancestor(), chain.id(17));
});

t.test('no ancestor is found if the whole remembered chain was replaced', async (t) => {
  const { chain, ancestor } = read();
  chain.cutTo(16);
  chain.mine(5, 'b');
  t.equal(await ancestor(), null);
});

t.test('where one of them is lost and no other is there, nothing is known', async (t) => {
  const { chain, ancestor } = read();
  chain.cutTo(16);
  chain.mine(5, 'b');
  chain.lose(18);
  await t.rejects(ancestor(), new ChainAnswerError('The node lacks block 18, below its own head'));
});

t.test('a node whose head is below all of them is behind', async (t) => {
  const { chain, ancestor } = read();
  chain.cutTo(16);
  await t.rejects(ancestor(), /its head 16 is below block 17, the oldest/);
});
