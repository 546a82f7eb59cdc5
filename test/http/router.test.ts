import t from 'tap';
import { AnswerHeaders } from '../../src/http/responses.js';
import { pathParameters } from '../../src/http/parse.js';
import { type AnsweredRequest, createRouter, type RequestObserver } from '../../src/http/router.js';
import { requestOf } from './ask-route.js';

const handle = () => ({ status: 200, headers: {}, body: '' });
const broken = (): never => {
  throw new Error('a fault of ours');
};
/** What the watch heard. */
const heard: unknown[] = [];
const watch: RequestObserver = {
  nowMs: () => 0,
  idOf: () => 'id',
  answered: ({ route, status }) => heard.push([route, status]),
  failed: (requestId, error) => heard.push([requestId, (error as Error).message]),
};

function routerWatchedBy(watch: RequestObserver) {
  return createRouter(
    [
      { method: 'GET', path: '/both', needsKey: false, handle },
      { method: 'POST', path: '/both', needsKey: true, handle },
      { method: 'GET', path: '/both/{id}/parts', needsKey: false, handle },
      { method: 'GET', path: '/throws', needsKey: false, handle: broken },
      { method: 'GET', path: '/rejects', needsKey: false, handle: async () => broken() },
    ],
    {
      watch,
      checkKey: () => 'MISSING',
      quotas: { takeRequest: () => 0, headers: () => undefined },
      answerHeaders: new AnswerHeaders({ allowOrigin: () => '*', staleness: () => null }),
      replica: null,
      maxQueryBytes: 100,
    },
  );
}

const routing = routerWatchedBy(watch);
const router = routing.handle;

t.test('a method that a path does not have is answered with all that it has (RFC 9110, 15.5.6)', async (t) => {
  const answer = await router(requestOf('DELETE', '/both'));
  t.match(answer, { status: 405, headers: { allow: 'GET, HEAD, POST, OPTIONS' } });
});

t.test('a path may have parameters, and its route goes by the name of the whole', async (t) => {
  heard.length = 0;
  for (const path of ['/both/7/parts', '/both//parts', '/both/7/8/parts', '/both/7']) {
    await router(requestOf('GET', path));
  }
  t.strictSame(heard, [['/both/{id}/parts', 200], ...Array.from({ length: 3 }, () => ['other', 404])]);
  t.strictSame(pathParameters('/both/{id}/parts', '/both/7/parts'), { id: '7' });
  t.match(await router(requestOf('POST', '/both/7/parts')), { status: 405 });
});

t.test('a path may end with one slash and be in any letter case, unless it has parameters', async (t) => {
  heard.length = 0;
  for (const path of ['/both/', '/BOTH', '/Both/'])
    t.match(await router(requestOf('GET', path)), { status: 200 }, path);
  t.match(routing.refuseHead(requestOf('PUT', '/Both/')), { status: 405 });
  t.match(await router(requestOf('OPTIONS', '/both/')), { status: 204 });
  for (const path of ['/both//', '//both', '/both/7/parts/', '/both/7/PARTS'])
    t.match(await router(requestOf('GET', path)), { status: 404 }, path);
  t.strictSame(heard, [
    ...[200, 200, 200, 405, 204].map((status) => ['/both', status]),
    ...Array.from({ length: 4 }, () => ['other', 404]),
  ]);
});

t.test('a page on another origin may send every header that the service reads of it', async (t) => {
  const { status, headers } = await router(requestOf('OPTIONS', '/both'));
  t.equal(status, 204);
  const allowed = headers['access-control-allow-headers']?.split(', ').sort();
  t.strictSame(allowed, ['accept', 'content-type', 'if-none-match', 'x-apikey', 'x-min-seq', 'x-request-id']);
  t.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST');
});

t.test('a route with a scope refuses other keys before it reads their bodies', async (t) => {
  const none: readonly 'operator'[] = [];
  const holders = {
    plain: { id: 'a' },
    empty: { id: 'b', scopes: none },
    desk: { id: 'c', scopes: ['operator'] },
  } as const;
  const scoped = createRouter(
    (['POST', 'PATCH', 'DELETE'] as const).map((method) => {
      return { method, path: '/spends', needsKey: true, scope: 'operator', handle };
    }),
    {
      watch,
      checkKey: (key) => ({ tier: 'paid', ...holders[key as keyof typeof holders] }),
      quotas: { takeRequest: () => 0, headers: () => undefined },
      answerHeaders: new AnswerHeaders({ allowOrigin: () => '*', staleness: () => null }),
      replica: null,
      maxQueryBytes: 100,
    },
  );
  const asked = (method: string, key: string) => {
    return { ...requestOf(method, '/spends', '[]'), header: (name: string) => (name === 'x-apikey' ? key : undefined) };
  };
  const message = "This key may not act with the operator's wallet: it takes one with the scope operator";
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    for (const key of ['plain', 'empty']) {
      t.match(await scoped.handle(asked(method, key)), { status: 403, body: JSON.stringify({ message }) });
      t.match(scoped.refuseHead(asked(method, key)), { status: 403 });
    }
    t.match(await scoped.handle(asked(method, 'desk')), { status: 200 });
    t.equal(scoped.refuseHead(asked(method, 'desk')), null);
  }
  const { headers } = await scoped.handle(requestOf('OPTIONS', '/spends'));
  t.equal(headers['access-control-allow-methods'], 'POST, PATCH, DELETE');
});

