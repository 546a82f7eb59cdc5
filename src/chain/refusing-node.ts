import type { ChainRole } from '../engine/command.js';
import type { Clock, Rpc } from '../engine/ports.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { ChainReader } from './chain-reader.js';
import { RpcError } from './rpc-errors.js';

/**
 * A node may tell of heads and refuse what else is asked: its logs, the state of a block. What it lacks for a moment it
 * is given time for; then another one of its chain is asked. The other chain's stays, which may be the one that is well.
 * Where it cannot be told whose fault it is, both are left.
 */
export class RefusingNode {
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
