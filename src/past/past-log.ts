import type { Profile } from '../chain/contracts/deployments.js';
import type { PastAnswer, PastRequest } from '../http/history-route.js';
import type { Disk } from '../persistence/disk/disk.js';
import { requireManifest } from '../persistence/format/manifest.js';
import { LogHistory } from '../persistence/log/log-history.js';
import { QuoteJson } from '../wire/quote-json.js';
import { findQuoteEvents, quoteHistoryJson } from './quote-history.js';

export interface PastLogLimits {
  /** Bytes of records that one answer searches. */
  readonly pastSearchBytes: number;
  /** Quotes whose written text is kept. */
  readonly writtenQuotes: number;
}

export interface PastLogOptions {
  /** As it goes on the wire. */
  readonly chainId: string;
  readonly profile: Pick<Profile, 'tokens' | 'contracts'>;
  readonly limits: PastLogLimits;
}

/** A question, and the last record that the answer may show, which has to be durable. */
export type BoundedRequest = PastRequest & { readonly throughIndex: number };

/** Bytes of records that are searched in about the time that one row takes to be read. */
const BYTES_PER_ROW = 1 << 10;

/** Answers questions about the past from the log's files. */
export class PastLog {
  readonly #history: LogHistory;
  readonly #options: PastLogOptions;
  readonly #quoteJson: QuoteJson;

  static async open(disk: Disk, options: PastLogOptions): Promise<PastLog> {
    const { epoch } = await requireManifest(disk);
    return new PastLog(new LogHistory(disk, epoch), options);
  }

  private constructor(history: LogHistory, options: PastLogOptions) {
    this.#history = history;
    this.#options = options;
    this.#quoteJson = new QuoteJson(options.chainId, options.limits.writtenQuotes);
  }

  async answer(request: BoundedRequest): Promise<PastAnswer> {
    const { quoteId } = request;
    const found = await findQuoteEvents(this.#history, request, this.#options.limits.pastSearchBytes);
    if (found.type === 'GONE') return { type: 'GONE', oldest: { seq: found.since } };
    const body = Buffer.from(JSON.stringify(quoteHistoryJson(quoteId, found, this.#quoteJson)));
    const rowsRead = Math.ceil(found.bytesRead / BYTES_PER_ROW);
    return { type: 'FOUND', body, rows: found.events.length, rowsRead };
  }
}
