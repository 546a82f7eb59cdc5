import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { IntentLog } from './intent-log.js';
import { OwnTx, type TxRequest } from './own-tx.js';
import { readQuantity } from './rpc-answers.js';

/** How long a mined transaction's nonce is remembered, for a reorg may take it back. */
export interface NonceMemory {
  /** Blocks that must follow it. */
  readonly reorgDepth: number;
  /** At most so many; the oldest are given up first. */
  readonly remembered: number;
}

/** More nonces than that lie between what was mined and what is sent only where a node has counted wrong. */
const MOST_GAPS = 1_000;

/**
 * Which nonce is next, and what each of ours is for. The chain is asked each time, since another signer may use the
 * key; but a nonce that was given out here is never given out again before its transaction is mined too deep to come
 * back, or was refused: a node that lags, forgets, or follows a reorg does not make it free.
 */
export class NonceLine {
  readonly #live = new Map<number, OwnTx>();
  /** Mined, oldest first. */
  readonly #mined = new Map<number, { readonly tx: OwnTx; readonly blockNumber: number }>();
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
  begin(request: Required<TxRequest>, lowest = 0): OwnTx {
    return this.beginAt(Math.max(this.#pending, lowest, ...this.#own().map((nonce) => nonce + 1)), request);
  }

  beginAt(nonce: number, request: Required<TxRequest>): OwnTx {
    const tx = new OwnTx(nonce, request);
    this.goOn(tx);
    return tx;
  }

  /** It is on its way, perhaps again. */
  goOn(tx: OwnTx): void {
    this.#mined.delete(tx.nonce);
    this.#live.set(tx.nonce, tx);
  }

  mined(tx: OwnTx, blockNumber: number): void {
    this.#live.delete(tx.nonce);
    this.#mined.set(tx.nonce, { tx, blockNumber });
    this.#pending = Math.max(this.#pending, tx.nonce + 1);
  }

  /** The nonce is free again, or another signer's. */
  async forget({ nonce }: OwnTx): Promise<void> {
    this.#live.delete(nonce);
    await this.intents.forget(nonce);
  }

  /** Mined transactions that a reorg can no longer take back need not be remembered. */
  async forgetSettled(headNumber: number): Promise<void> {
    let surplus = this.#mined.size - this.memory.remembered;
    const settled = [...this.#mined].flatMap(([nonce, { blockNumber }]) =>
      surplus-- > 0 || blockNumber + this.memory.reorgDepth <= headNumber ? [nonce] : [],
    );
    for (const nonce of settled) this.#mined.delete(nonce);
    await Promise.all(settled.map((nonce) => this.intents.forget(nonce)));
  }

  /** Ours that were mined in later blocks than this: a reorg that goes back to it may have taken them back. */
  minedAfter(number: number): OwnTx[] {
    return [...this.#mined.values()].flatMap(({ tx, blockNumber }) => (blockNumber > number ? [tx] : []));
  }

  /** Ours that were mined and, as the chain last said, are not: a reorg took them back. */
  takenBack(): OwnTx[] {
    return [...this.#mined.values()].flatMap(({ tx }) => (tx.nonce >= this.#pending ? [tx] : []));
  }

  /**
   * Nonces before this one's that the chain waits for and no transaction is known of: somebody's that a node has
   * dropped. What waits in the node's pool is not among them, whoever sent it. Null: more than anybody can have left, so
   * that a wrong count must have been believed once.
   */
  async gapsBefore({ nonce }: OwnTx): Promise<number[] | null> {
    await this.look();
    const gaps: number[] = [];
    for (let gap = this.#pending; gap < nonce; gap++) {
      if (this.#live.has(gap) || this.#mined.has(gap)) continue;
      if (gaps.push(gap) > MOST_GAPS) return null;
    }
    return gaps;
  }

  /** Whether a transaction was mined under this nonce, ours or not. */
  async isUsed({ nonce }: OwnTx): Promise<boolean> {
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
