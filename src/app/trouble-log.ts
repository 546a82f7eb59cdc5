import type { Logger } from 'pino';
import type { Clock } from '../engine/ports.js';

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
