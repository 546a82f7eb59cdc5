import type { Clock } from '../engine/ports.js';

export interface UntilSignalOptions {
  /** The process, as far as it hears of signals. */
  readonly source: { on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown };
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** A second signal within this time counts as the first one. */
  readonly sameSignalMs: number;
  /** Ends the process as it stands. */
  readonly endNow: () => void;
}

/**
 * The first signal stops the service in order; another one ends the process at once. One Ctrl-C may come as two: the
 * terminal sends it to every process in front, and npm, which is one of them, passes its own on.
 */
export function untilSignal({ source, clock, sameSignalMs, endNow }: UntilSignalOptions): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      firstMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - firstMs >= sameSignalMs) endNow();
      resolve(signal);
    };
    source.on('SIGINT', onSignal);
    source.on('SIGTERM', onSignal);
  });
}

/**
 * Calls them one after another, the last first. One that fails keeps none of the others from its end: the first failure
 * is thrown when all have been called.
 */
export async function endAll(ends: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of [...ends].reverse()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
