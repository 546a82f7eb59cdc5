import { randomBytes } from 'node:crypto';
import type { Random } from '../engine/ports.js';

/** The machine's randomness. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  unit: () => Math.random(),
};
