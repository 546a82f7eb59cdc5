import t from 'tap';
import { AnswerHeaders } from '../../src/http/responses.js';
import { SharedHeaders } from '../../src/net/net.js';
import { requestOf } from './ask-route.js';

/** The shared headers of an answer to this origin; `own`: the answer's own headers. */
function toldTo(origin: string | null, own: Record<string, string> = {}): Record<string, string> {
  const headers = new AnswerHeaders({ allowOrigin: () => origin, staleness: () => null });
  const { shared = [] } = headers.addTo(requestOf('GET', '/'), { status: 200, headers: own, body: '' }, 0, 'id', []);
  return Object.assign({}, ...shared.map(({ record }) => record)) as Record<string, string>;
}

t.test('where pages of some origins may read, a cache keeps answers by origin, also those that none may', async (t) => {
  t.match(toldTo('https://a.example'), { 'access-control-allow-origin': 'https://a.example', vary: 'origin' });
  const toldNone = toldTo(null);
  t.match(toldNone, { vary: 'origin' });
  t.notOk('access-control-allow-origin' in toldNone, 'not even with the value null, which is the origin of a sandbox');
});

t.test('where all may, one answer is for everybody', async (t) => {
  t.match(toldTo('*'), { 'access-control-allow-origin': '*', vary: undefined });
});

t.test(
  'no cache gives one key what another was answered, or an old answer, unless the answer says otherwise',
  async (t) => {
    for (const origin of [null, '*', 'https://a.example']) {
      t.match(toldTo(origin), { 'cache-control': 'private, no-cache' });
      t.match(toldTo(origin, { 'cache-control': 'no-store' }), { 'cache-control': undefined });
    }
  },
);

t.test('an answer keeps what it has, and gets its id, why it may be old, and what a page may read of it', async (t) => {
  const headers = new AnswerHeaders({ allowOrigin: () => '*', staleness: (nowMs) => `old at ${nowMs}` });
  const remembered = { status: 201, headers: { age: '1' }, shared: [new SharedHeaders({ etag: '"a"' })], body: 'body' };
  const { shared = [], ...rest } = headers.addTo(requestOf('GET', '/'), remembered, 7, 'id', ['ratelimit', 'r']);
  t.strictSame(rest, {
    status: 201,
    headers: { age: '1' },
    ownHeaders: ['ratelimit', 'r', 'x-request-id', 'id', 'x-stale', 'old at 7'],
    body: 'body',
  });
  t.strictSame(Object.assign({}, ...shared.map(({ record }) => record)), {
    etag: '"a"',
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'etag, retry-after, ratelimit, ratelimit-policy, x-request-id, x-stale, x-quotebook-as-of, x-quotebook-seq',
    'cache-control': 'private, no-cache',
  });
});

t.test('an answer about chains that are not behind says nothing of that', async (t) => {
  const headers = new AnswerHeaders({ allowOrigin: () => null, staleness: () => null });
  const { ownHeaders } = headers.addTo(requestOf('GET', '/'), { status: 200, headers: {}, body: '' }, 0, 'id', []);
  t.strictSame(ownHeaders, ['x-request-id', 'id']);
});
