import t from 'tap';
import { ChainAnswerError } from '../../src/chain/chain-answer-error.js';
import { ReadBlocks } from '../../src/chain/read-blocks.js';
import { reorgAncestor } from '../../src/chain/reorg-ancestor.js';
import { ScriptedChain } from './scripted-chain.js';

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

t.test('there is none where the chain is another one down to the oldest', async (t) => {
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
