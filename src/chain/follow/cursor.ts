import type { Clock } from '../../engine/ports.js';
import { GracePeriod, mapLimit } from '../../system/timers.js';
import { type BlockHead, type BlockId, idOf } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { RpcError } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import type { HeardHeads } from './heard-heads.js';
import { ReadBlocks } from './read-blocks.js';

export interface CursorOptions {
  /** First block that can hold anything of interest; asked once, when nothing was read yet. */
  readonly firstBlock: () => Promise<number>;
  /** Blocks that must follow a block before it is read. */
  readonly confirmations: number;
  /** Reorgs up to this many blocks are followed; a deeper one stops the cursor. */
  readonly reorgDepth: number;
  /** Most blocks in one range of logs. */
  readonly maxRange: number;
  /** New blocks up to this many are all asked for their headers, which say what may be in them. */
  readonly nearBlocks: number;
  readonly blocksInFlight: number;
  /**
   * How long a lower head, the lack of a block or a deep reorg must be shown before it is believed: it may be a node
   * that lags, or is on a dead branch.
   */
  readonly lowerHeadMs: number;
}

/** Where a reader goes on after a restart. */
export interface CursorStart {
  /** Blocks that were read, oldest first; the last is where the reading stood. */
  readonly trail: readonly BlockId[];
  /** Of the last one only some logs were accounted for, so it is read again. */
  readonly isPartial: boolean;
}

export interface CursorListener {
  /** A node is about to be asked for its head. */
  onAsk(): void;
  /** Every head that a node answers with, also one seen before. The reading goes on once it resolves. */
  onHead(head: BlockHead): void | Promise<void>;
  /** The node shows a lower head than it did, lacks a block that was read, or shows another chain altogether. */
  onLag(): void;
  /** The chain dropped the blocks that were read after this one. Called again until the book has taken the reorg. */
  onReorg(ancestor: BlockId): void;
  /** There was nothing to be read; or what there was, a range or a reorg, is in the book. */
  onRead(): void;
}

/** Whether the block that was read last is part of the chain. UNSURE: the node may lag. */
type Standing = 'STANDS' | 'UNSURE' | 'GONE';

const NO_HEADS: readonly BlockHead[] = [];

/** A reorg deeper than `reorgDepth`: nothing read from this chain can be trusted until an operator has looked. */
export class DeepReorg extends Error {
  override readonly name = 'DeepReorg';
}

/** The chain changed its mind while a range was read: what was read may be of two branches and counts for nothing. */
export class ChainMoved extends Error {
  override readonly name = 'ChainMoved';
}

/**
 * Where the reading of one chain stands, and what is to be read next. It decides by block hashes; the log query is the
 * caller's.
 */
export class ChainCursor {
  #position: BlockId | null;
  #isPartial: boolean;
  readonly #trail: ReadBlocks;
  #firstBlock: number | null = null;
  #range: number;
  /** The newest block to be read, as the last poll found it. */
  #newest: BlockHead | null = null;
  /** That the node shows less than it did. */
  readonly #lag: GracePeriod;
  /** That it shows nothing of what was read. */
  readonly #strangeness: GracePeriod;
  /** The reader's `switches` when the node told of the head: one poll and what follows from it are of one node's view. */
  #switches = 0;

  constructor(
    private readonly reader: ChainReader,
    private readonly options: CursorOptions,
    { trail, isPartial }: CursorStart,
    clock: Clock,
    private readonly listener: CursorListener,
    /** Blocks that a subscription announced; null without one. */
    private readonly heard: HeardHeads | null = null,
  ) {
    this.#lag = new GracePeriod(clock, options.lowerHeadMs);
    this.#strangeness = new GracePeriod(clock, options.lowerHeadMs);
    this.#trail = new ReadBlocks(trail);
    this.#position = trail.at(-1) ?? null;
    this.#isPartial = isPartial;
    this.#range = options.maxRange;
  }

