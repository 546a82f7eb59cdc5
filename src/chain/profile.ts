import type { Hex } from '../engine/quote.js';

/** One chain as the service reaches it. */
export interface ChainProfile {
  readonly chainId: number;
  /** HTTP(S) JSON-RPC endpoints, the preferred one first; at least one. */
  readonly rpcUrls: readonly string[];
  /** WebSocket endpoint whose new heads wake the reader; null: the reader polls alone. */
  readonly wsUrl: string | null;
  /** Blocks that must follow a block before it is read; 0: the newest block is read at once. */
  readonly confirmations: number;
  /**
   * Blocks below the newest one whose logs are read again with each look, unless their bloom filters have confirmed
   * them: a node's log index may lag behind its blocks.
   */
  readonly rereadBlocks: number;
  /**
   * Age of the newest block above which the chain counts as stale; null: an idle chain makes no blocks, age says
   * nothing.
   */
  readonly maxHeadAgeSeconds: number | null;
}

/** A contract and the first block in which it can have logged anything. */
export interface ContractProfile {
  readonly address: Hex;
  readonly startBlock: number;
}

export interface TokenProfile {
  readonly symbol: string;
  readonly address: Hex;
  readonly decimals: number;
  /** What the contract's `symbol()` says where that is not `symbol`; null: the same, or nearly. */
  readonly onChainSymbol?: string | null;
}

export interface VaultProfile {
  /** The registry's name, such as `pSV-WETH/USDC-C`. */
  readonly name: string;
  readonly address: Hex;
}

/** Everything that tells one deployment of the protocol from another. Addresses are EIP-55 checksums. */
export interface Profile {
  readonly name: string;
  readonly settlement: ChainProfile;
  readonly stream: ChainProfile;
  readonly contracts: {
    readonly orderbookStream: ContractProfile;
    readonly poolFactory: ContractProfile;
    /** The pools' shared diamond, which answers fee questions for pools that do not exist yet. */
    readonly poolDiamond: ContractProfile;
    readonly erc20Router: ContractProfile;
    readonly oracleAdapter: ContractProfile;
    /** Null: calls go out one by one. */
    readonly multicall3: ContractProfile | null;
  };
  /** How far back the stream is read when the log is empty, in seconds. */
  readonly streamLookbackSeconds: number;
  readonly tokens: readonly TokenProfile[];
  readonly vaults: readonly VaultProfile[];
}
