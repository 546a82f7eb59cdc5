import { createRequire } from 'node:module';
import path from 'node:path';
import type * as uws from 'uws-native';

/** What the package's type declarations leave out: binding a host exclusively, and closing everything at once. */
export type UwsApp = uws.TemplatedApp & {
  listen(
    host: string,
    port: number,
    options: number,
    listening: (socket: uws.us_listen_socket | false) => void,
  ): UwsApp;
  close(): void;
};

export interface UwsModule {
  readonly App: () => UwsApp;
  readonly us_listen_socket_close: (socket: uws.us_listen_socket) => void;
  readonly us_socket_local_port: (socket: uws.us_listen_socket) => number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  readonly _cfg: (setting: string) => void;
}

/** A native build of uWebSockets.js that runs here. */
export interface UwsLibrary {
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
