import pino from 'pino';
import t from 'tap';
import { openRequestWatch } from '../../src/app/http-wiring.js';
import { redaction } from '../../src/app/text-log.js';
import type { NetRequestHead } from '../../src/net/net.js';
import { systemRandom } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';

function requestWith(id?: string): NetRequestHead {
  return { method: 'GET', path: '/orders', query: '', remoteAddress: '192.0.2.1', header: () => id };
}

function watchInto(lines: string[], level = 'debug', clock = new ManualClock()) {
  const logger = pino({ level }, { write: (line: string) => void lines.push(line) });
  return openRequestWatch(logger, clock, systemRandom, null, 60_000);
}

t.test('each request has an id of its own, or the one that its client gave', async (t) => {
  const watch = watchInto([]);
  const ids = [watch.idOf(requestWith()), watch.idOf(requestWith())];
  t.not(ids[0], ids[1]);
  t.match(ids[0], /^[0-9a-f]{12}-1$/);
  t.equal(watch.idOf(requestWith('my-request.7')), 'my-request.7');
});

t.test('an id that would break a line or a header is replaced', async (t) => {
  const watch = watchInto([]);
  for (const id of ['a\nb', 'x'.repeat(65), '"', 'ü']) t.match(watch.idOf(requestWith(id)), /^[0-9a-f]{12}-/);
});

t.test('an answer is a line of the log with its request id, and a failure of ours is a warning', async (t) => {
  const lines: string[] = [];
  const watch = watchInto(lines, 'info');
  const answered = { requestId: 'r1', method: 'GET', path: '/orders', route: '/orders', status: 200, tookMs: 1 };
  watch.answered(answered);
  t.strictSame(lines, [], 'successful answers are logged at debug');
  watch.answered({ ...answered, requestId: 'r2', status: 503 });
  watch.failed('r3', new Error('broken'));
  t.match(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      { level: 40, requestId: 'r2', status: 503 },
      { level: 50, requestId: 'r3', err: { message: 'broken' } },
    ],
  );
});

t.test('a route that goes on failing is one warning, and one line when it is well again', (t) => {
  const lines: string[] = [];
  const clock = new ManualClock();
  const watch = watchInto(lines, 'info', clock);
  const ready = { requestId: 'r', method: 'GET', path: '/ready', route: '/ready', status: 503, tookMs: 1 };
  for (let i = 0; i < 20; i++) {
    watch.answered(ready);
    clock.advance(1_000);
  }
  watch.answered({ ...ready, route: '/quotes', path: '/quotes' });
  clock.advance(60_000);
  for (let i = 0; i < 5; i++) watch.answered({ ...ready, status: 200 });
  t.match(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      { level: 40, path: '/ready', status: 503 },
      { level: 40, path: '/quotes', status: 503 },
      { level: 30, route: '/ready', failures: 20, lastedSeconds: 19 },
    ],
  );
  t.equal(lines.length, 3);
  t.end();
});

t.test('keys do not reach the log', async (t) => {
  const lines: string[] = [];
  const logger = pino({ redact: redaction }, { write: (line: string) => void lines.push(line) });
  const secret = 'qb_secret';
  logger.info({ apiKey: secret, privateKey: secret, walletKey: secret, 'x-apikey': secret, key: secret });
  logger.info({
    headers: { 'x-apikey': secret },
    settings: { walletKey: secret, apiKey: secret },
    made: { key: secret },
  });
  t.equal(lines.length, 2);
  t.notMatch(lines.join(), secret);
});
