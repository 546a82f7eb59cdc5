import fc from 'fast-check';
import type { Command, Stamp } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
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
    const command = followed(this.#maker.make(step, engine), engine);
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

/** Has requests for quotes followed for a while, and cancels one instead of every third. */
function followed(command: Command, { index, tsMs, rfqs }: Engine): Command {
  if (command.type !== 'PUBLISH_RFQ') return command;
  const [oldest] = rfqs.all();
  if (index % 3 === 0 && oldest !== undefined) return { type: 'CANCEL_RFQ', rfqId: oldest.terms.rfqId };
  const validUntil = Math.floor(tsMs / 1000) + 5 + (index % 20);
  const rest = { clientId: null, taker: null, minQuotes: 1, makers: [], leg: null };
  return { ...command, terms: { rfqId: `request ${index}`, owner: 'key', validUntil, ...rest } };
}
