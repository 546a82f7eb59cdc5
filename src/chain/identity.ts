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
const NO_CALLS = { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 0 };

async function genesisOf(rpc: Rpc): Promise<Hex> {
  return (await new ChainReader(rpc, null, NO_CALLS).block(0)).hash;
}
