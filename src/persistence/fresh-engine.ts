import { createHash } from 'node:crypto';
import { Engine } from '../engine/engine.js';

/** An engine that has applied nothing. `reorgDepth`: the one that the log was begun with. */
export function freshEngine(reorgDepth: number): Engine {
  return new Engine({ reorgDepth, sha256: (text) => createHash('sha256').update(text).digest('hex') });
}
