import { getAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { type SignedOffer, signOffer } from '../chain/sign-quote.js';
import { address, START } from '../engine/samples.js';

export const CHAIN_ID = 421613;
const HOUR = 3600;
const DAY = 24 * HOUR;
const QUOTES = 20;

const contract = (n: number): { address: Hex; startBlock: number } => ({
  address: getAddress(address(n)),
  startBlock: 1,
});
const chain = {
  chainId: CHAIN_ID,
  rpcUrls: [],
  wsUrl: null,
  confirmations: 0,
  rereadBlocks: 4,
  maxHeadAgeSeconds: null,
};

export const TOKEN = address(0x70);

/** A deployment of the protocol that is nowhere but in the simulator. */
export const SIM_PROFILE: Profile = {
  name: 'simulated',
  settlement: chain,
  stream: chain,
  contracts: {
    orderbookStream: contract(0x71),
    poolFactory: contract(0x72),
    poolDiamond: contract(0x73),
    erc20Router: contract(0x74),
    oracleAdapter: contract(0x75),
    volatilityOracle: null,
    multicall3: contract(0x76),
  },
  streamLookbackSeconds: 30 * DAY,
  tokens: [],
  vaults: [],
};

/** Calls on one token, each a strike. */
export const SIM_POOLS: readonly Pool[] = [1n, 2n, 3n].map((strike) => ({
  poolAddress: address(0x900 + Number(strike)),
  poolKey: {
    base: getAddress(TOKEN),
    quote: getAddress(address(0x77)),
    oracleAdapter: SIM_PROFILE.contracts.oracleAdapter.address,
    strike: strike * 10n ** 18n,
    maturity: Math.ceil(START / DAY) * DAY + 30 * DAY + 8 * HOUR,
    isCallPool: true,
  },
}));

const ACCOUNTS = [1, 2, 3].map((n) => {
  const privateKey: Hex = `0x${String(n).repeat(64)}`;
  const account = privateKeyToAccount(privateKey);
  return { privateKey, address: account.address };
});

export const SIM_MAKERS: readonly Hex[] = ACCOUNTS.map((account) => account.address.toLowerCase() as Hex);

/**
 * Truly signed, the same at each call; told apart by their salts. Some are due within seconds of the simulator's time.
 */
export async function signSimQuotes(): Promise<readonly SignedOffer[]> {
  return Promise.all(
    Array.from({ length: QUOTES }, (_, n) => {
      const [pool, maker] = [SIM_POOLS[n % SIM_POOLS.length], ACCOUNTS[(n % 5) % ACCOUNTS.length]];
      if (pool === undefined || maker === undefined) throw new Error('there are pools and makers');
      const price = BigInt(1 + ((n * 7) % 5)) * 10n ** 17n;
      const size = BigInt(1 + (n % 4)) * 10n ** 18n;
      const deadline = START + 40 + ((n * 13) % 60) * 10;
      return signOffer(maker, CHAIN_ID, { pool, price, size, isBuy: n % 2 === 0, deadline, salt: 1000 + n });
    }),
  );
}
