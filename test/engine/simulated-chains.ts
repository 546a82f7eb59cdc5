import type { ChainPosition, ChainRole, QuoteState } from '../../src/engine/command.js';
import type { Hex, InvalidReason, Pool, Quote } from '../../src/engine/quote.js';
import { at, originAt } from './samples.js';

/** Operations in a block of the settlement chain. A fill takes at most the rest, as the pool contract would. */
export type Operation =
  | { readonly type: 'fill'; readonly n: number; readonly size: bigint }
  | { readonly type: 'cancel'; readonly n: number }
  | { readonly type: 'means'; readonly n: number; readonly reason: InvalidReason | null }
  | { readonly type: 'deploy'; readonly pool: Pool };

interface Block<T> {
  readonly position: ChainPosition;
  readonly contents: readonly T[];
}

/** A chain that can change its mind about its last blocks. Block 0 is there from the start and is empty. */
export class SimulatedChain<T> {
  readonly #chain: ChainRole;
  readonly #reorgDepth: number;
  #blocks: Block<T>[];
  #branch = 0;
  /** No reorg goes below it. */
  #final = 0;

  constructor(chain: ChainRole, reorgDepth: number) {
    this.#chain = chain;
    this.#reorgDepth = reorgDepth;
    this.#blocks = [{ position: at(chain, 0), contents: [] }];
  }

  get head(): number {
    return this.#blocks.length - 1;
  }

  block(blockNumber: number): Block<T> {
    const block = this.#blocks[blockNumber];
    if (block === undefined) throw new Error(`no block ${blockNumber}`);
    return block;
  }

  has(position: { readonly blockNumber: number; readonly blockHash: Hex }): boolean {
    return this.#blocks[position.blockNumber]?.position.blockHash === position.blockHash;
  }

  mine(...contents: T[]): void {
    this.#blocks.push({ position: at(this.#chain, this.#blocks.length, this.#branch), contents });
    this.#final = Math.max(this.#final, this.head - this.#reorgDepth);
  }

  /** Takes back up to `depth` blocks; what they held comes again in a block each, but for what `mask` drops. */
  reorg(depth: number, mask: number): void {
    const undone = this.#blocks.splice(Math.max(this.#final, this.head - depth) + 1);
    if (undone.length === 0) return;
    this.#branch += 1;
    const contents = undone.flatMap((block) => block.contents);
    contents.forEach((content, place) => {
      if (((mask >> (place % 16)) & 1) === 0) this.mine(content);
    });
  }
}

export class SimulatedSettlement extends SimulatedChain<Operation> {
  readonly #sizes: readonly bigint[];

  /** `sizes`: by quote number. */
  constructor(reorgDepth: number, sizes: readonly bigint[]) {
    super('settlement', reorgDepth);
    this.#sizes = sizes;
  }

  /** What the chain says of a quote at the end of a block. */
  state(n: number, blockNumber: number): QuoteState {
    let fillableSize = this.#sizes[n] ?? 0n;
    let reason: InvalidReason | null = null;
    for (let height = 0; height <= blockNumber; height += 1) {
      for (const operation of this.block(height).contents) {
        if (operation.type === 'deploy' || operation.n !== n) continue;
        if (operation.type === 'fill') fillableSize -= min(operation.size, fillableSize);
        if (operation.type === 'cancel') fillableSize = 0n;
        if (operation.type === 'means') reason = operation.reason;
      }
    }
    return { fillableSize, reason };
  }

  /** Sizes that fills of a quote took in a block, by place in the block; empty fills are left out. */
  taken(blockNumber: number, place: number): bigint {
    const { contents } = this.block(blockNumber);
    const fill = contents[place];
    if (fill?.type !== 'fill') return 0n;
    let left = this.state(fill.n, blockNumber - 1).fillableSize;
    for (const operation of contents.slice(0, place)) {
      if (operation.type === 'deploy' || operation.n !== fill.n) continue;
      if (operation.type === 'fill') left -= min(operation.size, left);
      if (operation.type === 'cancel') left = 0n;
    }
    return min(fill.size, left);
  }
}

/** The quote as the event in that place of the stream chain publishes it. */
export function publishedAt(quote: Quote, blockNumber: number, place: number): Quote {
  return { ...quote, origin: originAt(blockNumber, place) };
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
