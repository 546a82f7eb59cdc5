import { type Chain, createClient, http, publicActions, testActions, walletActions } from 'viem';
import type { Hex } from '../../engine/quote.js';

/** Client of a local chain: view calls, and what only a test chain offers. Calls of one tick go out together. */
export function devClient(rpcUrl: string, chainId: number) {
  const chain: Chain = {
    id: chainId,
    name: 'local',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  };
  return createClient({
    chain,
    transport: http(rpcUrl, { batch: { batchSize: 500, wait: 0 }, retryCount: 0, timeout: 60_000 }),
    cacheTime: 0,
    pollingInterval: 10,
  })
    .extend(publicActions)
    .extend(walletActions)
    .extend(testActions({ mode: 'anvil' }));
}

export type DevClient = ReturnType<typeof devClient>;

/** A transaction of an account that the node itself signs for. `to` is null where a contract is created. */
export interface DevTransaction {
  readonly from: Hex;
  readonly to: Hex | null;
  readonly data: Hex;
  /** Limit; what is not used costs nothing. */
  readonly gas?: bigint;
}

const DEFAULT_GAS = 500_000n;

/**
 * Sends all of them and mines them into as few blocks as hold them, in their order for each sender. Rejects when one
 * reverts. Nothing is estimated and nothing is waited for in between.
 */
export async function sendTogether(client: DevClient, transactions: readonly DevTransaction[]): Promise<void> {
  const senders = [...new Set(transactions.map((transaction) => transaction.from))];
  const counts = await Promise.all(senders.map((address) => client.getTransactionCount({ address })));
  const nonces = new Map(senders.map((address, index) => [address, counts[index] ?? 0]));
  await client.setAutomine(false);
  try {
    const hashes = await Promise.all(
      transactions.map(({ from, to, data, gas = DEFAULT_GAS }) => {
        const nonce = nonces.get(from) ?? 0;
        nonces.set(from, nonce + 1);
        return client.sendTransaction({ account: from, to, data, gas, nonce, maxFeePerGas: 10n ** 10n });
      }),
    );
    await mineAll(client, hashes);
  } finally {
    await client.setAutomine(true);
  }
}

async function mineAll(client: DevClient, hashes: readonly Hex[]): Promise<void> {
  let waiting = hashes;
  while (waiting.length > 0) {
    await client.mine({ blocks: 1 });
    const receipts = await Promise.all(waiting.map((hash) => receiptOf(client, hash)));
    const reverted = receipts.find((receipt) => receipt?.status === 'reverted');
    if (reverted) throw new Error(`transaction ${reverted.transactionHash} reverted on the local chain`);
    const still = waiting.filter((_, index) => receipts[index] === null);
    if (still.length === waiting.length) throw new Error(`${still.length} transactions can't be mined`);
    waiting = still;
  }
}

async function receiptOf(client: DevClient, hash: Hex) {
  return client.getTransactionReceipt({ hash }).catch(() => null);
}

export interface DevAccount {
  /** EIP-55 checksum. */
  readonly address: Hex;
  readonly privateKey: Hex;
}

/**
 * The accounts that anvil gives 10,000 ether each, known to everybody: nothing that they control is worth anything. The
 * first is the operator's wallet. Written out, since deriving them takes a tenth of a start (measured).
 */
export const DEV_ACCOUNTS: readonly DevAccount[] = [
  {
    address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  },
  {
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  },
  {
    address: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    privateKey: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  },
  {
    address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
    privateKey: '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
  },
  {
    address: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
    privateKey: '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
  },
  {
    address: '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
    privateKey: '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
  },
  {
    address: '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
    privateKey: '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e',
  },
  {
    address: '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
    privateKey: '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  },
  {
    address: '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
    privateKey: '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  },
  {
    address: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
    privateKey: '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
  },
];

/** Sends what deploys the contracts, so that no user's nonce is touched by it: the account after the last user's. */
export const deployer: Hex = '0xBcd4042DE499D14e55001CcbB24a551F3b954096';
export const DEPLOYER_KEY: Hex = '0xf214f2b2cd398c806f84e317254e0f0b801d0643303237d97a22a48e01628897';