  /** The last block that was read completely; null before the first. */
  get position(): BlockId | null {
    return this.#isPartial ? null : this.#position;
  }

  /**
   * The newest block to be read where this one is deeper below it than a reorg goes, so that a node may have thrown its
   * state away; else null.
   */
  newestFarAbove({ blockNumber }: BlockId): BlockId | null {
    const newest = this.#newest;
    return newest !== null && newest.number - blockNumber > this.options.reorgDepth ? idOf(newest) : null;
  }

  /** Asks the node where the subscription does not say what the newest block is. */
  async poll(): Promise<CursorStep> {
    const heardStep = await this.#heardStep();
    if (heardStep !== null) return heardStep;
    this.listener.onAsk();
    const head = await this.reader.head();
    this.#switches = this.reader.switches;
    this.heard?.check(head);
    const newer = this.heard?.aheadOf(head) ?? null;
    await this.listener.onHead(newer ?? head);
    if (newer !== null) return { type: 'IDLE' };
    const target = await this.#target(head);
    this.#newest = target;
    if (target === null) return this.#idle();
    const position = this.#position;
    if (position === null) return this.#begin(target);
    const next = this.#isPartial ? position.blockNumber : position.blockNumber + 1;
    const heads = await this.#headsFrom(next, target);
    const standing = await this.#standing(position, target, heads);
    if (standing === 'UNSURE') return { type: 'IDLE' };
    if (standing === 'STANDS') return this.#blocks(next, target, heads);
    const find = (number: number): Promise<BlockHead | null> => this.#find(number, target);
    const ancestor = (await reorgAncestor(this.#trail, target, find)) ?? this.#strange(target);
    if (ancestor.blockNumber === position.blockNumber) {
      // The node has it after all. Resuming at its end would skip the rest of a block of which the book has only a part.
      this.#lag.end();
      return this.#blocks(next, target, NO_HEADS);
    }
    this.listener.onReorg(ancestor);
    return { type: 'REORG', ancestor };
  }

  /** The node is asked before the subscription is believed again. True: it was believed since the node was last asked. */
  askAgain(): boolean {
    return this.heard?.askAgain() ?? false;
  }

  /**
   * Rejects with ChainMoved when the range's end is no longer on the chain, or another node took over: what was read
   * may be of another branch, or of a node that does not have all of it yet.
   */
  async confirm(range: BlockRange): Promise<void> {
    const { to } = range;
    const { hash } = await this.reader.block(to.number);
    const hasMoved = this.reader.switches !== this.#switches;
    if (!hasMoved && hash === to.hash) return;
    // Where nodes often fail, a shorter range needs fewer answers of the same one.
    this.narrow(range);
    const why = hasMoved ? 'Another node took over before it was read' : 'It was replaced while it was read';
    throw new ChainMoved(`Block ${to.number}: ${why}`);
  }

  /**
   * Whether a range ended there. If not, orders may have had another state after this block than the book has ever
   * shown: their makers' funds left before it and came back after it.
   */
  isEnd(block: BlockId): boolean {
    return this.#trail.isEnd(block);
  }

  /** The range was read. `seen`: blocks before its end with events that the book has, in order. */
  advance({ to }: BlockRange, seen: readonly BlockId[]): void {
    this.#trail.add(seen, idOf(to));
    this.#position = idOf(to);
    this.#isPartial = false;
    this.#trail.forgetBelow(to.number - this.options.reorgDepth);
    this.#range = Math.min(this.#range * 2, this.options.maxRange);
    this.listener.onRead();
  }

  /** Reading goes on after this block: the one before the first, or the ancestor of a new branch. */
  moveTo(block: BlockId): void {
    this.#trail.goBackTo(block);
    this.#position = block;
    this.#isPartial = false;
    this.#lag.end();
    this.#strangeness.end();
    this.listener.onRead();
  }

  /** The node refused this range of logs: ask for half of it next. False: it was a single block already. */
  narrow({ fromBlock, to }: BlockRange): boolean {
    const blocks = to.number - fromBlock + 1;
    if (blocks <= 1) return false;
    this.#range = Math.ceil(blocks / 2);
    return true;
  }

  /** Null where the node has to be asked. */
  async #heardStep(): Promise<CursorStep | null> {
    const { heard } = this;
    const position = this.position;
    if (heard === null || position === null || !heard.isCurrent) return null;
    const heads = heard.after(position);
    const newest = heads?.at(-1);
    if (heads === null) return null;
    if (newest === undefined) return this.#idle();
    await this.listener.onHead(newest);
    const confirmed = heads.slice(0, Math.max(0, heads.length - this.options.confirmations));
    const target = confirmed.at(-1);
    if (target === undefined) return this.#idle();
    heard.use();
    this.#switches = this.reader.switches;
    this.#newest = target;
    this.#lag.end();
    this.#strangeness.end();
    return {
      type: 'BLOCKS',
      fromBlock: position.blockNumber + 1,
      to: target,
      isLast: true,
      heads: confirmed,
      isHeard: true,
    };
  }

  #idle(): CursorStep {
    this.listener.onRead();
    return { type: 'IDLE' };
  }

