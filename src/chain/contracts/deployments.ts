import { Keccak256 } from '../../auth/keccak256.js';
import type { ChainRole } from '../../engine/command.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex, PoolKey } from '../../engine/quote.js';
import { ChainReader } from './chain-reader.js';

/** How far back an empty log reads the stream: pools live up to a year, quotes rarely more than a quarter of one. */
const STREAM_LOOKBACK_SECONDS = 90 * 86_400;

/** The same on every chain that has it (https://www.multicall3.com). */
export const MULTICALL3: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11';

function contract(address: Hex, startBlock: number): ContractProfile {
  return { address, startBlock };
}

/** `onChainSymbol` of a token whose owner may rename it. */
export const ANY_SYMBOL = '*';

/**
 * The tokens of Arbitrum's published table beside the service's own symbols. Owners may rename them, which must not end a
 * start; their decimals are checked.
 */
const FURTHER_TOKENS = [
  { symbol: 'WSTETH', address: '0x5979D7b546E38E414F7E9822514be443A4800529', decimals: 18 },
  { symbol: 'KNC', address: '0xe4DDDfe67E7164b0FE14E218d80dC4C08eDC01cB', decimals: 18 },
  { symbol: 'DPX', address: '0x6C2C06790b3E3E3c38e12Ee22F8183b37a13EE55', decimals: 18 },
  { symbol: 'AAVE', address: '0xba5DdD1f9d7F570dc94a51479a000E3BCE967196', decimals: 18 },
  { symbol: 'RPL', address: '0xB766039cc6DB368759C1E56B79AFfE831d0Cc507', decimals: 18 },
  { symbol: 'GNS', address: '0x18c11FD286C5EC11c3b683Caa813B77f5163A122', decimals: 18 },
  { symbol: 'COMP', address: '0x354A6dA3fcde098F8389cad84b0182725c6C91dE', decimals: 18 },
  { symbol: 'BAL', address: '0x040d1EdC9569d4Bab2D15287Dc5A4F10F56a56B8', decimals: 18 },
  { symbol: 'MKR', address: '0x2e9a6Df78E42a30712c10a9Dc4b1C8656f8F2879', decimals: 18 },
  { symbol: 'FRAX', address: '0x17FC002b466eEc40DaE837Fc4bE5c67993ddBd6F', decimals: 18 },
  { symbol: 'MAGIC', address: '0x539bdE0d7Dbd336b79148AA742883198BBF60342', decimals: 18 },
  { symbol: 'YFI', address: '0x82e3A8F066a6989666b031d916c43672085b1582', decimals: 18 },
  { symbol: 'CRV', address: '0x11cDb42B0EB46D95f990BeDD4695A6e3fA034978', decimals: 18 },
  { symbol: 'RDNT', address: '0x3082CC23568eA640225c2467653dB90e9250AaA0', decimals: 18 },
  { symbol: 'USDT', address: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', decimals: 6 },
  { symbol: 'TUSD', address: '0x4D15a3A2286D883AF0AA1B3f21367843FAc63E07', decimals: 18 },
  { symbol: 'GMX', address: '0xfc5A1A6EB076a2C7aD06eD22C90d7E710E35ad0a', decimals: 18 },
  { symbol: 'JOE', address: '0x371c7ec6D8039ff7933a2AA28EB827Ffe1F52f07', decimals: 18 },
  { symbol: 'CBETH', address: '0x1DEBd73E752bEaF79865Fd6446b0c970EaE7732f', decimals: 18 },
  { symbol: 'DODO', address: '0x69Eb4FA4a2fbd498C257C57Ea8b7655a2559A581', decimals: 18 },
  { symbol: 'MIMATIC', address: '0x3F56e0c36d275367b8C502090EDF38289b3dEa0d', decimals: 18 },
  { symbol: 'USDD', address: '0x680447595e8b7b3Aa1B43beB9f6098C79ac2Ab3f', decimals: 18 },
  { symbol: 'SUSHI', address: '0xd4d42F0b6DEF4CE0383636770eF773390d85c61A', decimals: 18 },
  { symbol: 'UNI', address: '0xFa7F8980b0f1E64A2062791cc3b0871572f1F7f0', decimals: 18 },
  { symbol: 'SPELL', address: '0x3E6648C5a70A150A88bCE65F4aD4d506Fe15d2AF', decimals: 18 },
  { symbol: 'FXS', address: '0x9d2F299715D94d8A7E6F5eaa8E654E8c74a988A7', decimals: 18 },
  { symbol: 'LUSD', address: '0x93b346b6BC2548dA6A1E7d98E9a421B42541425b', decimals: 18 },
  { symbol: 'SOL', address: '0x2bcC6D6CdBbDC0a4071e48bb3B969b06B3330c07', decimals: 9 },
  { symbol: 'OP', address: '0xaC800FD6159c2a2CB8fC31EF74621eB430287a5A', decimals: 18 },
] as const;

/**
 * Arbitrum One with the stream on Arbitrum Nova. Symbols are those that options are asked for by; USDC is the bridged
 * token, which the vaults' registry calls USDCe. Its RPC endpoints are public and rate-limited: a service of some size
 * configures its own.
 */
export const arbitrum: Profile = {
  name: 'arbitrum',
  settlement: {
    chainId: 42_161,
    rpcUrls: ['https://arb1.arbitrum.io/rpc'],
    wsUrl: null,
    confirmations: 0,
    rereadBlocks: 64,
    maxHeadAgeSeconds: 60,
  },
  stream: {
    chainId: 42_170,
    rpcUrls: ['https://nova.arbitrum.io/rpc'],
    wsUrl: null,
    confirmations: 0,
    rereadBlocks: 64,
    // Nova may be idle for minutes.
    maxHeadAgeSeconds: null,
  },
  contracts: {
    orderbookStream: contract('0xF92b8AD7a62437142C4bf87D91e2bE0Fe1F44e9f', 17_568_802),
    poolFactory: contract('0xAE4fB6622F25f397587F11638dA8CE88C27b5645', 119_998_935),
    poolDiamond: contract('0x2eA42642D1B951f18eA7FbCE495Bea9E517b198F', 119_998_920),
    erc20Router: contract('0xDEfBBAc44F2088a70b648E1231b2cA9683774c48', 119_998_968),
    oracleAdapter: contract('0x68BDA63662b16550e86Ad16160625eb293AC3d5F', 119_998_906),
    volatilityOracle: contract('0x18b3f082750192BB99DF6CFb09c796f41f7DF22F', 120_000_812),
    multicall3: contract(MULTICALL3, 7_654_707),
  },
  streamLookbackSeconds: STREAM_LOOKBACK_SECONDS,
  tokens: [
    { symbol: 'WETH', address: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', decimals: 18 },
    { symbol: 'WBTC', address: '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f', decimals: 8 },
    { symbol: 'PREMIA', address: '0x51fC0f6660482Ea73330E414eFd7808811a57Fa2', decimals: 18 },
    { symbol: 'LINK', address: '0xf97f4df75117a78c1A5a0DBb814Af92458539FB4', decimals: 18 },
    { symbol: 'USDC', address: '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', decimals: 6 },
    { symbol: 'DAI', address: '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', decimals: 18 },
    { symbol: 'ARB', address: '0x912CE59144191C1204E64559FE8253a0e49E6548', decimals: 18 },
    ...FURTHER_TOKENS.map((token) => ({ ...token, onChainSymbol: ANY_SYMBOL })),
  ],
  vaults: [
    { name: 'pSV-WETH/USDCe-C', address: '0xbae43c546DFADC69576aE73C68e0694A54F08e1B' },
    { name: 'pSV-WETH/USDCe-P', address: '0xD46993F25D298ebbCD31E941156C66f7e628A52a' },
    { name: 'pSV-WBTC/USDCe-C', address: '0x45dF5EA836A15B561937Ae8373ab9eE984aea531' },
    { name: 'pSV-WBTC/USDCe-P', address: '0x6A1FC0E1c60BA6564CDe4910A425F1F1a1d18C1F' },
    { name: 'pSV-ARB/USDCe-C', address: '0xDC631d88dbB5eb39f5c4Bf8B4e5298d098912fFf' },
    { name: 'pSV-ARB/USDCe-P', address: '0xBe3E229319f86F5EE96EE1Dc0B6D55e8b68a439e' },
    { name: 'pSV-LINK/USDCe-C', address: '0x9C9a20b9A27b91592f7EF7622F8c4Fea9f4A0C8f' },
    { name: 'pSV-LINK/USDCe-P', address: '0x8CEbe7380Bbe5e680Fa31a5fe0229F638580dbf3' },
    { name: 'pSV-wstETH/USDCe-C', address: '0xe0C92F15eE2947C81e8d72864AC62331bAf8D77d' },
    { name: 'pSV-wstETH/USDCe-P', address: '0xe330C090e2A5CEB4C39d3fB1dF82c773Efa55dcF' },
    { name: 'pSV-GMX/USDCe-C', address: '0x2E98Ed9983747ab93F14503cde4Cd0f1EAcBD098' },
    { name: 'pSV-GMX/USDCe-P', address: '0xB5ECA2280dD6a58C9E17f613F292Cb35E5260f21' },
    { name: 'pSV-MAGIC/USDCe-C', address: '0xA181F7ce9820b074960C4Ee11d5202F159C87AFB' },
    { name: 'pSV-MAGIC/USDCe-P', address: '0xe56BF5a095f98c3Ad93ec4C8aa0A5C9bA780b615' },
    { name: 'pSV-SOL/USDCe-C', address: '0x2aebD7FFd70cB191eb72a76662a04aEb6A4Ee9E2' },
    { name: 'pSV-SOL/USDCe-P', address: '0x010aEb3ec7A6a15655C2991eb617c7D9b64Baef0' },
    { name: 'pSV-FXS/FRAX-C', address: '0x767823505c345fA1Aa315116DC5f0276f8D5C623' },
    { name: 'pSV-FXS/FRAX-P', address: '0x469ea472D168364B2e50aBB81Fe5C6DA142f9a62' },
    { name: 'pSV-PREMIA/USDCe-C', address: '0xA8FF43e1953139a830c3dF25C4a922cF985B079A' },
    { name: 'pSV-PREMIA/USDCe-P', address: '0xF1f6B7e04549976f6274917a86575D55d6e6e3C8' },
    { name: 'pSV-OP/USDCe-C', address: '0xd4AF4096891A45c488bd330bbEa7fE5c38890613' },
    { name: 'pSV-OP/USDCe-P', address: '0xD9A6443FB26259FdDD781b4f546cE57f153feeE8' },
  ],
};

const goerliChain = {
  chainId: 421_613,
  rpcUrls: ['https://goerli-rollup.arbitrum.io/rpc'],
  wsUrl: null,
  confirmations: 0,
  rereadBlocks: 64,
  maxHeadAgeSeconds: null,
};

/**
 * The protocol's public test deployment, both roles on one chain. Where no block of deployment was published, logs are
 * read from the first. Vault names are the published ones, which follow no one pattern.
 */
export const arbitrumGoerli: Profile = {
  name: 'arbitrum-goerli',
  settlement: goerliChain,
  stream: goerliChain,
  contracts: {
    orderbookStream: contract('0x34C9B11475C195A69A581ED94f5e640b591c485A', 0),
    poolFactory: contract('0x31eC5598e786dbA4E1Fb7263016c3ff58Cb3c6b6', 0),
    poolDiamond: contract('0x558A90f1D04DFF85BfBEAA3c1300fb2E9CF25f60', 0),
    erc20Router: contract('0x0Aa81977BC19A11abe7eC61016A629f989b85513', 0),
    oracleAdapter: contract('0xDc0405ed974AD4cA7f18eE395De627c2C467B1b5', 0),
    volatilityOracle: contract('0x7C827F01E5172E276d9A56E5B7B13D46fC01ddAC', 0),
    multicall3: contract(MULTICALL3, 88_114),
  },
  streamLookbackSeconds: STREAM_LOOKBACK_SECONDS,
  tokens: [
    { symbol: 'testWETH', address: '0x80c79fe19E25b34a7677c9B6b1A2801caBfAC985', decimals: 18 },
    { symbol: 'WETH', address: '0x7F5bc2250ea57d8ca932898297b1FF9aE1a04999', decimals: 18 },
    { symbol: 'WBTC', address: '0x9f5D1212514Ac88E26c523387C60F87B67AD1130', decimals: 8 },
    { symbol: 'PREMIA', address: '0xC0A4ae47Aad883AAc349C15E6451BF767E7a775c', decimals: 18 },
    { symbol: 'LINK', address: '0x16fA8D635311fc4DA9A2f8793EE016670b0C6Ed2', decimals: 18 },
    { symbol: 'USDC', address: '0x53421DB1f41368E028A4239954feB5033C7B3729', decimals: 6 },
    { symbol: 'DAI', address: '0x350bC4115F09E619bFBc6E56AD87d5e122b7B8c5', decimals: 18 },
  ],
  vaults: [
    { name: 'SV-ETH/USDC-C', address: '0x0840c9625e5DDd73E09feD5FDAD04AaD41af7477' },
    { name: 'SV-ETH/USDC-P', address: '0xc97DBcbC5388329CABa2991a2231e3ECE395Cc02' },
    { name: 'pSV-LINK/USDC-C', address: '0xDB72B7C79d151a8b42fC3143bAA6A54BDE9F3f12' },
    { name: 'pSV-LINK/USDC-P', address: '0x6e91eEC2500c815fa190C01FD2dc4Cd85CAaca96' },
  ],
};

/** Those that a server knows by name. */
export const deployments: readonly Profile[] = [arbitrum, arbitrumGoerli];

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
  /** The contract's own `symbol()` where that is not `symbol`; null: the same, or nearly; ANY_SYMBOL: anything. */
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
    /** Null: volatilities are not served. */
    readonly volatilityOracle: ContractProfile | null;
    /** Null: calls go out one by one. */
    readonly multicall3: ContractProfile | null;
  };
  /** How far back the stream is read when the log is empty, in seconds. */
  readonly streamLookbackSeconds: number;
  readonly tokens: readonly TokenProfile[];
  readonly vaults: readonly VaultProfile[];
}

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

