import type { Clock } from './ports.js';

/** For work that goes in pieces: resolves when whoever waits for the event loop has had a turn. */
export function othersTurn(clock: Pick<Clock, 'after'>): Promise<void> {
  return new Promise((resolve) => clock.after(0, resolve));
}

/** Work for one client that is done in slices, no faster than its quota allows. */
export interface PacedWork {
  /** Resolves when the next slice may be done; other clients had their turn meanwhile. */
  turn(): Promise<void>;
  /** Counts a slice that was done. `rows`: quotes, events or levels that it wrote, or a share of those that it read. */
  charge(rows: number, bytes: number): void;
}

/** For work that is small enough to need neither. */
export const UNPACED: PacedWork = { turn: () => Promise.resolve(), charge: () => undefined };

/** Reading a row without writing it costs about a twentieth of writing it: so many are charged as one. */
export const ROWS_READ_PER_ROW = 20;

/** Rows that are charged for reading `count` of them. */
export function rowsOfReading(count: number): number {
  return Math.ceil(count / ROWS_READ_PER_ROW);
}
