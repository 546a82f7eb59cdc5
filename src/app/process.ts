import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import { limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import type { Clock } from '../engine/ports.js';
import type { PageFile } from '../http/static-routes.js';
import { StatusLine } from './progress.js';

/** Fields that must not reach a log: of the line itself, and of each object in it. */
const SECRETS = ['apiKey', 'key', 'privateKey', 'walletKey', '["x-apikey"]'];
export const redaction = {
  paths: SECRETS.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]),
  censor: '[secret]',
};

/**
 * The text log on standard error: readable in a terminal, one JSON object a line elsewhere. A volume that has no room
 * for it stops nothing: lines wait for room, as many as may.
 */
export function openLogger(
  level: Settings['logLevel'],
  format: Settings['logFormat'],
  descriptor = STANDARD_ERROR,
  status: StatusLine | null = null,
): Logger {
  const lines = pino.destination({ dest: descriptor, sync: true, maxLength: limits.textLogWaitingBytes });
  // A stream without an error listener throws in the code that logs.
  lines.on('error', () => undefined);
  const isPretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const options = { level, redact: redaction };
  if (!isPretty) return pino(options, lines);
  const inWords = pretty.prettyFactory({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' });
  const write = (line: string): void => {
    const words = inWords(line);
    lines.write(status?.above(words) ?? words);
  };
  return pino(options, { write });
}

const STANDARD_ERROR = 2;

/** Below the text log, where that is readable and goes to a terminal; null elsewhere. */
export function openStatusLine(format: Settings['logFormat']): StatusLine | null {
  if (format === 'json' || !process.stderr.isTTY) return null;
  return new StatusLine((text) => process.stderr.write(text));
}

export interface UntilSignalOptions {
  /** The process, as far as it hears of signals. */
  readonly source: { on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown };
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** A second signal within this time counts as the first one. */
  readonly sameSignalMs: number;
  /** Ends the process as it stands. */
  readonly endNow: () => void;
}

/**
 * The first signal stops the service in order; another one ends the process at once. One Ctrl-C may come as two: the
 * terminal sends it to every process in front, and npm, which is one of them, passes its own on.
 */
export function untilSignal({ source, clock, sameSignalMs, endNow }: UntilSignalOptions): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      firstMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - firstMs >= sameSignalMs) endNow();
      resolve(signal);
    };
    source.on('SIGINT', onSignal);
    source.on('SIGTERM', onSignal);
  });
}

/**
 * Calls them one after another, the last first. One that fails keeps none of the others from its end: the first failure
 * is thrown when all have been called.
 */
export async function endAll(ends: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of [...ends].reverse()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Where the build puts the page: beside the compiled sources. */
export const PAGE_DIRECTORY = fileURLToPath(new URL('../../web/', import.meta.url));

const CONTENT_TYPES: Readonly<Partial<Record<string, string>>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The files right in the directory, of the kinds that a page is made of; none when it was not built. */
export async function readPageFiles(directory: string): Promise<PageFile[]> {
  const names = await readdir(directory).catch(() => []);
  const files = names.sort().map(async (name) => {
    const contentType = CONTENT_TYPES[path.extname(name)];
    if (contentType === undefined) return [];
    const body = await readFile(path.join(directory, name));
    return [{ path: `/${name}`, contentType, body, digest: createHash('sha256').update(body).digest('base64url') }];
  });
  return (await Promise.all(files)).flat();
}

/** A past run of failures. */
export interface Recovery {
  readonly failures: number;
  readonly lastedSeconds: number;
}

interface Trouble {
  readonly sinceMs: number;
  lastMs: number;
  failures: number;
}

/**
 * Whether a failure is news. An outage makes the same thing fail many times a second: the first failure is a warning,
 * the others are lines for debugging, and the end of it is one line more. Failures less than `calmMs` apart belong
 * to one outage.
 */
export class TroubleLog {
  readonly #troubles = new Map<string, Trouble>();

  constructor(
    private readonly clock: Clock,
    /** How long a thing has to be well before its trouble is over. */
    private readonly calmMs: number,
  ) {}

  /** True where a trouble begins. `what`: one of a bounded set. */
  failed(what: string): boolean {
    const nowMs = this.clock.monotonicMs();
    const known = this.#troubles.get(what);
    if (known === undefined || nowMs - known.lastMs > this.calmMs) {
      this.#troubles.set(what, { sinceMs: nowMs, lastMs: nowMs, failures: 1 });
      return true;
    }
    known.lastMs = nowMs;
    known.failures += 1;
    return false;
  }

  /** The trouble that is over now; null: there was none, or its last failure was at most `calmMs` ago. */
  succeeded(what: string): Recovery | null {
    const known = this.#troubles.get(what);
    if (known === undefined || this.clock.monotonicMs() - known.lastMs <= this.calmMs) return null;
    this.#troubles.delete(what);
    const { failures, sinceMs, lastMs } = known;
    return { failures, lastedSeconds: Math.round((lastMs - sinceMs) / 1000) };
  }
}

/** An error for a line that is read by people: what happened and what caused it, without the stack. */
export function briefly({ name, message, cause }: Error): string {
  return cause instanceof Error ? `${name}: ${message}: ${cause.message}` : `${name}: ${message}`;
}

/** All that may be shown of an endpoint: providers put their keys into paths and queries. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an endpoint';
}

/** Logs the troubles of JSON-RPC endpoints, for `HttpRpc`. */
export function endpointTroubles(
  logger: Pick<Logger, 'debug' | 'info' | 'warn'>,
  clock: Clock,
  calmMs: number,
): { readonly onError: (error: Error, url: string) => void; readonly onAnswer: (url: string) => void } {
  const troubles = new TroubleLog(clock, calmMs);
  return {
    onError(error, url) {
      const host = hostOf(url);
      if (troubles.failed(url)) logger.warn({ reason: briefly(error), host }, 'chain endpoint failed');
      else logger.debug({ err: error, host }, 'chain endpoint failed');
    },
    onAnswer(url) {
      const over = troubles.succeeded(url);
      if (over !== null) logger.info({ host: hostOf(url), ...over }, 'chain endpoint recovered');
    },
  };
}
