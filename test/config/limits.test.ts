import t from 'tap';
import { limits } from '../../src/config/limits.js';

/** `HTTP_IDLE_TIMEOUT_S` of 10, counted in steps of 4 s that began at any time before (uSockets `us_socket_timeout`). */
const UWS_CLOSES_SLOW_BODIES_AFTER_MS = 8_000;

t.test('limits that clients of the public service rely on are as they know them', async (t) => {
  t.equal(limits.poolListingSeconds, 90 * 86_400);
  t.equal(limits.tradesPerRequest, 25);
  t.equal(limits.signedQuotesPerRequest, 500);
  t.equal(limits.settlementsPerRequest, 1000);
  t.equal(limits.quotesPerRequest, 1000);
  t.equal(limits.poolsPerRequest, 100);
});

t.test('a slow body gets its 408 before uWebSockets.js closes the connection without a word', async (t) => {
  t.ok(limits.bodyDeadlineMs <= UWS_CLOSES_SLOW_BODIES_AFTER_MS - 500, `${limits.bodyDeadlineMs} ms`);
});
