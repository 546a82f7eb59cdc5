import { Latencies, type Percentiles } from './latencies.js';
import { HttpConnection } from './http-connection.js';
import { atRate, type Waiting } from './request-load.js';
import { SocketConnection } from './socket-connection.js';

const SALT = /"salt":(\d+)/g;
/** Longer than the text that is looked for. */
const OVERLAP = 32;

export interface PostToPush {
  readonly port: number;
  readonly connections: number;
  readonly apiKey: string;
  readonly requests: readonly Uint8Array[];
  readonly batch: number;
  readonly firstSalt: number;
  /** Requests. */
  readonly perSecond: number;
  /** Awake where so few are due that it takes nothing from the server. */
  readonly waiting: Waiting;
}

/** Posts at a fixed rate, and counts from when a request was due until each of its quotes is pushed to a subscriber. */
export async function postToPush(given: PostToPush): Promise<Percentiles> {
  const { port, connections, apiKey, requests, batch, firstSalt, perSecond, waiting: howToWait } = given;
  const subscriber = await SocketConnection.open(port);
  await subscriber.ask(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
  await subscriber.ask(JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } }));
  const idle = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(port)));
  const all = [...idle];
  const waiting: number[] = [];
  const dueMs: number[] = [];
  const latencies = new Latencies();
  let left = requests.length * batch;
  try {
    await new Promise<void>((resolve, reject) => {
      let tail = '';
      subscriber.onBytes = (chunk) => {
        const now = performance.now();
        const text = tail + chunk.toString('latin1');
        let read = 0;
        for (const match of text.matchAll(SALT)) {
          // A number at the very end may have more digits to come.
          if (match.index + match[0].length === text.length) break;
          read = match.index + match[0].length;
          const due = dueMs[Math.floor((Number(match[1]) - firstSalt) / batch)];
          if (due === undefined) continue;
          latencies.record((now - due) * 1000);
          left -= 1;
        }
        tail = text.slice(Math.max(read, text.length - OVERLAP));
        if (left === 0) resolve();
      };
      const send = (connection: HttpConnection, n: number): void => {
        connection.request(requests[n] ?? Buffer.alloc(0)).then(({ status }) => {
          if (status !== 201) reject(new Error(`Answered with ${status}`));
          const next = waiting.shift();
          if (next === undefined) idle.push(connection);
          else send(connection, next);
        }, reject);
      };
      void atRate(requests.length, perSecond, howToWait, (n, due) => {
        dueMs[n] = due;
        const connection = idle.pop();
        if (connection === undefined) waiting.push(n);
        else send(connection, n);
      });
    });
    return latencies.percentiles();
  } finally {
    subscriber.close();
    for (const connection of all) connection.close();
  }
}
