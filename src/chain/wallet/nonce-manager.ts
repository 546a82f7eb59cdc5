import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import { ChainAnswerError, readQuantity } from '../rpc/rpc-response.js';
import type { IntentLog } from './intent-log.js';
import { WalletTx, type TxRequest } from './transaction.js';

/** How long the nonce of a mined transaction is kept, since a reorg may remove it. */
export interface NonceMemory {
  /** Blocks after it that must have been read before it is dropped. */
  readonly reorgDepth: number;
  /** Most nonces kept; the oldest are dropped first. */
  readonly remembered: number;
}

interface MinedTx {
  readonly tx: WalletTx;
  readonly block: BlockId;
  /** The reader has read the block, so it reports a reorg that removes it. */
  isRead: boolean;
}

/** A larger gap between mined and sent nonces means that a node counted wrong. */
const MOST_GAPS = 1_000;

/**
 * Assigns nonces, and knows the transaction of each. It reads the chain's count each time, since another signer may use
 * the key. A nonce assigned here stays assigned until its transaction is too deep for a reorg, or was refused: a node
 * that lags, forgets or follows a reorg does not free it.
 */
export class NonceManager {
  readonly #live = new Map<number, WalletTx>();
  /** Mined, oldest first. */
  readonly #mined = new Map<number, MinedTx>();
  /** The last block that the reader has read; null: none since the start, or since a reorg. */
  #readTo: BlockId | null = null;
  /** The next nonce by the chain's last answer: its `pending` count, or a receipt. */
  #pending = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly address: Hex,
    private readonly intents: IntentLog,
    private readonly memory: NonceMemory,
  ) {}

  /** Reads the chain's count. Calls must not overlap. Rejects with ChainAnswerError if the count is too high. */
  async look(): Promise<void> {
    const pending = await this.#count('pending');
    const isLeap = pending - Math.max(this.#pending, ...this.#own()) > MOST_GAPS;
    // A nonce far ahead would block all later transactions for ever.
    if (isLeap && pending - (await this.#count('latest')) > MOST_GAPS)
      throw new ChainAnswerError(`The node counts ${pending} transactions of the wallet, far more than were mined`);
    this.#pending = pending;
  }

  /** Assigns the next nonce, at least `lowest`, to the request. */
  begin(request: Required<TxRequest>, lowest = 0): WalletTx {
    return this.beginAt(Math.max(this.#pending, lowest, ...this.#own().map((nonce) => nonce + 1)), request);
  }

  beginAt(nonce: number, request: Required<TxRequest>): WalletTx {
    const tx = new WalletTx(nonce, request);
    this.track(tx);
    return tx;
  }

  /** The transaction is pending, perhaps again. */
  track(tx: WalletTx): void {
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

  /** The nonce is free again, or another signer used it. */
  async forget({ nonce }: WalletTx): Promise<void> {
    this.#live.delete(nonce);
    await this.intents.forget(nonce);
  }

  /**
   * The reader has read to the end of this block. Returns the transactions whose blocks it had not read when their
   * receipts arrived: if other blocks replaced these since, no reorg event reports it.
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
   * Drops mined transactions that are too deep for a reorg, counted from the last block read and not from the head: a
   * reader that is behind reports a reorg late.
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

  /** The reader goes back to this block. Returns transactions mined after it: a reorg may have removed them. */
  goBackTo(number: number): WalletTx[] {
    this.#readTo = null;
    return [...this.#mined.values()].flatMap(({ tx, block }) => (block.blockNumber > number ? [tx] : []));
  }

  /** Transactions that were mined and, by the chain's last count, are not: a reorg removed them. */
  takenBack(): WalletTx[] {
    return [...this.#mined.values()].flatMap(({ tx }) => (tx.nonce >= this.#pending ? [tx] : []));
  }

  /**
   * Missing nonces before this one: neither mined, nor assigned here, nor in the node's pool. A node has dropped another
   * signer's transaction. Null: so many are missing that the nonce came from a wrong count.
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

  /** Whether any signer's transaction was mined under this nonce. */
  async isUsed({ nonce }: WalletTx): Promise<boolean> {
    return (await this.#count('latest')) > nonce;
  }

  /** Assigned nonces, and mined ones still kept. */
  #own(): number[] {
    return [...this.#live.keys(), ...this.#mined.keys()];
  }

  /** Transactions of the wallet; `pending` includes those in the node's pool. */
  async #count(block: 'latest' | 'pending'): Promise<number> {
    return readQuantity(await this.rpc.request({ method: 'eth_getTransactionCount', params: [this.address, block] }));
  }
}
