import type { ChainRole } from '../engine/command.js';
import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { ChainReader } from './chain-reader.js';
import type { Profile } from './profile.js';

/** By name, what a log is bound to: chain ids, genesis hashes, contract addresses, in lower case. */
export type ChainIdentity = Readonly<Record<string, string | number>>;

/** Asks both chains who they are. Rejects with WrongChain, or when a chain does not answer. */
export async function readIdentity(profile: Profile, rpc: Readonly<Record<ChainRole, Rpc>>): Promise<ChainIdentity> {
  const { orderbookStream, poolFactory, erc20Router } = profile.contracts;
  return {
    settlementChainId: profile.settlement.chainId,
    settlementGenesis: await genesisOf(rpc.settlement),
    streamChainId: profile.stream.chainId,
    streamGenesis: await genesisOf(rpc.stream),
    orderbookStream: orderbookStream.address.toLowerCase(),
    poolFactory: poolFactory.address.toLowerCase(),
    erc20Router: erc20Router.address.toLowerCase(),
  };
}

/** A block is read, and no contract. */
const NO_CALLS = { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 0, gasPerCheck: 0 };

/**
 * The block that the first one names as its parent. Anvil, restored from its state file, puts a new genesis block beside
 * the one that it saved, and answers for number 0 with either; which one its chain stands on never changes.
 */
async function genesisOf(rpc: Rpc): Promise<Hex> {
  const chain = new ChainReader(rpc, null, NO_CALLS);
  return (await chain.findBlock(1))?.parentHash ?? (await chain.block(0)).hash;
}
