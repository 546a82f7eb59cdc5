import { createRequire } from 'node:module';
import type * as uws from 'uWebSockets.js';

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
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
  readonly _cfg: (setting: string) => void;
}

export type UwsLoad = { readonly module: UwsModule } | { readonly unavailable: string };

let loaded: UwsLoad | undefined;

/**
 * Loads uWebSockets.js if, and only if, its native code runs here. Where no binary fits (another Node.js version,
 * another libc), the package warns on the console and hands out a JavaScript stand-in that cannot publish: that is
 * refused, and its warning becomes the reason reported instead. Loads once a process.
 */
export function loadUws(headBytes: number): UwsLoad {
  loaded ??= load(headBytes);
  return loaded;
}

function load(headBytes: number): UwsLoad {
  // Read once, when the binary is loaded, by the builds that know it (20.31 and later); the default there is 4 KiB.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(headBytes);
  const warnings: string[] = [];
  const warn = console.warn;
  console.warn = (...parts: unknown[]) => warnings.push(parts.map(String).join(' '));
  try {
    const module = createRequire(import.meta.url)('uWebSockets.js') as UwsModule;
    if (isNative(module)) return { module };
    return { unavailable: firstLine(warnings.join('\n')) || 'only its JavaScript fallback loads' };
  } catch (error) {
    return { unavailable: firstLine(error instanceof Error ? error.message : String(error)) };
  } finally {
    console.warn = warn;
  }
}

function isNative(module: UwsModule): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(module.App));
}

/** The line that names the error, without the package's own announcement above it. */
function firstLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  const line = lines.find((line) => line.startsWith('Error: ')) ?? lines.find((line) => line !== '') ?? '';
  return line.replace(/^Error: /, '');
}
