import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { assertDocumentedBytes } from '../e2e/documented-bytes.js';
import { SeededRandom } from '../simulation/seeded-random.js';

/**
 * Clients who ask far too often, each over a connection of its own and at moments of its own. They are a process of the
 * lowest priority that sends bytes made beforehand: on a machine of two cores it is the service then that they share
 * with the client who is measured, and not the cores.
 */
export interface NoiseTask {
  readonly port: number;
  readonly path: string;
  readonly clients: readonly { readonly apiKey: string; readonly localAddress: string }[];
  /** Of each client. One who still waits for an answer when the next request is due does without that one. */
  readonly requestsPerSecond: number;
  /** Of the moments at which they begin. */
  readonly seed: number;
}

/** How often each status came between `begin` and `end`; 0: requests that were due while an answer was awaited. */
export type NoiseMade = Readonly<Record<number, number>>;

const TICK_MS = 1;

class NoisyClient {
  readonly #connect: () => Socket;
  readonly #request: string;
  readonly #everyMs: number;
  readonly #told: (status: number) => void;
  #socket: Socket | null = null;
  #dueMs = 0;
  #received: Buffer = Buffer.alloc(0);
  #waits = false;

  constructor(task: NoiseTask, { apiKey, localAddress }: NoiseTask['clients'][number], told: (status: number) => void) {
    this.#request = `GET ${task.path} HTTP/1.1\r\nHost: x\r\nx-apikey: ${apiKey}\r\n\r\n`;
    this.#everyMs = 1_000 / task.requestsPerSecond;
    this.#told = told;
    this.#connect = () => connect({ port: task.port, host: '127.0.0.1', localAddress, noDelay: true });
  }

  /** What is sent before it is connected waits for that. */
  begin(nowMs: number, random: SeededRandom): void {
    this.#dueMs = nowMs + random.unit() * this.#everyMs;
    this.#waits = false;
    this.#received = Buffer.alloc(0);
    this.#socket = this.#connect().on('data', (data) => this.#hear(data));
  }

  end(): void {
    this.#socket?.destroy();
  }

  send(nowMs: number): void {
    while (this.#dueMs <= nowMs) {
      this.#dueMs += this.#everyMs;
      if (this.#waits) this.#told(0);
      else this.#socket?.write(this.#request);
      this.#waits = true;
    }
  }

  #hear(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    const headBytes = this.#received.indexOf('\r\n\r\n') + 4;
    if (headBytes < 4) return;
    const head = this.#received.toString('latin1', 0, headBytes);
    const bodyBytes = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (this.#received.length < headBytes + bodyBytes) return;
    assertDocumentedBytes(this.#received, [this.#request]);
    this.#received = Buffer.alloc(0);
    this.#waits = false;
    this.#told(Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)));
  }
}

function serve(task: NoiseTask): void {
  let counts: Record<number, number> = {};
  const tell = (status: number): void => {
    counts[status] = (counts[status] ?? 0) + 1;
  };
  const clients = task.clients.map((client) => new NoisyClient(task, client, tell));
  const random = new SeededRandom(task.seed);
  let timer: NodeJS.Timeout | undefined;
  process.on('message', (order: 'begin' | 'end') => {
    clearInterval(timer);
    if (order === 'end') {
      for (const client of clients) client.end();
      process.send?.(counts);
      return;
    }
    counts = {};
    for (const client of clients) client.begin(performance.now(), random);
    timer = setInterval(() => {
      const nowMs = performance.now();
      for (const client of clients) client.send(nowMs);
    }, TICK_MS);
  });
  process.once('disconnect', () => process.exit());
}

setPriority(constants.priority.PRIORITY_LOW);
process.once('message', (task: NoiseTask) => serve(task));
