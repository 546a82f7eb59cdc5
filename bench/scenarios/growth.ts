import { createHash } from 'node:crypto';
import type { Command } from '../../src/engine/command.js';
import { Engine } from '../../src/engine/engine.js';
import type { Quote } from '../../src/engine/quote.js';
import { contest, durationRow, type Contestant } from '../contest.js';
import { atMost, type Scenario } from '../scenario.js';
import { Dice } from '../workload/dice.js';
import { blockHashOf, hex, makerOf, poolOf, quoteOf, START_SECONDS } from '../workload/quotes.js';

/** Prices that the quotes of the one pool have. */
const LEVELS = 1000;
const MAKERS = 100;
const REORG_DEPTH = 64;
const FIRST_BLOCK = 500;

/** An engine that holds many quotes, and goes on holding as many: each quote that enters takes the place of another. */
class GrownEngine {
  readonly #engine = new Engine({
    reorgDepth: REORG_DEPTH,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
  });
  readonly #dice = new Dice(11);
  readonly #pool = poolOf(0);
  readonly #live: Quote[] = [];
  #made = 0;
  #block = FIRST_BLOCK;

  constructor(resting: number) {
    while (this.#live.length < resting) {
      const quote = this.#next();
      this.#live.push(quote);
      this.#apply(this.#enter(quote));
    }
  }

  contestant(name: string, pairs: number): Contestant {
    return {
      name,
      prepare: () => {
        const commands = Array.from({ length: pairs }, () => this.#replacement()).flat();
        return () => {
          for (const command of commands) this.#apply(command);
          return commands.length;
        };
      },
    };
  }

  #replacement(): Command[] {
    this.#block += 1;
    const place = this.#dice.roll(this.#live.length);
    const leaving = this.#live[place];
    const coming = this.#next();
    this.#live[place] = coming;
    return leaving === undefined ? [] : [this.#enter(coming), this.#cancel(leaving)];
  }

  #next(): Quote {
    const place = this.#dice.roll(LEVELS);
    const price = BigInt(place + 1) * 10n ** 14n;
    const provider = makerOf(this.#dice.roll(MAKERS));
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

  #apply(command: Command): void {
    this.#engine.apply(command, { index: this.#engine.index + 1, tsMs: START_SECONDS * 1000 });
  }
}

export const growth: Scenario = {
  name: 'growth',
  title: 'Growth of the engine step',
  workload: `One whole step of the engine (apply a command, move every index, make the event): ENTER_QUOTE and CANCEL_QUOTE of a random quote in turn,
one settlement block a cancel, in one pool with 1,000 prices and 100 makers, 1,000 to 1,000,000 quotes resting. The baseline is the same with 1,000; the
ratio is of the time that a step takes.`,
  async run(scale) {
    const least = scale === 'full' ? 1000 : 100;
    const more = scale === 'full' ? [10_000, 100_000, 1_000_000] : [1000];
    const pairs = scale === 'full' ? 2000 : 50;
    const smallest = new GrownEngine(least).contestant(restingWords(least), pairs);
    const larger = more.map((count) => new GrownEngine(count).contestant(restingWords(count), pairs));
    const [theirs = [], ...rates] = await contest([smallest, ...larger.flatMap((each) => [each, each])], {
      rounds: scale === 'full' ? 9 : 1,
      warmUps: scale === 'full' ? 3 : 0,
      clock: 'cpu',
    });
    const rows = larger.map(({ name }, i) =>
      durationRow(name, { ours: rates[2 * i] ?? [], again: rates[2 * i + 1] ?? [], theirs }, smallest.name, atMost(3)),
    );
    return { rows };
  },
};

function restingWords(count: number): string {
  return `${count.toLocaleString('en-US')} resting`;
}
