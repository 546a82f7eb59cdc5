import t from 'tap';
import { arbitrum } from '../../src/chain/deployments.js';
import { readIdentity } from '../../src/chain/identity.js';
import type { Hex } from '../../src/engine/quote.js';
import { RestoredChain, ScriptedChain } from './scripted-chain.js';

async function genesisOf(rpc: ScriptedChain): Promise<Hex> {
  const { settlementGenesis, streamGenesis } = await readIdentity(arbitrum, { settlement: rpc, stream: rpc });
  t.equal(settlementGenesis, streamGenesis);
  return settlementGenesis as Hex;
}

await t.test('a chain is known by the genesis block that it stands on, whichever one a node shows', async (t) => {
  const chain = new ScriptedChain(3);
  t.equal(await genesisOf(chain), chain.hash(0));
  t.equal(await genesisOf(new RestoredChain(3)), chain.hash(0));
});

await t.test('one that has only its genesis block is known by that, and stays the same when it grows', async (t) => {
  const chain = new ScriptedChain(0);
  const before = await genesisOf(chain);
  t.equal(before, chain.hash(0));
  chain.mine(5);
  t.equal(await genesisOf(chain), before);
});

await t.test('a node that has lost the first block still knows the genesis block', async (t) => {
  const chain = new ScriptedChain(3);
  chain.lose(1);
  t.equal(await genesisOf(chain), chain.hash(0));
});
