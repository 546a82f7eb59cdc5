import type { Command } from '../../src/engine/command.js';
import type { Order } from '../../src/engine/quote.js';
import type { EngineUnderTest } from './naive-engine.js';
import { plain, START } from './samples.js';

/** Numbers and stamps commands for an engine that a test holds in its hand. */
export class Driver<E extends Pick<EngineUnderTest, 'apply'> = EngineUnderTest> {
  readonly engine: E;
  #index = 0;
  /** Milliseconds after START. */
  elapsedMs = 0;

  constructor(engine: E) {
    this.engine = engine;
  }

  /** Applies the commands in turn; the events of all of them, as plain values. */
  apply(...commands: Command[]): Record<string, unknown>[] {
    return commands.flatMap((command) => {
      this.#index += 1;
      return this.engine.apply(command, { index: this.#index, tsMs: START * 1000 + this.elapsedMs }).map(plain);
    });
  }

  /** Lets time pass to that many seconds after START. */
  tickAt(seconds: number): Record<string, unknown>[] {
    this.elapsedMs = seconds * 1000;
    return this.apply({ type: 'TICK' });
  }
}

/** The sample numbers of orders, in their order. */
export function numbers(orders: Iterable<Order>): number[] {
  return [...orders].map(({ quote }) => quote.salt);
}

/** Just these fields of each event. */
export function pick(events: Record<string, unknown>[], ...fields: string[]): unknown[][] {
  return events.map((event) => fields.map((field) => event[field]));
}
