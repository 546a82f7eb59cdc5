/** What the client needs of its surroundings; tests bring their own. */
export interface ClientPorts {
  readonly clock: ClientClock;
  /** At least 0, below 1. */
  random(): number;
  readonly fetch: Fetch;
  readonly WebSocket: SocketConstructor;
}

export type CancelTimer = () => void;

export interface ClientClock {
  /** Since 1970, milliseconds. */
  wallMs(): number;
  /** Runs `task` once, after at least `delayMs`. */
  after(delayMs: number, task: () => void): CancelTimer;
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