  /** The newest block with enough blocks after it; null while no block has. */
  async #target(head: BlockHead): Promise<BlockHead | null> {
    if (this.options.confirmations === 0) return head;
    const number = head.number - this.options.confirmations;
    return number < 0 ? null : this.reader.block(number);
  }

  /** The block before the first is the ancestor of a reorg that replaces all that will be read. */
  async #begin(target: BlockHead): Promise<CursorStep> {
    this.#firstBlock ??= await this.options.firstBlock();
    const before = Math.max(this.#firstBlock - 1, 0);
    if (target.number < before) return this.#idle();
    return { type: 'BEGIN', at: idOf(await this.reader.block(before)) };
  }

  async #blocks(fromBlock: number, target: BlockHead, heads: readonly BlockHead[]): Promise<CursorStep> {
    if (target.number < fromBlock) return this.#idle();
    let last = Math.min(target.number, fromBlock + this.#range - 1);
    // A range ends where reorgs begin, so that one of them does not throw the reader back over all of it.
    const final = target.number - this.options.reorgDepth;
    if (fromBlock <= final && final < last) last = final;
    const isLast = last === target.number;
    const to = isLast ? target : await this.reader.block(last);
    return { type: 'BLOCKS', fromBlock, to, isLast, heads: isLast ? heads : NO_HEADS };
  }

  /**
   * The blocks from `next` to `target`, oldest first; those above one that the node lacks or refuses. None where there
   * are too many. Rejects with ChainMoved when they do not follow each other.
   */
  async #headsFrom(next: number, target: BlockHead): Promise<readonly BlockHead[]> {
    const most = Math.min(this.options.nearBlocks, this.#range);
    if (target.number < next || target.number - next >= most) return NO_HEADS;
    const numbers = Array.from({ length: target.number - next }, (_, i) => next + i);
    const found = await mapLimit(numbers, this.options.blocksInFlight, (number) => this.#headOrNull(number));
    const heads = [target];
    for (const head of found.reverse()) {
      if (head === null) break;
      if (head.hash !== heads[0]?.parentHash)
        throw new ChainMoved(`Block ${head.number} was replaced while it was read`);
      heads.unshift(head);
    }
    return heads;
  }

  /** Null also where the node refuses or gives nonsense: the range can be read without that header. */
  async #headOrNull(number: number): Promise<BlockHead | null> {
    try {
      return await this.reader.findBlock(number);
    } catch (error) {
      if (error instanceof RpcError || error instanceof ChainAnswerError) return null;
      throw error;
    }
  }

  /** Whether the block that was read last is still part of the chain that ends in `target`. */
  async #standing(
    { blockNumber, blockHash }: BlockId,
    target: BlockHead,
    heads: readonly BlockHead[],
  ): Promise<Standing> {
    if (target.number < blockNumber) {
      const known = this.#trail.at(target.number);
      return known !== undefined && known.blockHash !== target.hash ? 'GONE' : this.#patience();
    }
    const [lowest] = heads;
    const isNext = lowest?.number === blockNumber + 1;
    const isSame = lowest?.number === blockNumber;
    const shown = isNext ? lowest.parentHash : isSame ? lowest.hash : undefined;
    const hash = shown ?? (await this.#find(blockNumber, target))?.hash;
    if (hash === undefined) return this.#patience();
    this.#lag.end();
    if (hash !== blockHash) return 'GONE';
    this.#strangeness.end();
    return 'STANDS';
  }

  /** A node that lacks a block counts as one behind the others, until the block has been missing for too long. */
  #patience(): Standing {
    this.listener.onLag();
    return this.#lag.isOver() ? 'GONE' : 'UNSURE';
  }

  async #find(number: number, target: BlockHead): Promise<BlockHead | null> {
    return number === target.number ? target : this.reader.findBlock(number);
  }

  /** Another chain altogether is believed only when it has been shown for long enough. */
  #strange(target: BlockHead): never {
    this.listener.onLag();
    const { oldest, newest } = this.#trail;
    const message = `None of the blocks ${oldest?.blockNumber}..${newest?.blockNumber} that were read is on the chain with head ${target.number}, ${target.hash}`;
    throw this.#strangeness.isOver() ? new DeepReorg(message) : new ChainAnswerError(message);
  }
}

