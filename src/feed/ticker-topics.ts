import { assert } from '../engine/assert.js';
import type { Hex } from '../engine/quote.js';
import type { Encoding, EncodingName } from './encoding.js';
import { networkTopic, type JoinedTopic, type Publish } from './quote-topics.js';
import { tickerJson, type Ticker } from './tickers.js';

/** Where the tickers of one pool go, or of all (null). */
export function tickerKey(chainId: string, poolAddress: Hex | null): string {
  return `ticker:${chainId}:${poolAddress ?? '*'}`;
}

/** The topics of TICKER that have readers. Each message is a whole ticker, so that the newest is all that counts. */
export class TickerTopics {
  readonly #chainId: string;
  readonly #encodings: readonly Encoding[];
  readonly #publish: Publish;
  readonly #readers = new Map<string, Record<EncodingName, number>>();

  constructor(chainId: string, encodings: readonly Encoding[], publish: Publish) {
    this.#chainId = chainId;
    this.#encodings = encodings;
    this.#publish = publish;
  }

  /** Topics with at least one reader. */
  get size(): number {
    return this.#readers.size;
  }

  join(poolAddress: Hex | null, encoding: EncodingName): JoinedTopic {
    const key = tickerKey(this.#chainId, poolAddress);
    const readers = this.#readers.get(key) ?? { json: 0, msgpack: 0 };
    readers[encoding] += 1;
    this.#readers.set(key, readers);
    return { topic: networkTopic(encoding, key), name: key, key, encoding };
  }

  leave({ key, encoding }: JoinedTopic): void {
    const readers = this.#readers.get(key);
    assert(readers !== undefined, 'who leaves has joined');
    readers[encoding] -= 1;
    if (readers.json + readers.msgpack === 0) this.#readers.delete(key);
  }

  /** What the record that ends with event `seq` changed. */
  tell(tickers: readonly Ticker[], seq: number, tsMs: number): void {
    if (this.#readers.size === 0) return;
    for (const ticker of tickers) {
      for (const poolAddress of [ticker.pool.poolAddress, null]) {
        const key = tickerKey(this.#chainId, poolAddress);
        const readers = this.#readers.get(key);
        if (readers !== undefined) this.#tell(ticker, key, readers, seq, tsMs);
      }
    }
  }

  #tell(ticker: Ticker, key: string, readers: Readonly<Record<EncodingName, number>>, seq: number, tsMs: number): void {
    for (const encoding of this.#encodings) {
      if (readers[encoding.name] === 0) continue;
      const message = encoding.message({ type: 'TICKER', key, seq, tsMs, body: tickerJson(ticker) });
      this.#publish(networkTopic(encoding.name, key), message, encoding.isBinary);
    }
  }
}
