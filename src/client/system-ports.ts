import type { ClientPorts, SocketConstructor } from './ports.js';

/** The clock, the randomness and the network of Node or of a browser; of Node before 22 a WebSocket has to be given. */
export function systemPorts(WebSocket: SocketConstructor): ClientPorts {
  return {
    clock: {
      wallMs: () => Date.now(),
      after(delayMs, task) {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      },
    },
    random: () => Math.random(),
    fetch: (url, init) => fetch(url, init),
    WebSocket,
  };
}
