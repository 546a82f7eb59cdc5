import type { ClientPorts, SocketConstructor } from './ports.js';

/** The clock, the randomness and the network of Node or of a browser; of Node before 22 a WebSocket has to be given. */
export function systemPorts(WebSocket: SocketConstructor): ClientPorts {
  return {
    clock: {
      wallMs: () => Date.now(),
      after(delayMs, task) {
        const timer = setTimeout(task, Math.min(delayMs, LONGEST_MS));
        return () => clearTimeout(timer);
      },
    },
    random: () => Math.random(),
    fetch: (url, init) => fetch(url, init),
    WebSocket,
  };
}

/** Timers hold no more: what is asked to wait for longer, as for ever, would not wait at all. */
const LONGEST_MS = 2 ** 31 - 1;
