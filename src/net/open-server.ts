import type { NetBackend, NetOptions, NetServer } from './net.js';
import { NodeServer } from './node/server.js';
import { loadUws, UwsServer } from './uws/server.js';

export type BackendChoice = 'auto' | NetBackend;

export interface ServerChoice {
  readonly netBackend: BackendChoice;
  /** The uWebSockets.js to take: a package's directory or a `.node` file. Null or absent: the best one installed. */
  readonly uwsPath?: string | null;
}

/** The server, and why it is not on uWebSockets.js when it was meant to be: to be said at start. */
export interface OpenedServer {
  readonly server: NetServer;
  readonly uwsUnavailable?: string;
}

/**
 * `auto` takes uWebSockets.js where its native code runs, node:http and ws elsewhere; both behave alike, at different
 * speeds. Throws when uWebSockets.js is asked for, by name or by path, and does not run here.
 */
export function openServer({ netBackend, uwsPath = null }: ServerChoice, options: NetOptions): OpenedServer {
  if (netBackend === 'node') return { server: new NodeServer(options) };
  const load = loadUws(options.limits.headBytes, uwsPath);
  if ('module' in load) return { server: new UwsServer(load, options) };
  if (netBackend === 'auto' && uwsPath === null)
    return { server: new NodeServer(options), uwsUnavailable: load.unavailable };
  throw new Error(`uWebSockets.js does not run here: ${load.unavailable}`);
}
