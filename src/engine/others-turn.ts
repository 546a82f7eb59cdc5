import type { Clock } from './ports.js';

/** For work that goes in pieces: resolves when whoever waits for the event loop has had a turn. */
export function othersTurn(clock: Pick<Clock, 'after'>): Promise<void> {
  return new Promise((resolve) => clock.after(0, resolve));
}
