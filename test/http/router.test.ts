import t from 'tap';
import { AnswerHeaders } from '../../src/http/answer-headers.js';
import { createRouter } from '../../src/http/router.js';
import { requestOf } from './ask-route.js';

const handle = () => ({ status: 200, headers: {}, body: '' });
const router = createRouter(
  [
    { method: 'GET', path: '/both', needsKey: false, handle },
    { method: 'POST', path: '/both', needsKey: true, handle },
  ],
  {
    watch: { nowMs: () => 0, idOf: () => 'id', answered: () => undefined, failed: () => undefined },
    checkKey: () => 'MISSING',
    quotas: { takeRequest: () => 0, headers: () => undefined },
    answerHeaders: new AnswerHeaders({ allowOrigin: () => '*', staleness: () => null }),
    maxQueryBytes: 100,
  },
);

t.test('a method that a path does not have is answered with all that it has (RFC 9110, 15.5.6)', async (t) => {
  const answer = await router(requestOf('DELETE', '/both'));
  t.match(answer, { status: 405, headers: { allow: 'GET, HEAD, POST, OPTIONS' } });
});

t.test('a page on another origin may send every header that the service reads of it', async (t) => {
  const { status, headers } = await router(requestOf('OPTIONS', '/both'));
  t.equal(status, 204);
  const allowed = headers['access-control-allow-headers']?.split(', ').sort();
  t.strictSame(allowed, ['accept', 'content-type', 'if-none-match', 'x-apikey', 'x-request-id']);
});
