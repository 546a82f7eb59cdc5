import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import type * as uws from 'uws-native';
import type { us_listen_socket } from 'uws-native';
import { systemClock } from '../../system/clock.js';
import { TurnBudget } from '../../system/turn-budget.js';
import { CannotListen, listenOn } from '../address.js';
import { Capacity } from '../capacity.js';
import { DrainTracker } from '../handlers.js';
import { ENOUGH_AGAIN, type NetOptions, type NetServer } from '../net.js';
import { TrustedProxies } from '../trusted-proxies.js';
import { UnfinishedAnswers } from '../unfinished-answers.js';
import { UwsExchange, type UwsExchangeHost } from './exchange.js';
import { UwsSockets } from './sockets.js';

const TRIES_FOR_A_PORT = 5;

/**
 * The port of one server. The library accepts connections until file descriptors run out, and then retries in a busy
 * loop (20.30). So the server stops listening when few are left, which refuses waiting clients, and listens again when
 * there are enough.
 */
class UwsListening {
  #listenSocket: us_listen_socket | null = null;
  #looking: NodeJS.Timeout | undefined;

  constructor(
    private readonly uws: UwsModule,
    private readonly app: UwsApp,
    private readonly options: NetOptions,
  ) {}

  /** Resolves to the port; rejects when it is taken. */
  async begin(host: string, port: number): Promise<number> {
    let ownPort = port;
    // A free port may be somebody else's before it is listened at.
    for (let left = port === 0 ? TRIES_FOR_A_PORT : 1; left > 0 && this.#listenSocket === null; left--) {
      if (port === 0) ownPort = await freePortAt(host);
      this.#listenSocket = await this.#listen(host, ownPort);
    }
    if (this.#listenSocket === null) {
      throw new CannotListen(host, port, new Error("it is taken, or not this machine's to take"));
    }
    const { descriptors, limits } = this.options;
    if (descriptors !== undefined) {
      const look = (): void => void this.#look(host, ownPort, descriptors);
      this.#looking = setInterval(look, limits.descriptorCheckMs).unref();
    }
    return ownPort;
  }

  end(): void {
    clearInterval(this.#looking);
    this.#close();
  }

  async #look(host: string, port: number, descriptors: NonNullable<NetOptions['descriptors']>): Promise<void> {
    const { spareDescriptors } = this.options.limits;
    if (this.#listenSocket !== null) {
      if (descriptors.spare() >= spareDescriptors) return;
      this.#close();
      descriptors.onFew(true);
    } else if (descriptors.spare() >= ENOUGH_AGAIN * spareDescriptors) {
      // Null while it is somebody else's port: it is tried again at the next look.
      this.#listenSocket = await this.#listen(host, port);
      if (this.#listenSocket !== null) descriptors.onFew(false);
    }
  }

  /** Null: the port is taken. The library answers within the call. */
  #listen(host: string, port: number): Promise<us_listen_socket | null> {
    return new Promise((resolve) => {
      // Exclusively: by default two processes share the port, and its connections, without a word.
      this.app.listen(host, port, this.uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => resolve(socket || null));
    });
  }

  #close(): void {
    if (this.#listenSocket !== null) this.uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }
}

/**
 * A port that nobody has. On one that the library itself picks, it leaves out SO_REUSEADDR (20.30), and could not
 * listen there again as long as there is a connection of it, or was one a minute ago.
 */
async function freePortAt(host: string): Promise<number> {
  const server = createServer();
  const port = await listenOn(server, host, 0);
  server.close();
  await once(server, 'close');
  return port;
}

/** The service's network on uWebSockets.js. */
export class UwsServer implements NetServer, UwsExchangeHost {
  readonly backend = 'uWebSockets.js';
  readonly library: NetServer['library'];
  readonly options: NetOptions;
  readonly underWay = new DrainTracker();
  readonly proxies: TrustedProxies;
  readonly bodies: Capacity;
  readonly answers: UnfinishedAnswers;
  readonly connections: Capacity;
  readonly turns: TurnBudget;
  stopping = false;
  readonly #app: UwsApp;
  readonly #sockets: UwsSockets;
  readonly #listening: UwsListening;
  #closed: Promise<void> | null = null;

  constructor(library: UwsLibrary, options: NetOptions) {
    const { module: uws, version, source } = library;
    this.library = { version, source };
    this.options = options;
    this.proxies = new TrustedProxies(options.trustedProxies ?? []);
    const { bodiesBytes, bodiesBytesPerAddress, httpConnections, httpConnectionsPerAddress } = options.limits;
    this.answers = new UnfinishedAnswers(options.limits);
    this.bodies = new Capacity(bodiesBytes, bodiesBytesPerAddress, this.proxies);
    this.connections = new Capacity(httpConnections, httpConnectionsPerAddress, this.proxies);
    this.turns = new TurnBudget(systemClock, options.limits.requestsPerTurn);
    // Otherwise every answer names the library and its version.
    uws._cfg('silent');
    this.#sockets = new UwsSockets(this);
    this.#app = uws.App();
    const idleSeconds = Math.ceil(options.limits.httpIdleMs / 1000);
    this.#app.setIdleTimeout?.(idleSeconds);
    this.#app.setResponseTimeout?.(idleSeconds);
    this.#listening = new UwsListening(uws, this.#app, options);
    this.#app.ws(options.socketPath, this.#sockets.behavior());
    this.#app.get('/*', (res, req) => UwsExchange.serve(res, req, this, 'GET'));
    this.#app.any('/*', (res, req) => UwsExchange.serve(res, req, this));
  }

