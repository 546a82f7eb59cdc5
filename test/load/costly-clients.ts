import { Agent, get } from 'node:http';
import { constants, setPriority } from 'node:os';
import { WebSocket } from 'ws';

/**
 * One key that stays within its limits and sends the most expensive requests that they allow. It is a process of the
 * lowest priority that throws away what it receives: on a machine of two cores it is the service then that it shares
 * with the client who is measured, and not the cores.
 */
export interface CostlyTask {
  readonly port: number;
  readonly apiKey: string;
  /** Requested in turn. */
  readonly paths: readonly string[];
  readonly requestsPerSecond: number;
  /** FILTERs sent in turn, over sockets of a subprotocol. */
  readonly filters: readonly object[];
  readonly messagesPerSecond: number;
  readonly sockets: number;
}

/** Answers between `begin` and `end`. */
export interface CostlyAnswers {
  /** How often each status came; 0: the connection broke. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly httpBytes: number;
  readonly socketBytes: number;
  /** Messages of type ERROR. */
  readonly errors: Readonly<Record<string, number>>;
  /** Sockets that the service closed. */
  readonly closed: number;
}

class CostlyClient {
  readonly #task: CostlyTask;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #sockets: WebSocket[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #statuses: Record<number, number> = {};
  readonly #errors: Record<string, number> = {};
  #httpBytes = 0;
  #socketBytes = 0;
  #closed = 0;
  #isOver = false;

  constructor(task: CostlyTask) {
    this.#task = task;
    const { requestsPerSecond, messagesPerSecond } = task;
    this.#timers.push(this.#every(1_000 / requestsPerSecond, task.paths, (path) => this.#request(path)));
    for (let i = 0; i < task.sockets && task.filters.length > 0; i++) this.#open();
    let next = 0;
    const say = (filter: object): void => {
      const socket = this.#sockets[next++ % this.#sockets.length];
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(filter));
    };
    this.#timers.push(this.#every(1_000 / messagesPerSecond, task.filters, say));
  }

  end(): CostlyAnswers {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.terminate();
    this.#agent.destroy();
    return {
      statuses: this.#statuses,
      httpBytes: this.#httpBytes,
      socketBytes: this.#socketBytes,
      errors: this.#errors,
      closed: this.#closed,
    };
  }

  #every<T>(periodMs: number, items: readonly T[], act: (item: T) => void): NodeJS.Timeout {
    let next = 0;
    return setInterval(() => {
      const item = items[next++ % items.length];
      if (item !== undefined) act(item);
    }, periodMs);
  }

  #request(path: string): void {
    const count = (status: number): void => {
      if (!this.#isOver) this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    };
    const { port, apiKey } = this.#task;
    get({ port, path, agent: this.#agent, headers: { 'x-apikey': apiKey } }, (response) => {
      response.on('data', (data: Buffer) => (this.#httpBytes += data.length));
      response.once('end', () => count(response.statusCode ?? 0)).once('error', () => count(0));
    }).once('error', () => count(0));
  }

  #open(): void {
    const socket = new WebSocket(`ws://127.0.0.1:${this.#task.port}/`, 'quotebook.v2.json');
    this.#sockets.push(socket);
    socket.once('open', () => socket.send(JSON.stringify({ type: 'AUTH', apiKey: this.#task.apiKey, body: null })));
    socket.on('message', (data: Buffer) => {
      this.#socketBytes += data.length;
      if (data.length > 1_000 || !data.includes('"type":"ERROR"')) return;
      const { message } = JSON.parse(data.toString()) as { message: string };
      this.#errors[message] = (this.#errors[message] ?? 0) + 1;
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (!this.#isOver) this.#closed++;
    });
  }
}

let client: CostlyClient | null = null;
let task: CostlyTask | null = null;
setPriority(constants.priority.PRIORITY_LOW);
process.on('message', (order: CostlyTask | 'begin' | 'end') => {
  if (typeof order === 'object') task = order;
  else if (order === 'begin' && task !== null) client = new CostlyClient(task);
  else process.send?.(client?.end());
});
process.once('disconnect', () => process.exit());
