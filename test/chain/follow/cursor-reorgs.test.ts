import t from 'tap';
import { DeepReorg } from '../../../src/chain/follow/cursor.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import { ScriptedChain } from '../scripted-chain.js';
import { cursorAt22, cursorFarAhead, cursorOn, readAll } from '../scripted-cursor.js';

t.test('a reorg goes back to the newest block that both branches share', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor, reorgs } = cursorOn(chain);
  await readAll(cursor);
  for (const height of [21, 22, 23]) {
    chain.mine(1);
    t.equal(chain.height, height);
    await readAll(cursor);
  }
  t.strictSame(reorgs, []);
  chain.cutTo(21);
  chain.mine(5, 'b');
  t.strictSame(await cursor.poll(), { type: 'REORG', ancestor: chain.id(21) });
  t.strictSame(reorgs, [chain.id(21)], 'and the listener hears of it');
  cursor.moveTo(chain.id(21));
  t.strictSame(await readAll(cursor), [[22, 26]]);
});

t.test('blocks inside a range with events in the book count as ancestors', async (t) => {
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

t.test('whether a range ended at a block, and not only events stood there, is known until it is gone', async (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain, {}, { trail: [chain.id(15), chain.id(16)], isPartial: false });
  const step = await cursor.poll();
  if (step.type !== 'BLOCKS') throw new Error('Blocks were expected');
  cursor.advance(step, [chain.id(18), chain.id(20)]);
  const ends = () => [16, 18, 20].filter((number) => cursor.isEnd(chain.id(number)));
  t.strictSame(ends(), [20], 'of what an earlier process read it is not known');
  cursor.moveTo(chain.id(20));
  t.strictSame(ends(), [20]);
  cursor.moveTo(chain.id(18));
  t.strictSame(ends(), []);
});

t.test('the block that reading begins behind has nothing before it: it counts as an end', (t) => {
  const chain = new ScriptedChain(20);
  const { cursor } = cursorOn(chain);
  cursor.moveTo(chain.id(9));
  t.ok(cursor.isEnd(chain.id(9)));
  t.end();
});

t.test('a reorg as deep as is followed is followed; a deeper one stops the cursor', async (t) => {
  for (const [depth, isFollowed] of [
    [8, true],
    [9, false],
  ] as const) {
    const { chain, cursor, clock } = await cursorFarAhead();
    chain.cutTo(40 - depth);
    chain.mine(depth, 'b');
    if (isFollowed) t.match(await cursor.poll(), { type: 'REORG', ancestor: { blockNumber: 40 - depth } });
    else {
      await t.rejects(cursor.poll(), ChainAnswerError);
      clock.advance(1000);
      await t.rejects(cursor.poll(), DeepReorg);
    }
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

t.test('no log of a partly applied block is skipped when the node has it again at the last moment', async (t) => {
  const chain = new ScriptedChain(22);
  const resume = { trail: [chain.id(18), chain.id(20)], isPartial: true };
  const { cursor, clock, reorgs, lags } = cursorOn(chain, {}, resume);
  chain.lose(20);
  t.match(await cursor.poll(), { type: 'IDLE' });
  clock.advance(1000);
  const polled = cursor.poll();
  while (lags() < 2) await Promise.resolve();
  chain.findAgain(20);
  t.match(await polled, { type: 'BLOCKS', fromBlock: 20 });
  t.strictSame(reorgs, []);
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

t.test('nor is one that gives other blocks than those it is asked for', async (t) => {
  const { chain, cursor } = await cursorAt22();
  for (const other of [chain.height, 3]) {
    chain.giveInstead(other);
    await t.rejects(cursor.poll(), ChainAnswerError);
  }
  chain.giveInstead(null);
  t.match(await cursor.poll(), { type: 'BLOCKS', fromBlock: 23 });
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

t.test('a chain of which nothing was read is not believed until it has been shown for long enough', async (t) => {
  const { chain, cursor, clock, lags } = await cursorFarAhead();
  const show = (branch: string) => {
    chain.cutTo(0);
    chain.mine(40, branch);
  };
  const strange = async () => {
    show('b');
    await t.rejects(cursor.poll(), {
      name: 'ChainAnswerError',
      message: /^None of the blocks 32\.\.40 that were read/,
    });
    show('a');
  };
  await strange();
  t.equal(lags(), 1, 'another node is asked for');
  clock.advance(1000);
  t.strictSame(await cursor.poll(), { type: 'IDLE' });
  await strange();
  clock.advance(999);
  await strange();
  chain.mine(1);
  t.strictSame(await readAll(cursor), [[41, 41]], 'as if it had not been');
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
  await t.rejects(cursor.poll(), ChainAnswerError);
  clock.advance(1000);
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
