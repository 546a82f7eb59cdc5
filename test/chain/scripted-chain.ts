import { numberToHex } from 'viem';
import { ChainReader } from '../../src/chain/contracts/chain-reader.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { Hex } from '../../src/engine/quote.js';

/** Unix seconds of a block. */
export const timeOf = (number: number): number => 1_700_000_000 + number;

/** A chain of empty blocks, as a node shows it: tests say which branch the node is on and how far it has got. */
export class ScriptedChain implements Rpc {
  readonly requests: string[] = [];
  /** Of the node that answers: a test says when another one does. */
  switches = 0;
  #branches: string[];
  readonly #lost = new Set<number>();
  #instead: number | null = null;

  /** Blocks 0 to `height`. */
  constructor(height: number) {
    this.#branches = Array.from({ length: height + 1 }, () => 'a');
  }

  get reader(): ChainReader {
    return new ChainReader(this, null, { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 1, gasPerCheck: 1 });
  }

  get height(): number {
    return this.#branches.length - 1;
  }

  mine(blocks: number, branch = 'a'): void {
    for (let n = 0; n < blocks; n++) this.#branches.push(branch);
  }

  /** Blocks above `height` never were. */
  cutTo(height: number): void {
    this.#branches = this.#branches.slice(0, height + 1);
  }

  /** The node does not have this block any more, though it has later ones. */
  lose(number: number): void {
    this.#lost.add(number);
  }

  findAgain(number: number): void {
    this.#lost.delete(number);
  }

  /** Whatever block is asked for by its number, the node gives this one. Null: it does so no more. */
  giveInstead(number: number | null): void {
    this.#instead = number;
  }

  hash(number: number): Hex {
    const branch = (this.#branches[number] ?? 'x').charCodeAt(0).toString(16);
    return `0x${branch}${number.toString(16).padStart(62, '0')}`;
  }

  id(number: number) {
    return { blockNumber: number, blockHash: this.hash(number) };
  }

  request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    this.requests.push(method);
    const [asked] = params as [string];
    const number = asked === 'latest' ? this.height : (this.#instead ?? Number(asked));
    if (number > this.height || this.#lost.has(number)) return Promise.resolve(null);
    return Promise.resolve({
      number: numberToHex(number),
      hash: this.hash(number),
      parentHash: number === 0 ? `0x${'0'.repeat(64)}` : this.hash(number - 1),
      timestamp: numberToHex(timeOf(number)),
    });
  }
}

/** A restored anvil: it has a genesis block of its own beside the one that its chain stands on, and shows the former. */
export class RestoredChain extends ScriptedChain {
  override request(asked: { method: string; params?: unknown }): Promise<unknown> {
    const [number] = asked.params as [string];
    return super
      .request(asked)
      .then((block) => (Number(number) === 0 ? { ...(block as object), hash: `0x${'9'.repeat(64)}` } : block));
  }
}