  listen(host: string, port: number): Promise<number> {
    return this.#listening.begin(host, port);
  }

  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void {
    if (this.#app.publish(topic, message, isBinary, false)) this.#sockets.published(message);
  }

  stopListening(): void {
    this.stopping = true;
    this.#listening.end();
  }

  close(code: number, reason: string): Promise<void> {
    this.#closed ??= this.#close(code, reason);
    return this.#closed;
  }

  async #close(code: number, reason: string): Promise<void> {
    this.stopListening();
    this.#sockets.closeAll(code, reason);
    await this.underWay.none(this.options.limits.drainMs);
    // Bytes that were written within a callback of the library go out when that returns.
    await new Promise((resolve) => setImmediate(resolve));
    this.#sockets.stop();
    this.#app.close();
    // The close events of cut connections run in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Left out by the package's type declarations: binding a host exclusively, closing everything at once, and how long a
 * connection may be without a whole head, or after an answer (20.57: 30 s unless set; 20.30: always 10 s).
 */
type UwsApp = uws.TemplatedApp & {
  listen(
    host: string,
    port: number,
    options: number,
    listening: (socket: uws.us_listen_socket | false) => void,
  ): UwsApp;
  close(): void;
  setIdleTimeout?(seconds: number): UwsApp;
  setResponseTimeout?(seconds: number): UwsApp;
};

interface UwsModule {
  readonly App: () => UwsApp;
  readonly us_listen_socket_close: (socket: uws.us_listen_socket) => void;
  readonly us_socket_local_port: (socket: uws.us_listen_socket) => number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  readonly _cfg: (setting: string) => void;
}

/** A native build of uWebSockets.js that runs here. */
interface UwsLibrary {
  readonly module: UwsModule;
  /** Its version, such as "20.57.0"; "unknown" where no package.json lies beside it. */
  readonly version: string;
  /** The package as it is installed, or the path that was set. */
  readonly source: string;
}

export type UwsLoad = UwsLibrary | { readonly unavailable: string };

/**
 * In the order in which they are tried: the official package, which users install themselves because it is in no
 * registry; builds of 20.57 for Node 20, 22, 24 and 25 on glibc 2.38 or newer, macOS and Windows; a build of 20.30 for
 * Node 20 on any glibc. They come with the package as optional dependencies.
 */
const PACKAGES = ['uWebSockets.js', 'uws-native', 'uws-node20'] as const;

const requireHere = createRequire(import.meta.url);
const loadedOnce = new Map<string, UwsLoad>();

/**
 * Loads the best uWebSockets.js whose native code runs here, or the one at `uwsPath` (a package's directory or a
 * `.node` file) and no other. Each is loaded once a process.
 */
export function loadUws(headBytes: number, uwsPath: string | null = null, loads = loadedOnce): UwsLoad {
  const known = loads.get(uwsPath ?? '');
  if (known !== undefined) return known;
  // Read once, when the binary is loaded, by the builds that know it (20.31 and later); the default there is 4 KiB.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(headBytes);
  const load = uwsPath === null ? firstThatLoads(PACKAGES) : firstThatLoads([path.resolve(uwsPath)]);
  loads.set(uwsPath ?? '', load);
  return load;
}

function firstThatLoads(sources: readonly string[]): UwsLoad {
  const reasons: string[] = [];
  for (const source of sources) {
    const load = loadFrom(source);
    if ('module' in load) return load;
    reasons.push(`${source}: ${load.unavailable}`);
  }
  return { unavailable: reasons.join('; ') };
}

/**
 * Where no binary fits (another Node.js version, another libc), the build of 20.30 warns on the console and hands out a
 * JavaScript stand-in that cannot publish: that is refused, and its warning becomes the reason reported instead.
 */
function loadFrom(source: string): UwsLoad {
  const warnings: string[] = [];
  const warn = console.warn;
  console.warn = (...parts: unknown[]) => warnings.push(parts.map(String).join(' '));
  try {
    const file = requireHere.resolve(source);
    const module = requireHere(file) as UwsModule;
    if (isNative(module)) return { module, version: versionAt(file), source };
    return { unavailable: errorLine(warnings.join('\n')) || 'only its JavaScript fallback loads' };
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND';
    const why = error instanceof Error ? error.message : String(error);
    return { unavailable: isAbsent ? 'not installed' : errorLine(why) };
  } finally {
    console.warn = warn;
  }
}

function isNative(module: UwsModule): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(module.App));
}

/** Of the package that the file belongs to. Its package.json need not be among the package's exports. */
function versionAt(file: string): string {
  for (let dir = path.dirname(file); dir !== path.dirname(dir); dir = path.dirname(dir)) {
    try {
      const { version } = requireHere(path.join(dir, 'package.json')) as { version?: string };
      return version?.replace(/-unofficial.*/, '') ?? 'unknown';
    } catch {
      if (path.basename(dir) === 'node_modules') break;
    }
  }
  return 'unknown';
}

/** The line that names the error, without the package's own announcement above it. */
function errorLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  const line = lines.find((line) => line.startsWith('Error: ')) ?? lines.find((line) => line !== '') ?? '';
  return line.replace(/^Error: /, '');
}
