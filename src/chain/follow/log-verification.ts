import type { Clock } from '../../engine/ports.js';
import type { BlockId, ChainLog } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { RpcError } from '../rpc/rpc-errors.js';
import type { SeenLogs } from './seen-logs.js';

/** Requests for the logs of a range of blocks. */
export interface LogQueries {
  /** Logs that change the book. Each counts once. */
  events(reader: Pick<ChainReader, 'logs'>, fromBlock: number, to: BlockId): Promise<readonly ChainLog[]>;
  /** Logs that only say which orders have to be checked. */
  hints(reader: Pick<ChainReader, 'logs'>, fromBlock: number, to: BlockId): Promise<readonly ChainLog[]>;
}

export interface FoundLogs {
  readonly events: readonly ChainLog[];
  readonly hints: readonly ChainLog[];
}

export interface LogVerificationOptions {
  /**
   * Blocks that the slow verification reads again, and the time between two of them. A while after the last block that
   * may hold what is read, they are `CALM_FACTOR` times as far apart.
   */
  readonly verifyBlocks: number;
  readonly verifyMs: number;
  /** Remembered logs that one request of a verification is to be answered with, and the rest of their last block. */
  readonly logsPerVerifyRequest: number;
}

/** The verification is calm when so many of them have found nothing since a block last held something. */
const CALM_AFTER_VERIFICATIONS = 3;
const CALM_FACTOR = 30;

/** Reads the newest blocks of a `LogWindow` again every `verifyMs`, beside its other reading. */
export class LogVerification {
  /** Blocks that can be read again at once, at least 1; less than `verifyBlocks` where the node refused that many. */
  #reach: number;
  #endedAtMs: number;
  #isRunning = false;
  /** When a block was read last that may hold what is read, or a verification failed or found something. */
  #suspectedAtMs: number;

  constructor(
    /** Of another endpoint where there is one. */
    private readonly second: Pick<ChainReader, 'logs'>,
    private readonly queries: LogQueries,
    private readonly seen: Pick<SeenLogs, 'partsOf'>,
    private readonly clock: Clock,
    private readonly options: LogVerificationOptions,
  ) {
    this.#reach = options.verifyBlocks;
    this.#endedAtMs = clock.monotonicMs();
    this.#suspectedAtMs = clock.monotonicMs();
  }

  /** Something may hold what is read, or have lost it: the next verifications follow each other closely. */
  suspect(): void {
    this.#suspectedAtMs = this.clock.monotonicMs();
  }

  /**
   * Starts one if it is due, without waiting for it. `floor`: the lowest block that may be read again. `isCurrent`: false
   * when a reorg has changed the branch since. `onFound` takes all logs that were read, and returns whether it lacked
   * events among them.
   */
  start(position: BlockId, floor: number, isCurrent: () => boolean, onFound: (logs: FoundLogs) => boolean): void {
    const now = this.clock.monotonicMs();
    const { verifyMs } = this.options;
    const isCalm = now - this.#suspectedAtMs > CALM_AFTER_VERIFICATIONS * verifyMs;
    const pauseMs = isCalm ? CALM_FACTOR * verifyMs : verifyMs;
    if (this.#isRunning || now - this.#endedAtMs < pauseMs) return;
    this.#isRunning = true;
    void this.#verify(position, floor, isCurrent, onFound).finally(() => {
      this.#isRunning = false;
      this.#endedAtMs = this.clock.monotonicMs();
    });
  }

  async #verify(
    position: BlockId,
    floor: number,
    isCurrent: () => boolean,
    onFound: (logs: FoundLogs) => boolean,
  ): Promise<void> {
    const fromBlock = Math.max(floor, position.blockNumber - this.#reach + 1);
    if (fromBlock > position.blockNumber) return;
    const { second } = this;
    let events: readonly ChainLog[] = [];
    let hints: readonly ChainLog[] = [];
    try {
      let first = fromBlock;
      // One part after another: the event loop stands still while an answer is read.
      for (const to of this.seen.partsOf(fromBlock, position, this.options.logsPerVerifyRequest)) {
        const read = [this.queries.events(second, first, to), this.queries.hints(second, first, to)] as const;
        const [someEvents, someHints] = await Promise.all(read);
        if (!isCurrent()) return;
        events = [...events, ...someEvents];
        hints = [...hints, ...someHints];
        first = to.blockNumber + 1;
      }
      this.#reach = Math.min(2 * this.#reach, this.options.verifyBlocks);
      if (onFound({ events, hints })) this.suspect();
    } catch (error) {
      this.suspect();
      // Nobody waits for it: the next one is due in `verifyMs`.
      if (error instanceof RpcError) this.#reach = Math.max(1, this.#reach >> 1);
    }
  }
}