/** The key with its three addresses as EIP-55 checksums, whatever letter case they came in. */
export function checksummed(key: PoolKey): PoolKey {
  return {
    ...key,
    base: checksumAddress(key.base),
    quote: checksumAddress(key.quote),
    oracleAdapter: checksumAddress(key.oracleAdapter),
  };
}

const DIGITS = 40;
const SMALL_A = 0x61;
const TO_CAPITAL = 0x41 - SMALL_A;

const digits = new Keccak256().message(DIGITS);

/**
 * EIP-55; the address's own letter case is not looked at. Not by viem, which takes twenty times as long: everybody may
 * name tokens by the thousand.
 */
export function checksumAddress(address: Hex): Hex {
  const { buffer } = digits;
  buffer.write(address.slice(2).toLowerCase(), 'latin1');
  const hash = digits.passingHash();
  for (let i = 0; i < DIGITS; i += 2) {
    const byte = hash[i / 2] ?? 0;
    capitalise(buffer, i, byte >> 4);
    capitalise(buffer, i + 1, byte & 0xf);
  }
  return `0x${buffer.toString('latin1')}`;
}

function capitalise(text: Buffer, at: number, hashDigit: number): void {
  const letter = text[at] ?? 0;
  if (hashDigit >= 8 && letter >= SMALL_A) text[at] = letter + TO_CAPITAL;
}
