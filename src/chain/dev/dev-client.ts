import { pbkdf2Sync } from 'node:crypto';
import { bytesToHex, type Chain, createClient, http, publicActions, testActions, walletActions } from 'viem';
import { HDKey, hdKeyToAccount } from 'viem/accounts';
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

/** Anvil's own, known to everybody: nothing that it controls is worth anything. */
const MNEMONIC = 'test test test test test test test test test test test junk';
/** BIP-39 without a passphrase, once and by OpenSSL: viem derives it in JavaScript for each account, 300 ms for all (measured). */
const master = HDKey.fromMasterSeed(pbkdf2Sync(MNEMONIC, 'mnemonic', 2048, 64, 'sha512'));

export interface DevAccount {
  /** EIP-55 checksum. */
  readonly address: Hex;
  readonly privateKey: Hex;
}

/** The accounts that anvil gives 10,000 ether each; the first is the operator's wallet. */
export function devAccounts(count = 10): DevAccount[] {
  return Array.from({ length: count }, (_, index) => devAccount(index));
}

/** Sends what deploys the contracts, so that no user's nonce is touched by it: the account after the last user's. */
export const deployer: Hex = devAccount(10).address;

function devAccount(addressIndex: number): DevAccount {
  const account = hdKeyToAccount(master, { addressIndex });
  const privateKey = account.getHdKey().privateKey;
  if (!privateKey) throw new Error('a derived account has a private key');
  return { address: account.address, privateKey: bytesToHex(privateKey) };
}
