import type { Logger } from 'pino';
import type { Clock, Random } from './engine/ports.js';
import type { RequestWatch } from './http/router.js';
import type { Metrics } from './metrics/metrics.js';
import { TroubleLog } from './trouble-log.js';

/** What a client may call its request: what fits a log line and a header. */
const CLIENT_ID = /^[\w.:-]{1,64}$/;

/**
 * Names each request and tells of its answer: a line in the log (`debug`; `warn` for a route's first failure of ours) and, where there
 * are metrics, its time. Ids are the process's own random prefix and a count: unique, and next to free.
 */
export function openRequestWatch(
  logger: Logger,
  clock: Clock,
  random: Random,
  metrics: Metrics | null,
  /** Of `TroubleLog`. */
  calmMs: number,
): RequestWatch {
  const troubles = new TroubleLog(clock, calmMs);
  const prefix = Buffer.from(random.bytes(6)).toString('hex');
  const timers = new Map<string, { observe(seconds: number): void }>();
  let count = 0;

  function timer(method: string, route: string, status: number): { observe(seconds: number): void } | null {
    if (metrics === null) return null;
    const name = `${method} ${route} ${status}`;
    const known = timers.get(name) ?? metrics.requests.labels(method, route, String(status));
    timers.set(name, known);
    return known;
  }

  return {
    nowMs: () => clock.monotonicMs(),
    idOf(request) {
      const given = request.header('x-request-id');
      if (given !== undefined && CLIENT_ID.test(given)) return given;
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
    answered({ requestId, method, path, route, status, tookMs }) {
      timer(method, route, status)?.observe(tookMs / 1000);
      const isNews = status >= 500 && troubles.failed(`${method} ${route}`);
      const over = status >= 500 ? null : troubles.succeeded(`${method} ${route}`);
      if (over !== null) logger.info({ method, route, ...over }, 'no failures any more');
      const level = isNews ? 'warn' : 'debug';
      if (logger.isLevelEnabled(level)) logger[level]({ requestId, method, path, status, tookMs }, 'answered');
    },
    failed(requestId, error) {
      logger.error({ requestId, err: error }, 'a request failed inside');
    },
  };
}
