import { createHash, randomInt } from 'node:crypto';
import { Engine } from '../engine/engine.js';

/** Of this process: who could tell it would know which quotes to make to slow the lookups of orders down. */
const ID_SALT = randomInt(2 ** 32);

/** An engine that has applied nothing. `reorgDepth`: the one that the log was begun with. */
export function freshEngine(reorgDepth: number): Engine {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  return new Engine({ reorgDepth, sha256, idSalt: ID_SALT });
}
