import { HttpConnection } from './http-connection.js';
import { Latencies, type Percentiles } from './latencies.js';

/** As fast as the answers come: each connection sends its next request when it has the last one's answer. */
export async function closedLoop(
  port: number,
  connections: number,
  requests: readonly Uint8Array[],
  count: number,
  wantedStatus: number,
): Promise<{ readonly seconds: number }> {
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(port)));
  const start = performance.now();
  let sent = 0;
  const drive = async (connection: HttpConnection): Promise<void> => {
    while (sent < count) {
      const request = requests[sent % requests.length];
      sent += 1;
      if (request === undefined) return;
      const { status } = await connection.request(request);
      if (status !== wantedStatus) throw new Error(`Answered with ${status}`);
    }
  };
  try {
    await Promise.all(open.map(drive));
    return { seconds: (performance.now() - start) / 1000 };
  } finally {
    for (const connection of open) connection.close();
  }
}

/** A timer of Node is late by no more than this, in milliseconds, where nothing else is to be done. */
const TIMER_LATENESS_MS = 1.5;

/** How what is due is waited for: asleep, or awake for the last of it, which takes up to a core of the machine. */
export type Waiting = 'asleep' | 'awake';

/**
 * Runs `send` for each number at its due time, in milliseconds of `performance.now()`, and late ones at once. `awake`
 * spins until the due time. `asleep` is up to `TIMER_LATENESS_MS` late, and leaves the CPU of a small machine to the
 * server.
 */
export async function atRate(
  count: number,
  perSecond: number,
  waiting: Waiting,
  send: (n: number, dueMs: number) => void,
): Promise<void> {
  const startMs = performance.now();
  for (let n = 0; n < count;) {
    const now = performance.now();
    for (; n < count && startMs + (n * 1000) / perSecond <= now; n++) send(n, startMs + (n * 1000) / perSecond);
    const leftMs = startMs + (n * 1000) / perSecond - performance.now();
    const sleepMs = waiting === 'asleep' ? Math.ceil(leftMs) : Math.floor(leftMs - TIMER_LATENESS_MS);
    await new Promise((resolve) => (sleepMs >= 1 ? setTimeout(resolve, sleepMs) : setImmediate(resolve)));
  }
}

/**
 * An open loop: requests are due at a fixed rate, whatever becomes of those before, and each is counted from when it
 * was due. One that is due while all connections are busy waits for the first that is free.
 */
export async function openLoop(
  port: number,
  connections: number,
  requests: readonly Uint8Array[],
  count: number,
  perSecond: number,
  wantedStatus: number,
): Promise<Percentiles> {
  const idle = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(port)));
  const all = [...idle];
  const waiting: { n: number; dueMs: number }[] = [];
  const latencies = new Latencies();
  let left = count;
  try {
    await new Promise<void>((resolve, reject) => {
      const send = (connection: HttpConnection, n: number, dueMs: number): void => {
        connection.request(requests[n % requests.length] ?? Buffer.alloc(0)).then(({ status }) => {
          latencies.record((performance.now() - dueMs) * 1000);
          if (status !== wantedStatus) reject(new Error(`Answered with ${status}`));
          const next = waiting.shift();
          if (next === undefined) idle.push(connection);
          else send(connection, next.n, next.dueMs);
          left -= 1;
          if (left === 0) resolve();
        }, reject);
      };
      void atRate(count, perSecond, 'awake', (n, dueMs) => {
        const connection = idle.pop();
        if (connection === undefined) waiting.push({ n, dueMs });
        else send(connection, n, dueMs);
      });
    });
    return latencies.percentiles();
  } finally {
    for (const connection of all) connection.close();
  }
}
