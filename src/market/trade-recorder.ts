import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Logger } from '../persistence/disk/disk.js';
import type { TradeFiles, TradeLogEvent, TradePoint } from '../persistence/trades/trade-files.js';

export interface TradeRecorderLimits {
  /** How long trades wait for others that are written with them; after a failure, for the next try. */
  readonly tradeWriteMs: number;
  readonly tradeRetryMs: number;
  /** Trades of one write. */
  readonly tradeBatch: number;
  /** Trades that wait; beyond it writing ends until the next start, which reads them from the log. */
  readonly tradeQueue: number;
  /** Records without trades after which the files say that there were none. */
  readonly tradeMarkRecords: number;
}

/** A trade event and the engine time of its record, milliseconds. */
interface WaitingTrade {
  readonly event: TradeLogEvent;
  readonly tsMs: number;
}

/**
 * Writes trade events of committed records to their files, beside the log's writer, which never waits for it. While the
 * files cannot be written the service goes on: trades are served from memory, and the log has them for the next start.
 */
export class TradeRecorder {
  readonly #files: Pick<TradeFiles, 'append' | 'close' | 'through'>;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #limits: TradeRecorderLimits;
  readonly #logger: Logger;
  #waiting: WaitingTrade[] = [];
  #through: TradePoint | null = null;
  /** Since the files said last up to where they are whole. */
  #records = 0;
  #state: 'WRITING' | 'FAILING' | 'ENDED' = 'WRITING';
  #cancel: CancelTimer | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    files: Pick<TradeFiles, 'append' | 'close' | 'through'>,
    clock: Pick<Clock, 'after'>,
    limits: TradeRecorderLimits,
    logger: Logger,
  ) {
    this.#files = files;
    this.#clock = clock;
    this.#limits = limits;
    this.#logger = logger;
  }

  /** The files lack trades that are committed, and the last try to write them failed. */
  get isFailing(): boolean {
    return this.#state !== 'WRITING';
  }

  /** The files lack no more than what waits. */
  get isWhole(): boolean {
    return this.#state !== 'ENDED';
  }

  /** Events that the files lack yet. */
  waiting(): TradeLogEvent[] {
    const written = this.#files.through?.seq ?? 0;
    return this.#waiting.flatMap(({ event }) => (event.seq > written ? [event] : []));
  }

  /** Trade events of `records` records that end at `through`, in the log's order. */
  add(trades: readonly WaitingTrade[], through: TradePoint, records: number): void {
    if (this.#state === 'ENDED') return;
    for (const trade of trades) this.#waiting.push(trade);
    this.#through = through;
    this.#records += records;
    if (this.#waiting.length > this.#limits.tradeQueue) return this.#end();
    const isDue = this.#waiting.length > 0 || this.#records >= this.#limits.tradeMarkRecords;
    if (isDue && this.#cancel === null) this.#writeLater();
  }

  /** Resolves when all that was added is written, or could not be. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Writes what waits, once; nothing is written any more when it resolves. */
  async stop(): Promise<void> {
    this.#cancel?.();
    await this.flush();
    this.#cancel?.();
    this.#state = 'ENDED';
    await this.#files.close();
  }

  #writeLater(): void {
    const { tradeRetryMs, tradeWriteMs } = this.#limits;
    this.#cancel = this.#clock.after(this.#state === 'FAILING' ? tradeRetryMs : tradeWriteMs, () => {
      this.#cancel = null;
      void this.flush();
    });
  }

  async #write(): Promise<void> {
    this.#records = 0;
    try {
      while (this.#state !== 'ENDED' && this.#through !== null && this.#through.seq !== this.#files.through?.seq) {
        const part = this.#waiting.slice(0, this.#limits.tradeBatch);
        const last = part.at(-1);
        const isAll = last === undefined || part.length === this.#waiting.length;
        const through = isAll ? this.#through : { seq: last.event.seq, tsMs: last.tsMs };
        await this.#files.append({ events: part.map(({ event }) => event), through });
        this.#waiting = this.#waiting.slice(part.length);
        this.#setFailing(false, {});
      }
    } catch (error) {
      this.#setFailing(true, { err: error });
      if (this.#state === 'FAILING' && this.#cancel === null) this.#writeLater();
    }
  }

  #setFailing(isFailing: boolean, details: object): void {
    if (this.#state === 'ENDED' || this.isFailing === isFailing) return;
    this.#state = isFailing ? 'FAILING' : 'WRITING';
    if (isFailing) this.#logger.error(details, 'trade file not written');
    else this.#logger.info(details, 'trade file writes recovered');
  }

  #end(): void {
    this.#logger.error({ waiting: this.#waiting.length }, 'trade files given up');
    this.#state = 'ENDED';
    this.#waiting = [];
    this.#cancel?.();
  }
}
