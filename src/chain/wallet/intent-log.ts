import { isHex } from 'viem';
import type { KeyValueStore } from '../../persistence/disk/disk.js';
import type { Hex } from '../../engine/quote.js';
import { IntentNotPersisted } from './errors.js';
import type { Fees, TxIntent } from './transaction.js';

/** One file for each chain and address, since these share one sequence of nonces. */
export function intentFileName(chainId: number, address: Hex): string {
  return `intents-${chainId}-${address.toLowerCase()}.jsonl`;
}

/**
 * A durable log of the transactions that a wallet is about to send, one intent for each nonce. After a crash it is
 * unknown which of them were signed or sent, so the next run resumes the same intents under the same nonces.
 */
export class IntentLog {
  /** Intents of earlier runs, in the order of nonces. */
  readonly kept: readonly TxIntent[];

  constructor(private readonly values: KeyValueStore) {
    this.kept = [...values.found.values()].map(readIntent).sort((a, b) => a.nonce - b.nonce);
  }

  /** Durable when it resolves; the sender signs only after that. Replaces the intent of the same nonce. */
  write({ nonce, to, data, gas, versions }: TxIntent): Promise<void> {
    const fees = versions.map(({ maxFeePerGas, maxPriorityFeePerGas }) => [
      `${maxFeePerGas}`,
      `${maxPriorityFeePerGas}`,
    ]);
    return written(this.values.put(`${nonce}`, { nonce, to, data, gas: `${gas}`, fees }));
  }

  /** The nonce is final, or free again. Durable when it resolves. */
  forget(nonce: number): Promise<void> {
    return written(this.values.remove(`${nonce}`));
  }
}

/** Rejects with IntentNotPersisted only. */
async function written(change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    throw new IntentNotPersisted(error);
  }
}

function readIntent(value: unknown): TxIntent {
  const { nonce, to, data, gas, fees } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(nonce) || !isHex(to) || !isHex(data) || !Array.isArray(fees)) {
    throw new Error('What a wallet meant to send was kept in a form that is not understood');
  }
  return { nonce: nonce as number, to, data, gas: BigInt(gas as string), versions: fees.map(readFees) };
}

function readFees(pair: unknown): Fees {
  const [maxFeePerGas, maxPriorityFeePerGas] = pair as [string, string];
  return { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
}
