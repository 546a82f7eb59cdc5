import type { Clock } from '../../engine/ports.js';
import type { BlockHead, BlockId } from '../contracts/blocks-and-logs.js';
import { DISTRUST_MS } from './filter-trust.js';

export interface HeardHeadsOptions {
  /** How long the subscription alone says what the newest block is, before the node is asked for it again. */
  readonly checkMs: number;
  /** How long the node may lack a block that the subscription announced. */
  readonly lagMs: number;
}

interface HeardHead {
  readonly head: BlockHead;
  readonly atMs: number;
}

/** Heads that are kept: more than reading falls behind by while the node is slow. */
const KEPT = 256;

/**
 * The block headers that a chain's subscription announced. While it is alive and they connect to the block that was read
 * last, the node need not be asked for them. The node is asked for its head every `checkMs` all the same, so that a
 * subscription that has fallen silent is noticed; then the reader polls until it announces a block again.
 */
export class HeardHeads {
  /** By number; the last one is the newest. */
  readonly #heads = new Map<number, HeardHead>();
  #newest: BlockHead | null = null;
  #isOpen = false;
  /** A block of the node that the subscription has not announced; null: it announced all of them. */
  #missing: number | null = null;
  #checkAtMs = -Infinity;
  #distrustedUntilMs = -Infinity;
  /** Blocks were read by these heads since the node was last asked for its own. */
  #isUsed = false;

  constructor(
    private readonly clock: Clock,
    private readonly options: HeardHeadsOptions,
  ) {}

  /** Whether these heads say what the newest block is; else the node has to be asked. */
  get isCurrent(): boolean {
    const now = this.clock.monotonicMs();
    const isAlive = this.#isOpen && this.#newest !== null && this.#missing === null;
    return isAlive && now < this.#checkAtMs && now >= this.#distrustedUntilMs;
  }

  /** The node has accepted the subscription. */
  open(): void {
    this.#isOpen = true;
  }

  /** The connection ended, and may have been silent before. */
  close(): void {
    this.#isOpen = false;
    this.#newest = null;
    this.#heads.clear();
  }

  add(head: BlockHead): void {
    // Those above it are of a branch that it replaced.
    for (const number of this.#heads.keys()) if (number >= head.number) this.#heads.delete(number);
    this.#heads.set(head.number, { head, atMs: this.clock.monotonicMs() });
    this.#newest = head;
    if (this.#missing !== null && head.number >= this.#missing) this.#missing = null;
    for (const number of this.#heads.keys()) {
      if (this.#heads.size <= KEPT) break;
      this.#heads.delete(number);
    }
  }

  at(number: number): BlockHead | undefined {
    return this.#heads.get(number)?.head;
  }

  /** The heads above `block`, oldest first; null where they do not connect to it. */
  after({ blockNumber, blockHash }: BlockId): BlockHead[] | null {
    const heads: BlockHead[] = [];
    let head = this.#newest;
    if (head?.number === blockNumber) return head.hash === blockHash ? [] : null;
    while (head !== null && head.number > blockNumber) {
      heads.unshift(head);
      if (head.number === blockNumber + 1) return head.parentHash === blockHash ? heads : null;
      const parent: BlockHead | undefined = this.at(head.number - 1);
      head = parent?.hash === head.parentHash ? parent : null;
    }
    return null;
  }

  /** `head`: the node's answer to a request for its newest block. */
  check(head: BlockHead): void {
    this.#isUsed = false;
    this.#checkAtMs = this.clock.monotonicMs() + this.options.checkMs;
    // The first one of a chain that stands still: the next is announced.
    if (this.#isOpen && this.#newest === null) return this.add(head);
    const heard = this.at(head.number);
    const isMissing = heard === undefined ? head.number > (this.#newest?.number ?? -1) : heard.hash !== head.hash;
    if (isMissing) this.#missing = head.number;
    if (heard?.hash === head.hash && heard.logsBloom !== head.logsBloom) {
      this.#distrustedUntilMs = this.clock.monotonicMs() + DISTRUST_MS;
    }
  }

  /** Null unless the node, with this head, is only a moment behind the subscription: then the newest head. */
  aheadOf(head: BlockHead): BlockHead | null {
    const next = this.#heads.get(head.number + 1);
    const isAhead = next?.head.parentHash === head.hash && this.isCurrent;
    return isAhead && this.clock.monotonicMs() - next.atMs < this.options.lagMs ? this.#newest : null;
  }

  use(): void {
    this.#isUsed = true;
  }

  /** The node is asked before these heads are used again. True: blocks were read by them since it was last asked. */
  askAgain(): boolean {
    const isUsed = this.#isUsed;
    this.#isUsed = false;
    this.#checkAtMs = -Infinity;
    return isUsed;
  }
}
