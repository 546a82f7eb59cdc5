import type { ChainRole } from '../../engine/command.js';
import type { Clock } from '../../engine/ports.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { BlockHead } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { RpcError } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';

/** How one chain looks from here; for readiness, headers and heartbeats. */
export interface ChainStatus {
  readonly head: BlockHead | null;
  /** Null: fresh. Otherwise why not, in words. */
  readonly stale: string | null;
}

/**
 * Keeps when a chain last answered, and when it was last read: a node may tell of its head and of nothing else. Stale
 * reads go on; what needs the chain's present state is refused.
 */
export class ChainHealth {
  #head: BlockHead | null = null;
  /** Of the first request for a head since the last reply; null: none was asked for. */
  #askedAtMs: number | null = null;
  #repliedAtMs: number | null = null;
  #readAtMs: number | null = null;
  #halted: string | null = null;
  /** Of the last reading; null: it succeeded. */
  #failure: string | null = null;
  #doubt: string | null = null;

  constructor(
    private readonly name: string,
    private readonly clock: Clock,
    /** Without a successful head reply for longer than this, or without anything read, the chain is stale. */
    private readonly maxSilenceMs: number,
    /** Null: an idle chain makes no blocks, so age says nothing. */
    private readonly maxHeadAgeSeconds: number | null,
  ) {}

  /** A node is about to be asked for its head. */
  onAsk(): void {
    this.#askedAtMs ??= this.clock.monotonicMs();
  }

  onHead(head: BlockHead): void {
    this.#head = head;
    this.#askedAtMs = null;
    this.#repliedAtMs = this.clock.monotonicMs();
    // Reading begins with the first head, and has as long for its first range as for each later one.
    this.#readAtMs ??= this.#repliedAtMs;
  }

  /** All that the chain showed is in the book, or one more range of it. */
  onRead(): void {
    this.#readAtMs = this.clock.monotonicMs();
    this.#failure = null;
  }

  /** Reading failed, and is tried again. `why` is shown to everybody. */
  onFailure(why: string): void {
    this.#failure = why;
  }

  /** Why the last reading failed; null: it succeeded. */
  get failure(): string | null {
    return this.#failure === null ? null : `${this.name}: the last reading failed: ${this.#failure}`;
  }

  /** The logs that were read are known to lack events, and why; null: no more. */
  doubt(why: string | null): void {
    this.#doubt = why;
  }

  /** Reading has stopped for good; `why` is for the operator. */
  halt(why: string): void {
    this.#halted = why;
  }

  status(): ChainStatus {
    return { head: this.#head, stale: this.stale() };
  }

  /** As `status` has it. `nowMs`: of the same clock, for who has just asked it. */
  stale(nowMs = this.clock.monotonicMs()): string | null {
    if (this.#halted !== null) return `${this.name}: ${this.#halted}`;
    if (this.#head === null || this.#repliedAtMs === null) return `${this.name}: no block has been read yet`;
    const silentMs = nowMs - this.#repliedAtMs;
    if (silentMs > this.maxSilenceMs) return this.#silence(nowMs, silentMs);
    const stoodMs = nowMs - (this.#readAtMs ?? this.#repliedAtMs);
    if (stoodMs > this.maxSilenceMs) return `${this.name}: reading has stood still for ${Math.floor(stoodMs / 1000)} s`;
    if (this.#doubt !== null) return `${this.name}: ${this.#doubt}`;
    if (this.maxHeadAgeSeconds === null) return null;
    const ageSeconds = Math.floor(this.clock.wallMs() / 1000) - this.#head.timestamp;
    return ageSeconds > this.maxHeadAgeSeconds ? `${this.name}: the newest block is ${ageSeconds} s old` : null;
  }

  /** A chain that was not asked did not fail to answer: what counts is where most of the time went. */
  #silence(nowMs: number, silentMs: number): string {
    const seconds = Math.floor(silentMs / 1000);
    const waitedMs = nowMs - (this.#askedAtMs ?? nowMs);
    if (2 * waitedMs < silentMs) return `${this.name}: the service is busy and has not asked for ${seconds} s`;
    return `${this.name}: no answer for ${seconds} s`;
  }
}

/**
 * Switches to another endpoint when a node serves heads but keeps refusing logs or state. A node that lacks a block for
 * a moment gets `patienceMs` first. Only the endpoint of the failing chain is switched; if the error cannot be attributed
 * to one chain, both are.
 */
export class EndpointSwitch {
  #sinceMs = 0;

  constructor(
    private readonly rpc: Readonly<Record<ChainRole, Pick<Rpc, 'preferAnother'>>>,
    private readonly readers: Readonly<Record<ChainRole, Pick<ChainReader, 'hasGiven'>>>,
    private readonly clock: Clock,
    /** How long a node may refuse. */
    private readonly patienceMs: number,
  ) {}

  /** Reading the chains failed. `failures`: how often in a row, this time included. */
  onFailure(error: Error, failures: number): void {
    const now = this.clock.monotonicMs();
    if (failures === 1) this.#sinceMs = now;
    const isAnswered = error instanceof RpcError || error instanceof ChainAnswerError;
    if (!isAnswered || now - this.#sinceMs < this.patienceMs) return;
    if (!this.readers.stream.hasGiven(error)) this.rpc.settlement.preferAnother?.();
    if (!this.readers.settlement.hasGiven(error)) this.rpc.stream.preferAnother?.();
    this.#sinceMs = now;
  }
}