t.test('reports a route that throws, and answers 500', async (t) => {
  for (const path of ['/throws', '/rejects']) {
    heard.length = 0;
    t.match(await router(requestOf('GET', path)), { status: 500, body: '{"message":"Internal server error"}' });
    t.strictSame(heard, [
      ['id', 'a fault of ours'],
      [path, 500],
    ]);
  }
});

t.test('metrics distinguish requests by route; all unknown paths are one', async (t) => {
  heard.length = 0;
  for (const path of ['/both', '/nowhere', '/both/nowhere']) await router(requestOf('GET', path));
  t.strictSame(heard, [
    ['/both', 200],
    ['other', 404],
    ['other', 404],
  ]);
});

t.test('reports the request and the duration of each answer', async (t) => {
  const told: AnsweredRequest[] = [];
  let nowMs = 1_000;
  const { handle: timed } = routerWatchedBy({
    ...watch,
    nowMs: () => (nowMs += 5),
    answered: (each) => told.push({ ...each }),
  });
  // A method can be any word, and each is a series of the metrics.
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'get']) {
    told.length = 0;
    await timed(requestOf(method, '/both'));
    const known = method === 'PROPFIND' || method === 'get' ? 'OTHER' : method;
    t.match(told, [{ requestId: 'id', method: known, path: '/both', tookMs: 5 }], method);
  }
});

t.test('a query of the length that is taken is read, one that is longer is not', async (t) => {
  t.equal((await router(requestOf('GET', `/both?${'q'.repeat(100)}`))).status, 200);
  t.match(await router(requestOf('GET', `/both?${'q'.repeat(101)}`)), {
    status: 414,
    body: '{"message":"The query string is too long"}',
  });
});

t.test('the head alone is enough to refuse what no body can save', async (t) => {
  heard.length = 0;
  t.match(routing.refuseHead(requestOf('POST', '/both')), { status: 401, body: '{"message":"API key not provided"}' });
  t.match(routing.refuseHead(requestOf('PUT', '/both')), { status: 405 });
  t.match(routing.refuseHead(requestOf('POST', '/nowhere')), { status: 404 });
  t.match(routing.refuseHead(requestOf('POST', `/both?${'q'.repeat(101)}`)), { status: 414 });
  t.equal(routing.refuseHead(requestOf('GET', '/throws')), null, 'the route is not called');
  t.strictSame(
    heard,
    [401, 405, 404, 414].map((status) => [status === 404 ? 'other' : '/both', status]),
    'and each is reported once',
  );
});

t.test('a gateway waits for the event that a request names, once its key and quota allow the request', async (t) => {
  let [seq, quota] = [7, 0];
  const asked: number[] = [];
  const reached: { answer?: (isThere: boolean) => void } = {};
  const gateway = createRouter(
    [
      { method: 'GET', path: '/open', needsKey: false, handle },
      { method: 'GET', path: '/read', needsKey: true, handle },
      { method: 'POST', path: '/keyed', needsKey: true, handle },
    ],
    {
      watch,
      checkKey: (key) => (key === '' ? 'MISSING' : { id: key ?? '', tier: 'paid' }),
      quotas: { takeRequest: () => quota, headers: () => undefined },
      answerHeaders: new AnswerHeaders({ allowOrigin: () => '*', staleness: () => 'a chain is stale' }),
      replica: {
        seq: () => seq,
        reaches(wanted) {
          asked.push(wanted);
          return wanted <= seq ? Promise.resolve(true) : new Promise((resolve) => (reached.answer = resolve));
        },
      },
      maxQueryBytes: 100,
    },
  );
  const askFor = (minSeq: string, target = 'GET /read', key = 'a') => {
    const [method = '', path = ''] = target.split(' ');
    const given: Partial<Record<string, string>> = { 'x-min-seq': minSeq, 'x-apikey': key };
    return { ...requestOf(method, path), header: (name: string) => given[name] };
  };
  t.match(await gateway.handle(askFor('7')), { status: 200, ownHeaders: ['x-quotebook-seq', '7'] });
  const late = gateway.handle(askFor('8'));
  seq = 8;
  reached.answer?.(true);
  t.match(await late, { status: 200, ownHeaders: ['x-quotebook-seq', '8'] });

  heard.length = 0;
  const never = gateway.handle(askFor('999'));
  reached.answer?.(false);
  const like = ['x-quotebook-seq', '8', 'x-request-id', 'id', 'x-stale', 'a chain is stale'];
  const refused = await never;
  t.match(refused, { status: 503, body: '{"message":"Event 999 is not known here yet"}', ownHeaders: like });
  t.ok(refused.shared?.some(({ record }) => record['access-control-allow-origin'] === '*'));
  t.match(await gateway.handle(askFor('x')), { status: 400, ownHeaders: like });
  t.match(gateway.refuseHead(askFor('-1', 'POST /keyed')), { status: 400, ownHeaders: like });
  t.strictSame(heard, [
    ['/read', 503],
    ['/read', 400],
    ['/keyed', 400],
  ]);

  asked.length = 0;
  quota = 1_000;
  t.match(await gateway.handle(askFor('999', 'POST /keyed', '')), { status: 401 });
  t.match(await gateway.handle(askFor('999', 'POST /keyed')), { status: 429 });
  t.match(await gateway.handle(askFor('999', 'GET /nowhere')), { status: 404 });
  t.match(await gateway.handle(askFor('999', 'GET /open', '')), { status: 200 });
  t.match(await gateway.handle(askFor('x', 'GET /open', '')), { status: 200 });
  t.strictSame(asked, [], 'none of these waits');
});
