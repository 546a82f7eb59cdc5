import { json } from './responses.js';
import type { Route } from './router.js';

/**
 * GET /health: the process lives. GET /ready: 200 when it serves what the chains say now, else 503 with the reasons.
 */
export function statusRoutes(reasonsNotReady: () => readonly string[]): Route[] {
  return [
    { method: 'GET', path: '/health', needsKey: false, handle: () => json('{"status":"alive"}') },
    {
      method: 'GET',
      path: '/ready',
      needsKey: false,
      handle: () => {
        const reasons = reasonsNotReady();
        return json(JSON.stringify({ ready: reasons.length === 0, reasons }), reasons.length === 0 ? 200 : 503);
      },
    },
  ];
}
