import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { documentedRoutes } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';
import { pageRoutes } from '../../src/http/static-routes.js';
import { KEYWORD_NAMES } from '../../src/wire/primitives.js';
import { ask, requestOf } from '../http/ask-route.js';
import { assertDocumented, assertDocumentedFrame } from './documented-answers.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

const running = await startTestService({ walletKey: null });
t.teardown(() => running.stop());
const { httpUrl, service } = running;

/** Served where the page was built. */
const page = pageRoutes({
  files: [{ path: '/index.html', contentType: 'text/html', body: Buffer.from('page'), digest: 'digest' }],
  chainId: '421613',
  privacy: 'open',
  localKey: 'a key',
  router: '0x',
  localRpcUrl: null,
});

type Referring = Readonly<Record<string, unknown>>;

function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = (value as Referring).$ref;
  return [...(typeof own === 'string' ? [own] : []), ...Object.values(value).flatMap(refsIn)];
}

function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return [...Object.keys(value), ...Object.values(value).flatMap(keysIn)];
}

function resolves(document: unknown, ref: string): boolean {
  let place: unknown = document;
  for (const token of ref.split('/').slice(1)) place = (place as Referring | undefined)?.[token];
  return place !== undefined;
}

await t.test('what is served is documented, and what is documented is served', async (t) => {
  const line = (route: { method: string; path: string; needsKey: boolean }): string =>
    `${route.method} ${route.path} ${route.needsKey ? 'key' : 'open'}`;
  const served = [...service.routes, ...page];
  t.strictSame(
    documentedRoutes(limits, { symbols: ['WETH'], vaultBases: ['WETH'] })
      .map(line)
      .sort(),
    served.map(line).sort(),
  );
});

await t.test('what the page asks for is answered as it is documented', async () => {
  for (const remoteAddress of ['127.0.0.1', '10.0.0.1']) {
    const header = (name: string): string | undefined => (name === 'host' ? 'localhost' : undefined);
    const { status, headers, body } = await ask(page, { ...requestOf('GET', '/page.json'), remoteAddress, header });
    const response = { status, headers: new Headers(headers) };
    assertDocumented({ method: 'GET', path: '/page.json', response, answer: JSON.parse(body as string) });
  }
});

await t.test('the names that GET /oracles/iv takes are the documented ones', async (t) => {
  interface Documented {
    readonly paths: Record<string, { get: { parameters: { name: string; schema: { pattern: string } }[] } }>;
  }
  const openApi = (await (await fetch(`${httpUrl}/openapi.json`)).json()) as Documented;
  const market = openApi.paths['/oracles/iv']?.get.parameters.find(({ name }) => name === 'market');
  const { status, body } = await new RestClient(httpUrl, running.apiKey).get(
    '/oracles/iv?market=USDC&expiration=29NOV30',
  );
  t.equal(status, 400);
  t.match(body, [{ message: `must match pattern "${market?.schema.pattern}"` }]);
});

for (const file of ['openapi.json', 'asyncapi.json']) {
  await t.test(`${file} is served without a key, and each reference in it leads somewhere`, async (t) => {
    const response = await fetch(`${httpUrl}/${file}`);
    t.equal(response.status, 200);
    const document: unknown = await response.json();
    const refs = refsIn(document);
    t.ok(refs.length > 10, `${refs.length} references`);
    t.strictSame(
      refs.filter((ref) => !resolves(document, ref)),
      [],
    );
    const own = new Set<string>(KEYWORD_NAMES);
    t.strictSame(
      keysIn(document).filter((key) => own.has(key)),
      [],
      'schemas have no keywords that only this program knows',
    );
  });
}

await t.test('schemas in the documents are those that requests are checked by', async (t) => {
  const ajv = new Ajv2020({ strict: false });
  const document = (await (await fetch(`${httpUrl}/openapi.json`)).json()) as object;
  ajv.addSchema(document, 'openapi.json');
  const body = ajv.getSchema('openapi.json#/paths/~1quotes/post/requestBody/content/application~1json/schema');
  t.equal(body?.([]), false, 'no quotes are too few');
  t.match(document, {
    openapi: '3.1.0',
    paths: {
      '/quotes': {
        get: { parameters: [{ name: 'poolAddress', required: true }], security: [{ apiKey: [] }] },
        post: { requestBody: { content: { 'application/json': { schema: { maxItems: limits.quotesPerRequest } } } } },
      },
      '/health': { get: { security: [] } },
    },
  });
});

await t.test('/docs is a page that names every route, and loads nothing from elsewhere', async (t) => {
  const response = await fetch(`${httpUrl}/docs`);
  t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
  const html = await response.text();
  for (const { method, path } of service.routes) t.ok(html.includes(`${method} ${path}`), `${method} ${path}`);
  for (const [, loaded = ''] of html.matchAll(/<(?:script|link)[^>]*(?:src|href)="([^"]*)"/g))
    t.match(loaded, /^\/[a-z]/);
  t.notMatch(html, /<script>|<img|@import|url\(/);
});

await t.test('an answer or a frame that is not documented is noticed', async (t) => {
  const answered = (status: number, answer: unknown) => () =>
    assertDocumented({
      method: 'GET',
      path: '/health',
      response: new Response('', { status, headers: { 'content-type': 'application/json' } }),
      answer,
    });
  t.doesNotThrow(answered(200, { status: 'alive' }));
  t.throws(answered(200, { status: 'dead' }));
  t.throws(answered(404, { message: 'Not found' }), /not documented/);
  t.throws(answered(418, { message: 'short and stout' }), /no table/);
  t.doesNotThrow(() => assertDocumentedFrame({ type: 'INFO', body: null, message: 'x' }, 'plain'));
  t.throws(() => assertDocumentedFrame({ type: 'ERROR', body: null, message: 'no idea' }, 'plain'), /no table/);
  t.throws(() => assertDocumentedFrame({ type: 'NEWS', body: null }, 'plain'));
});
