import { performance } from 'node:perf_hooks';
import type { Clock } from '../engine/ports.js';

/** Longest delay that Node's timers hold: 2^31 - 1 ms; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's clocks and timers. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after(delayMs, task) {
    if (delayMs <= 0) {
      const immediate = setImmediate(task);
      return () => clearImmediate(immediate);
    }
    const dueMs = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      timer = setTimeout(fire, Math.min(dueMs - performance.now(), MAX_DELAY_MS));
    };
    // Node cuts delays to whole milliseconds, so a timer can come a fraction early: then it is armed again.
    const fire = (): void => {
      if (performance.now() < dueMs) arm();
      else task();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
