/** Work for one client that is done in slices, no faster than its quota allows. */
export interface PacedWork {
  /** Resolves when the next slice may start, after other clients have had a turn. */
  turn(): Promise<void>;
  /** Counts a slice that was done. `rows`: quotes, events or levels that it wrote, or a share of those that it read. */
  charge(rows: number, bytes: number): void;
}

/** For work that is too small to be paced or charged. */
export const UNPACED: PacedWork = { turn: () => Promise.resolve(), charge: () => undefined };

/** Reading a row without writing it costs about a twentieth of writing it: so many are charged as one. */
const ROWS_READ_PER_ROW = 20;

/** Rows that are charged for reading `count` of them. */
export function rowsChargedForReading(count: number): number {
  return Math.ceil(count / ROWS_READ_PER_ROW);
}

/** Rows that are passed over, as a list is searched for its page, cost about a hundredth of one that is written. */
const PASSED_OVER_PER_ROW = 100;

/** Rows that are charged for passing over `count` of them. */
export function rowsChargedForPassingOver(count: number): number {
  return Math.ceil(count / PASSED_OVER_PER_ROW);
}
