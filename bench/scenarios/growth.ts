import { createHash } from 'node:crypto';
import type { Command } from '../../src/engine/command.js';
import { Engine } from '../../src/engine/engine.js';
import { contest, durationRow, type Contestant } from '../contest.js';
import { atMost, type Scenario } from '../scenario.js';
import { EngineLife } from '../workload/engine-life.js';
import { START_SECONDS } from '../workload/quotes.js';

const REORG_DEPTH = 64;

/** An engine that holds many quotes, and goes on holding as many. */
class GrownEngine {
  readonly #engine = new Engine({
    reorgDepth: REORG_DEPTH,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
  });
  readonly #life = new EngineLife();

  constructor(resting: number) {
    for (let i = 0; i < resting; i++) this.#apply(this.#life.arrival());
  }

  contestant(name: string, pairs: number): Contestant {
    return {
      name,
      prepare: () => {
        const commands = Array.from({ length: pairs }, () => this.#life.replacement()).flat();
        return () => {
          for (const command of commands) this.#apply(command);
          return commands.length;
        };
      },
    };
  }

  #apply(command: Command): void {
    this.#engine.apply(command, { index: this.#engine.index + 1, tsMs: START_SECONDS * 1000 });
  }
}

export const growth: Scenario = {
  name: 'growth',
  title: 'Growth of the engine step',
  workload: `One step of the engine: it applies a command, moves every index and makes the event. ENTER_QUOTE and CANCEL_QUOTE of a
random quote alternate in one pool with 1,000 prices and 100 makers. The ratio is of the time of a step, against 1,000
resting quotes.`,
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