/** A range of blocks whose logs are to be read. */
export interface BlockRange {
  readonly fromBlock: number;
  readonly to: BlockHead;
  /** `to` is the newest block to be read for now. */
  readonly isLast: boolean;
  /**
   * The last blocks of the range, oldest first, each the parent of the next. Of a range near the head all of them; none
   * of a long one.
   */
  readonly heads: readonly BlockHead[];
  /** A subscription announced them; the node may not have them yet. */
  readonly isHeard?: true;
}

/** The next step, as `ChainCursor` decides it. */
export type CursorStep =
  /** There is nothing to be read now, or the node lags. */
  | { readonly type: 'IDLE' }
  /** Nothing was read yet: tell the book of this block, which holds nothing of interest, then `moveTo(at)`. */
  | { readonly type: 'BEGIN'; readonly at: BlockId }
  /** Read the logs of the range, then `advance`. */
  | ({ readonly type: 'BLOCKS' } & BlockRange)
  /** All above `ancestor` never happened; undo it, then `moveTo(ancestor)`. */
  | { readonly type: 'REORG'; readonly ancestor: BlockId };

/**
 * The newest block that was read and is on the chain that ends in `target`; null when it has none of them and shows
 * another chain. Rejects with ChainAnswerError when the node has lost blocks, or is behind all that was read: a block
 * that it lacks proves nothing, and an older one that it has is as good an ancestor. Only a block that differs shows
 * that the chain changed.
 */
export async function reorgAncestor(
  trail: ReadBlocks,
  target: BlockHead,
  find: (blockNumber: number) => Promise<BlockHead | null>,
): Promise<BlockId | null> {
  let lost: BlockId | null = null;
  let differs = false;
  for (const candidate of trail.newestFirst()) {
    if (candidate.blockNumber > target.number) continue;
    const block = await find(candidate.blockNumber);
    if (block?.hash === candidate.blockHash) return idOf(block);
    if (block === null) lost = candidate;
    else differs = true;
  }
  if (lost !== null) throw new ChainAnswerError(`The node lacks block ${lost.blockNumber}, below its own head`);
  if (differs) return null;
  throw new ChainAnswerError(
    `The node is behind: its head ${target.number} is below block ${trail.oldest?.blockNumber}, the oldest that reading can go back to`,
  );
}
