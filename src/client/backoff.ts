/** Bounds of the pause before the next try, milliseconds. */
export interface BackoffRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Pause before try number `attempt`, from 0: anywhere between the shortest and a bound that doubles each time. A server
 * that restarts loses all its readers in one instant; drawn over the whole range they come back spread out.
 */
export function backoffMs({ minMs, maxMs }: BackoffRange, attempt: number, random: () => number): number {
  // Doubling 0 would stay 0.
  const first = Math.max(minMs, 1);
  const bound = Math.min(maxMs, first * 2 ** (Math.min(attempt, MAX_DOUBLINGS) + 1));
  return minMs + random() * (bound - minMs);
}

const MAX_DOUBLINGS = 20;
