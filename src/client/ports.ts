/** What the client needs of its surroundings; tests bring their own. */
export interface ClientPorts {
  readonly clock: ClientClock;
  /** At least 0, below 1. */
  random(): number;
  readonly fetch: Fetch;
  readonly WebSocket: SocketConstructor;
}

export type StopTimer = () => void;

export interface ClientClock {
  /** Since 1970, milliseconds. */
  wallMs(): number;
  /** Runs `task` once, after at least `delayMs`. */
  after(delayMs: number, task: () => void): StopTimer;
}

/** What is used of the Fetch standard. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    /** A redirect is an answer like any other: in browsers one of status 0. */
    readonly redirect: 'manual';
    readonly body?: string;
  },
) => Promise<FetchedResponse>;

export interface FetchedResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** What is used of the browsers' WebSocket; `ws` has the same. */
export interface ClientSocket {
  binaryType: string;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: (() => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketConstructor = new (url: string, protocols: string[]) => ClientSocket;

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

/** Bounds of the pause before the next try, milliseconds. */
export interface BackoffRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Pause before try number `attempt`, from 0: anywhere between the shortest and a bound that doubles each time. A server
 * that restarts loses all its readers in one instant; drawn over the whole range they come back spread out.
 */
export function backoffMs({ minMs, maxMs }: BackoffRange, attempt: number, random: () => number): number {
  // Nothing, doubled, would stay nothing.
  const first = Math.max(minMs, 1);
  const bound = Math.min(maxMs, first * 2 ** (Math.min(attempt, MAX_DOUBLINGS) + 1));
  return minMs + random() * (bound - minMs);
}

const MAX_DOUBLINGS = 20;

export type StopListening = () => void;

/** Whoever wants to hear of something; each is told in the order of its coming. */
export class Listeners<T> {
  readonly #listeners = new Set<(event: T) => void>();

  add(listener: (event: T) => void): StopListening {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** One that throws does not keep the others from hearing: its error is reported as nobody's, in a turn of its own. */
  emit(event: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
