import fc from 'fast-check';
import type { Command, Stamp } from '../../src/engine/command.js';
import { CommandMaker, steps, type Step } from '../engine/random-commands.js';
import type { LogProcess } from './simulated-log.js';
import type { SeededRandom } from './seeded-random.js';

type LiveStep = Exclude<Step, { kind: 'restart' }>;

/** Commands for an engine, whatever it has lived through; the same for the same seed. */
export class Workload {
  readonly #random: SeededRandom;
  readonly #maker = new CommandMaker();
  #steps: LiveStep[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Submits one more command. Null when the log didn't take it. */
  submitNext(process: LogProcess): { readonly command: Command; readonly stamp: Stamp } | null {
    const step = this.#next();
    if (step.kind === 'pass') process.time.observe(Math.floor((process.time.nowMs() + step.ms) / 1000));
    const { engine } = process.log;
    const command = this.#maker.make(step, engine);
    if (process.submit(command).refusal !== null) return null;
    return { command, stamp: { index: engine.index, tsMs: engine.tsMs } };
  }

  #next(): LiveStep {
    for (;;) {
      const step = this.#steps.pop();
      if (step !== undefined) return step;
      const seed = this.#random.below(2 ** 31);
      const [sample] = fc.sample(steps, { seed, numRuns: 1 });
      this.#steps = (sample ?? []).filter((one): one is LiveStep => one.kind !== 'restart');
    }
  }
}
