/** The client's access to its environment; tests replace it. */
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

/** The part of the Fetch standard that the client uses. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    /** A redirect is not followed: browsers then report status 0. */
    readonly redirect: 'manual';
    readonly body?: string;
  },
) => Promise<FetchedResponse>;

export interface FetchedResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** The part of the browsers' WebSocket that the client uses; `ws` has the same. */
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

export const systemClock: ClientClock = {
  wallMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, Math.min(delayMs, LONGEST_MS));
    return () => clearTimeout(timer);
  },
};

export const systemFetch: Fetch = (url, init) => fetch(url, init);

/** The clock, randomness and network of Node or a browser. Node before 22 has no WebSocket. */
export function systemPorts(WebSocket: SocketConstructor): ClientPorts {
  return {
    clock: systemClock,
    random: () => Math.random(),
    fetch: systemFetch,
    WebSocket,
  };
}

/** Longest delay of a timer: setTimeout fires at once for a longer one. */
const LONGEST_MS = 2 ** 31 - 1;
