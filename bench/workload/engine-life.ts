import type { Command } from '../../src/engine/command.js';
import type { Quote } from '../../src/engine/quote.js';
import { SeededRandom } from './random.js';
import { blockHashOf, hex, makerOf, poolOf, quoteOf } from './quotes.js';

/** Prices that the quotes of the one pool have. */
const LEVELS = 1000;
const MAKERS = 100;
const FIRST_BLOCK = 500;

/**
 * Commands that fill a book and then keep it as full: each quote that enters takes the place of another, chosen at
 * random.
 */
export class EngineLife {
  readonly #random = new SeededRandom(11);
  readonly #pool = poolOf(0);
  readonly #live: Quote[] = [];
  #made = 0;
  #block = FIRST_BLOCK;

  /** One more quote. */
  arrival(): Command {
    const quote = this.#next();
    this.#live.push(quote);
    return this.#enter(quote);
  }

  /** A quote enters and another is cancelled. */
  replacement(): Command[] {
    this.#block += 1;
    const place = this.#random.below(this.#live.length);
    const leaving = this.#live[place];
    const coming = this.#next();
    this.#live[place] = coming;
    return leaving === undefined ? [] : [this.#enter(coming), this.#cancel(leaving)];
  }

  #next(): Quote {
    const place = this.#random.below(LEVELS);
    const price = BigInt(place + 1) * 10n ** 14n;
    const provider = makerOf(this.#random.below(MAKERS));
    const quote = quoteOf({ n: this.#made, pool: this.#pool, price, isBuy: place < LEVELS / 2, provider });
    this.#made += 1;
    return quote;
  }

  #enter(quote: Quote): Command {
    const { blockNumber } = quote.origin;
    return {
      type: 'ENTER_QUOTE',
      quote,
      state: { fillableSize: quote.size, reason: null },
      settlementBlock: this.#block,
      position: { chain: 'stream', blockNumber, blockHash: blockHashOf(blockNumber), logIndex: null },
    };
  }

  #cancel({ quoteId }: Quote): Command {
    const blockNumber = this.#block;
    return {
      type: 'CANCEL_QUOTE',
      quoteId,
      origin: { blockNumber, txHash: hex(blockNumber, 64), logIndex: 0 },
      position: { chain: 'settlement', blockNumber, blockHash: blockHashOf(blockNumber), logIndex: null },
    };
  }
}
