import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import { ChainAnswerError, readQuantity } from '../rpc/rpc-response.js';
import type { IntentLog } from './intent-log.js';
import { WalletTx, type TxRequest } from './transaction.js';

/** How long a mined transaction's nonce is remembered, for a reorg may take it back. */
export interface NonceMemory {
  /** Blocks that must have been read after it. */
  readonly reorgDepth: number;
  /** At most so many; the oldest are given up first. */
  readonly remembered: number;
}

interface MinedTx {
  readonly tx: WalletTx;
  readonly block: BlockId;
  /** A reorg that takes the block back will be told of. */
  isRead: boolean;
}

/** More nonces than that lie between what was mined and what is sent only where a node has counted wrong. */
const MOST_GAPS = 1_000;

/**
 * Which nonce is next, and what each of ours is for. The chain is asked each time, since another signer may use the
 * key; but a nonce that was given out here is never given out again before its transaction is mined too deep to come
 * back, or was refused: a node that lags, forgets, or follows a reorg does not make it free.
 */
export class NonceManager {
  readonly #live = new Map<number, WalletTx>();
  /** Mined, oldest first. */
  readonly #mined = new Map<number, MinedTx>();
  /** The last block of the chain that was read; null: none since the start, or since a reorg. */
  #readTo: BlockId | null = null;
  /** The next nonce, as the chain last said: when asked for `pending`, or by a receipt. */
  #pending = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly address: Hex,
    private readonly intents: IntentLog,
    private readonly memory: NonceMemory,
  ) {}

  /** Asks the chain. One at a time. Rejects with ChainAnswerError where the node counts what nobody has sent. */
  async look(): Promise<void> {
    const pending = await this.#count('pending');
    const isLeap = pending - Math.max(this.#pending, ...this.#own()) > MOST_GAPS;
    // Once given out, a nonce far ahead would keep all that comes after it waiting for ever.
    if (isLeap && pending - (await this.#count('latest')) > MOST_GAPS)
      throw new ChainAnswerError(`The node counts ${pending} transactions of the wallet, far more than were mined`);
    this.#pending = pending;
  }

  /** Takes the next nonce, as the chain last told, not below `lowest`, for this. */
  begin(request: Required<TxRequest>, lowest = 0): WalletTx {
    return this.beginAt(Math.max(this.#pending, lowest, ...this.#own().map((nonce) => nonce + 1)), request);
  }

  beginAt(nonce: number, request: Required<TxRequest>): WalletTx {
    const tx = new WalletTx(nonce, request);
    this.goOn(tx);
    return tx;
  }

  /** It is on its way, perhaps again. */
  goOn(tx: WalletTx): void {
    this.#mined.delete(tx.nonce);
    this.#live.set(tx.nonce, tx);
  }

  mined(tx: WalletTx, { blockNumber, blockHash }: BlockId): void {
    const to = this.#readTo;
    const isRead = to !== null && (blockNumber < to.blockNumber || blockHash === to.blockHash);
    this.#live.delete(tx.nonce);
    this.#mined.set(tx.nonce, { tx, block: { blockNumber, blockHash }, isRead });
    this.#pending = Math.max(this.#pending, tx.nonce + 1);
  }

  /** The nonce is free again, or another signer's. */
  async forget({ nonce }: WalletTx): Promise<void> {
    this.#live.delete(nonce);
    await this.intents.forget(nonce);
  }

  /**
   * The chain was read to the end of this block. Ours whose blocks had not been read when their receipts came: where
   * others have taken the place of these since, no reorg tells of it.
   */
  read(to: BlockId): WalletTx[] {
    if (to.blockNumber >= (this.#readTo?.blockNumber ?? 0)) this.#readTo = to;
    const doubtful: WalletTx[] = [];
    for (const mined of this.#mined.values()) {
      if (mined.isRead || mined.block.blockNumber > to.blockNumber) continue;
      mined.isRead = true;
      if (mined.block.blockHash !== to.blockHash) doubtful.push(mined.tx);
    }
    return doubtful;
  }

  /**
   * Mined transactions that a reorg can no longer take back need not be remembered. By what was read and not by the
   * head: a reader that is behind tells of a reorg late.
   */
  async forgetSettled(): Promise<void> {
    const readTo = this.#readTo?.blockNumber ?? 0;
    let surplus = this.#mined.size - this.memory.remembered;
    const settled = [...this.#mined].flatMap(([nonce, { block }]) =>
      surplus-- > 0 || block.blockNumber + this.memory.reorgDepth <= readTo ? [nonce] : [],
    );
    for (const nonce of settled) this.#mined.delete(nonce);
    await Promise.all(settled.map((nonce) => this.intents.forget(nonce)));
  }

  /** Reading goes back to this block. Ours that were mined in later ones: a reorg may have taken them back. */
  goBackTo(number: number): WalletTx[] {
    this.#readTo = null;
    return [...this.#mined.values()].flatMap(({ tx, block }) => (block.blockNumber > number ? [tx] : []));
  }

  /** Ours that were mined and, as the chain last said, are not: a reorg took them back. */
  takenBack(): WalletTx[] {
    return [...this.#mined.values()].flatMap(({ tx }) => (tx.nonce >= this.#pending ? [tx] : []));
  }

  /**
   * Nonces before this one's that the chain waits for and no transaction is known of: somebody's that a node has
   * dropped. What waits in the node's pool is not among them, whoever sent it. Null: more than anybody can have left, so
   * that a wrong count must have been believed once.
   */
  async gapsBefore({ nonce }: WalletTx): Promise<number[] | null> {
    await this.look();
    const gaps: number[] = [];
    for (let gap = this.#pending; gap < nonce; gap++) {
      if (this.#live.has(gap) || this.#mined.has(gap)) continue;
      if (gaps.push(gap) > MOST_GAPS) return null;
    }
    return gaps;
  }

  /** Whether a transaction was mined under this nonce, ours or not. */
  async isUsed({ nonce }: WalletTx): Promise<boolean> {
    return (await this.#count('latest')) > nonce;
  }

  /** Nonces that are given out, or were and are remembered. */
  #own(): number[] {
    return [...this.#live.keys(), ...this.#mined.keys()];
  }

  /** Transactions of the wallet; `pending` counts those that wait in the node's pool too. */
  async #count(block: 'latest' | 'pending'): Promise<number> {
    return readQuantity(await this.rpc.request({ method: 'eth_getTransactionCount', params: [this.address, block] }));
  }
}
