import t from 'tap';
import { ChainAnswerError } from '../../src/chain/chain-answer-error.js';
import { ChainCursor, ChainMoved, DeepReorg, type CursorOptions, type Resume } from '../../src/chain/chain-cursor.js';
import { ManualClock } from '../system/manual-clock.js';
import { ScriptedChain } from './scripted-chain.js';

const OPTIONS = { confirmations: 0, reorgDepth: 8, maxRange: 100, lowerHeadMs: 1000 };
const NOTHING: Resume = { trail: [], isPartial: false };

function cursorOn(chain: ScriptedChain, options: Partial<CursorOptions> = {}, resume = NOTHING) {
  const clock = new ManualClock();
  const heads: number[] = [];
  let lags = 0;
  let reorgs = 0;
  let reads = 0;
  const all = { ...OPTIONS, firstBlock: () => Promise.resolve(10), ...options };
  const cursor = new ChainCursor(chain.reader, all, resume, clock, {
    onHead: ({ number }) => heads.push(number),
    onLag: () => lags++,
    onReorg: () => reorgs++,
    onRead: () => reads++,
  });
  return { cursor, clock, heads, lags: () => lags, reorgs: () => reorgs, reads: () => reads };
}

/** Reads until there is nothing left; the ranges it took. */
async function readAll(cursor: ChainCursor): Promise<[from: number, to: number][]> {
  const ranges: [number, number][] = [];
  for (;;) {
    const step = await cursor.poll();
    if (step.type === 'IDLE') return ranges;
    if (step.type === 'REORG') throw new Error('No reorg was expected');
    if (step.type === 'BEGIN') {
      cursor.moveTo(step.at);
      continue;
    }
    ranges.push([step.fromBlock, step.to.number]);
    cursor.advance(step, []);
  }
}

t.test('blocks are read once, from the first that matters to the newest', async (t) => {
  const chain = new ScriptedChain(12);
  const { cursor, heads } = cursorOn(chain, { reorgDepth: 1000 });
  t.strictSame(await readAll(cursor), [[10, 12]]);
  t.strictSame(await readAll(cursor), []);
  chain.mine(3);
  t.strictSame(await readAll(cursor), [[13, 15]]);
  t.strictSame(cursor.position, chain.id(15));
  t.ok(heads.length > 3, 'every head is told, also one seen before');
});

t.test('reading is told of when nothing is left, and when a range or a reorg is in the book', async (t) => {
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

t.test('the newest block is told of only above what a reorg can take back', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  t.equal(cursor.newestFarAbove(chain.id(1)), null, 'none is known yet');
  await cursor.poll();
  t.equal(cursor.newestFarAbove(chain.id(12)), null);
  t.strictSame(cursor.newestFarAbove(chain.id(11)), chain.id(20));
});

t.test('a reorg goes back to the newest block that both branches share', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, reorgs } = cursorOn(chain);
  await readAll(cursor);
  for (const height of [21, 22, 23]) {
    chain.mine(1);
    t.equal(chain.height, height);
    await readAll(cursor);
  }
  t.equal(reorgs(), 0);
  chain.cutTo(21);
  chain.mine(5, 'b');
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(21) });
  t.equal(reorgs(), 1, 'and the listener hears of it');
  cursor.moveTo(chain.id(21));
  t.strictSame(await readAll(cursor), [[22, 26]]);
});

t.test('blocks inside a range that the book was told of count as ancestors', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  await readAll(cursor);
  chain.mine(5);
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  cursor.advance(step, [chain.id(22), chain.id(24)]);
  chain.cutTo(23);
  chain.mine(3, 'b');
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(22) });
});

t.test('a reorg as deep as is followed is followed; a deeper one stops the cursor', async (t) => {
  for (const [depth, isFollowed] of [
    [8, true],
    [9, false],
  ] as const) {
    const { chain, cursor } = await cursorFarAhead();
    chain.cutTo(40 - depth);
    chain.mine(depth, 'b');
    if (isFollowed) t.match(await cursor.poll(), { type: 'REORG', ancestor: { blockNumber: 40 - depth } });
    else await t.rejects(cursor.poll(), DeepReorg);
  }
});

t.test('a chain younger than the depth may be replaced from its first block on', async (t) => {
  const chain = new ScriptedChain(14);
  const { cursor } = cursorOn(chain);
  await readAll(cursor);
  chain.cutTo(9);
  chain.mine(6, 'b');
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(9) });
});

t.test('a lower head on the same branch is a node that lags, until it has said so for long enough', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, clock, lags } = cursorOn(chain);
  await readAll(cursor);
  chain.mine(2);
  await readAll(cursor);
  chain.cutTo(20);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(999);
  t.match(await cursor.poll(), { type: 'IDLE' });
  t.equal(lags(), 2, 'each time another node is asked for');
  chain.mine(2);
  t.match(await cursor.poll(), { type: 'IDLE' }, 'it has caught up');
  chain.cutTo(20);
  t.match(await cursor.poll(), { type: 'IDLE' }, 'and the patience starts anew');
  clock.advance(1000);
  t.match(await cursor.poll(), { type: 'REORG', ancestor: chain.id(20) });
});

t.test('a lower head on another branch is a reorg at once', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  await readAll(cursor);
  chain.mine(1);
  await readAll(cursor);
  chain.cutTo(19);
  chain.mine(1, 'b');
  t.match(await cursor.poll(), { type: 'REORG' });
});

