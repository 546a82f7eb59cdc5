import type { CancelTimer, Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import { RpcUnreachable } from '../rpc/rpc-errors.js';
import type { CallResult, ContractCall } from './abi-encoding.js';
import type { AtBlock } from './blocks-and-logs.js';
import type { ChainReader } from './chain-reader.js';

/** Reads of a chain on behalf of clients. */
export type ClientReads = Pick<ChainReader, 'call' | 'multicall' | 'nativeBalance'>;

export interface ReadBounds {
  /** Calls of a `multicall` that have one place. */
  readonly callsPerBatch: number;
  /** Places that one `multicall` has at most. */
  readonly batchesInFlight: number;
  /** Places of all reads together. */
  readonly places: number;
  /** How long a read waits for a place. */
  readonly waitMs: number;
}

/**
 * Reads of a chain that are bounded over all callers: those beyond `places` wait in the order in which they came, so
 * that a caller with many batches has no more than `batchesInFlight` of them before a newcomer. Waiting for longer than
 * `waitMs` is RpcUnreachable, as if the chain had not answered.
 */
export class BoundedReads implements ClientReads {
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(
    private readonly reader: ClientReads,
    private readonly bounds: ReadBounds,
    private readonly clock: Pick<Clock, 'after'>,
  ) {}

  call(...asked: Parameters<ClientReads['call']>): Promise<CallResult> {
    return this.#placed(() => this.reader.call(...asked));
  }

  nativeBalance(account: Hex): Promise<bigint> {
    return this.#placed(() => this.reader.nativeBalance(account));
  }

  async multicall(calls: readonly ContractCall[], at?: AtBlock): Promise<CallResult[]> {
    const { callsPerBatch, batchesInFlight } = this.bounds;
    const batches: (readonly ContractCall[])[] = [];
    for (let start = 0; start < calls.length; start += callsPerBatch) {
      batches.push(calls.slice(start, start + callsPerBatch));
    }
    let hasFailed = false;
    const answers = await mapLimit(batches, batchesInFlight, async (batch) => {
      // All of it fails with the first failure: the batches that are left would be read for nobody.
      if (hasFailed) return [];
      try {
        return await this.#placed(() => this.reader.multicall(batch, at));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    });
    return answers.flat();
  }

  async #placed<T>(read: () => Promise<T>): Promise<T> {
    if (this.#taken < this.bounds.places) this.#taken += 1;
    else await this.#wait();
    try {
      return await read();
    } finally {
      this.#give();
    }
  }

  /** Resolves with a place. */
  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      let cancel: CancelTimer = () => undefined;
      const take = (): void => {
        cancel();
        resolve();
      };
      cancel = this.clock.after(this.bounds.waitMs, () => {
        this.#waiting.delete(take);
        reject(new RpcUnreachable('Too many reads of clients wait for the chain'));
      });
      this.#waiting.add(take);
    });
  }

  /** Hands the place to the read that has waited longest. */
  #give(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
