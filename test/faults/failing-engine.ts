import { Engine } from '../../src/engine/engine.js';

/**
 * Loaded into a process before anything else (`node --import`): the engine throws after a few quotes, when it has
 * already changed.
 */
const QUOTES = 5;

const apply = (engine: Engine, ...given: Parameters<Engine['apply']>): ReturnType<Engine['apply']> =>
  original.apply(engine, given);
// The method is taken off its class on purpose, and always called with an engine.
const original = Object.getOwnPropertyDescriptor(Engine.prototype, 'apply')?.value as Engine['apply'];
let quotes = 0;

Engine.prototype.apply = function (this: Engine, command, stamp) {
  const events = apply(this, command, stamp);
  if (command.type === 'ENTER_QUOTE') quotes += 1;
  if (quotes > QUOTES) throw new Error('a bug in the engine');
  return events;
};