/** A cursor that has read blocks 21 and 22 one by one, and a head well above them. */
async function cursorAt22() {
  const chain = new ScriptedChain(20);
  const on = cursorOn(chain);
  await readAll(on.cursor);
  for (let n = 0; n < 2; n++) {
    chain.mine(1);
    await readAll(on.cursor);
  }
  chain.mine(3);
  return { chain, ...on };
}

/** A cursor that has read to block 40, and block by block as far down as reorgs are followed. */
async function cursorFarAhead() {
  const chain = new ScriptedChain(30);
  const on = cursorOn(chain);
  await readAll(on.cursor);
  for (let n = 0; n < 10; n++) {
    chain.mine(1);
    await readAll(on.cursor);
  }
  return { chain, ...on };
}

t.test('a node that lacks the last block for a while lags, and reading goes on when it has it', async (t) => {
  const { chain, cursor, clock, lags } = await cursorAt22();
  chain.lose(22);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(999);
  t.match(await cursor.poll(), { type: 'IDLE' });
  t.equal(lags(), 2, 'each time another node is asked for');
  chain.findAgain(22);
  t.strictSame(await readAll(cursor), [[23, 25]]);
});

t.test('from a block that a node has lost reading goes back to the newest one that it has', async (t) => {
  const { chain, cursor, clock } = await cursorAt22();
  chain.lose(22);
  chain.lose(21);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(1000);
  const step = await cursor.poll();
  t.strictSame(step, { type: 'REORG', ancestor: chain.id(20) });
  cursor.moveTo(chain.id(20));
  t.strictSame(await readAll(cursor), [[21, 25]]);
});

t.test('a block known from its child alone is no place to go back to', async (t) => {
  const { chain, cursor, clock } = await cursorAt22();
  chain.cutTo(22);
  await readAll(cursor);
  chain.lose(21);
  chain.cutTo(21);
  chain.mine(1, 'b');
  clock.advance(1000);
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(20) });
});

t.test('a node that has lost all that was read is no deep reorg: it is asked again', async (t) => {
  const { chain, cursor, clock } = await cursorAt22();
  for (let number = 0; number <= 22; number++) chain.lose(number);
  await cursor.poll();
  clock.advance(1000);
  await t.rejects(cursor.poll(), ChainAnswerError);
  chain.findAgain(20);
  t.match(await cursor.poll(), { type: 'REORG', ancestor: { blockNumber: 20 } });
});

t.test('nor is one that has lost the older ones, and has others for the newer ones', async (t) => {
  const { chain, cursor } = await cursorAt22();
  for (let number = 0; number <= 20; number++) chain.lose(number);
  chain.cutTo(20);
  chain.mine(5, 'b');
  await t.rejects(cursor.poll(), ChainAnswerError);
});

t.test('a node below all that was read is no deep reorg: reading goes on when it has caught up', async (t) => {
  const { chain, cursor, clock, lags } = await cursorFarAhead();
  chain.cutTo(30);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(1000);
  await t.rejects(cursor.poll(), ChainAnswerError);
  clock.advance(3_600_000);
  await t.rejects(cursor.poll(), {
    name: 'ChainAnswerError',
    message: /head 30 is below block 32,/,
  });
  t.equal(lags(), 3, 'each time another node is asked for');
  chain.mine(12);
  t.strictSame(await readAll(cursor), [[41, 42]]);
});

t.test('on the way up it is followed from the oldest block that reading can go back to', async (t) => {
  const { chain, cursor, clock } = await cursorFarAhead();
  chain.cutTo(30);
  await cursor.poll();
  clock.advance(1000);
  await t.rejects(cursor.poll(), ChainAnswerError);
  chain.mine(3);
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(33) });
});

t.test('a node that comes back from below on another branch is a deep reorg', async (t) => {
  const { chain, cursor, clock } = await cursorFarAhead();
  chain.cutTo(30);
  await cursor.poll();
  clock.advance(1000);
  await t.rejects(cursor.poll(), ChainAnswerError);
  chain.mine(12, 'b');
  await t.rejects(cursor.poll(), DeepReorg);
});

t.test('a node that shows again what it lacked is given as long the next time', async (t) => {
  const { chain, cursor, clock } = await cursorAt22();
  for (let times = 0; times < 3; times++) {
    chain.lose(22);
    t.match(await cursor.poll(), { type: 'IDLE' });
    clock.advance(600);
    chain.findAgain(22);
    t.match(await cursor.poll(), { type: 'BLOCKS' });
  }
});

t.test('so is one that reading went back for', async (t) => {
  const { chain, cursor, clock } = await cursorAt22();
  chain.lose(22);
  await cursor.poll();
  clock.advance(1000);
  t.match(await cursor.poll(), { type: 'REORG', ancestor: { blockNumber: 21 } });
  cursor.moveTo(chain.id(21));
  chain.lose(21);
  t.match(await cursor.poll(), { type: 'IDLE' });
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
  chain.turn += 1;
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

t.test('after a restart a block that was told in part is read again, if it is still there', async (t) => {
  const chain = new ScriptedChain(22);
  const resume = { trail: [chain.id(18), chain.id(20)], isPartial: true };
  const { cursor } = cursorOn(chain, {}, resume);
  t.equal(cursor.position, null, 'no block is read to its end until then');
  t.strictSame(await readAll(cursor), [[20, 22]]);

  chain.cutTo(19);
  chain.mine(4, 'b');
  const { cursor: onBranch } = cursorOn(chain, {}, resume);
  t.strictSame(await onBranch.poll(), { type: 'REORG', ancestor: chain.id(18) });
  onBranch.moveTo(chain.id(18));
  t.strictSame(await readAll(onBranch), [[19, 23]]);
});
