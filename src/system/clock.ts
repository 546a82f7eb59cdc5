import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Clock, Random } from '../engine/ports.js';

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
      timer = setTimeout(fire, Math.min(Math.max(dueMs - performance.now(), 0), MAX_DELAY_MS));
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

/** The machine's randomness. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  unit: () => Math.random(),
};

/** Of this process: who could tell it would know which quotes to make to slow the lookups of orders down. */
export const ID_SALT = randomInt(2 ** 32);

/** Of Linux, proc(5). */
const LIMITS_FILE = '/proc/self/limits';
const LIMITS_BYTES = 4_096;
const OPEN_FILES = /^Max open files\s+(\d+)/m;

/**
 * File descriptors that this process may still open. A new one is the lowest that is free, so all below it are taken.
 * Some above it may be taken as well: then there are fewer than this says. Infinity where nothing tells.
 */
export function spareDescriptors(): number {
  let descriptor: number;
  try {
    descriptor = openSync(LIMITS_FILE, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? 0 : Infinity;
  }
  try {
    const text = Buffer.alloc(LIMITS_BYTES);
    const [, most] = OPEN_FILES.exec(text.toString('latin1', 0, readSync(descriptor, text))) ?? [];
    return most === undefined ? Infinity : Math.max(0, Number(most) - descriptor);
  } finally {
    closeSync(descriptor);
  }
}
