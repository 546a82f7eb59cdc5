import t from 'tap';
import { docsRoutes, type PageFile, pageRoutes } from '../../src/http/static-routes.js';
import type { RequestHeader } from '../../src/net/net.js';
import { ask, requestOf } from './ask-route.js';

const file = (path: string, contentType: string): PageFile => ({
  path,
  contentType,
  body: Buffer.from(`the body of ${path}`),
  digest: `digest-of-${path.slice(1)}`,
});
const files = [file('/index.html', 'text/html; charset=utf-8'), file('/app.js', 'text/javascript; charset=utf-8')];
const router = '0x0aa81977bc19a11abe7ec61016a629f989b85513';
const rpcUrl = 'http://127.0.0.1:8545';
const deployment = { chainId: '421613', privacy: 'open', router } as const;
const routes = pageRoutes({ files, ...deployment, localKey: 'the-key', localRpcUrl: rpcUrl });
const remote = pageRoutes({ files, ...deployment, localKey: null, localRpcUrl: null });

function get(path: string, headers: Partial<Record<RequestHeader, string>> = {}, remoteAddress = '127.0.0.1') {
  return ask(routes, { ...requestOf('GET', path), remoteAddress, header: (name) => headers[name] });
}

t.test('the page is at /, its files at their names, each with its type and no more rights than it needs', async (t) => {
  const index = await get('/');
  t.match(index, { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  t.strictSame(Buffer.from(index.body as Uint8Array).toString(), 'the body of /index.html');
  const script = await get('/app.js');
  t.match(script.headers, { 'content-type': 'text/javascript; charset=utf-8', 'x-content-type-options': 'nosniff' });
  const policy = script.headers['content-security-policy'] ?? '';
  t.match(policy, /^default-src 'none'; script-src 'self';/);
  t.match(policy, /connect-src 'self' http:\/\/127\.0\.0\.1:8545;/, "a local chain's node signs for its accounts");
  const { headers } = await ask(remote, requestOf('GET', '/'));
  t.notMatch(headers['content-security-policy'] ?? 'http', /unsafe|http|\*/);
});

t.test('a conditional request for an unchanged file gets 304', async (t) => {
  const { headers } = await get('/app.js');
  t.equal(headers.etag, '"digest-of-app.js"');
  t.match(await get('/app.js', { 'if-none-match': '"other", W/"digest-of-app.js"' }), { status: 304, body: '' });
  t.match(await get('/app.js', { 'if-none-match': '"other"' }), { status: 200 });
});

t.test('a 304 repeats the caching headers (RFC 9110, 15.4.5)', async (t) => {
  const { headers } = await get('/app.js', { 'if-none-match': '"digest-of-app.js"' });
  t.strictSame(headers, { etag: '"digest-of-app.js"', 'cache-control': 'no-cache' });
});

t.test('only what was read at the start has a route', async (t) => {
  t.strictSame(
    routes.map(({ path }) => path),
    ['/', '/app.js', '/page.json'],
  );
});

t.test('a server without a page serves none', async (t) => {
  t.strictSame(pageRoutes({ files: [], ...deployment, localKey: 'the-key', localRpcUrl: rpcUrl }), []);
});

const KEY = { ...deployment, apiKey: 'the-key', rpcUrl };
const NO_KEY = { ...deployment, apiKey: null, rpcUrl: null };
const own = { host: '127.0.0.1:8080' };

t.test('the local key is given to pages of this server in a browser on this machine', async (t) => {
  for (const [headers, peer] of [
    [own, '127.0.0.1'],
    [{ host: 'localhost:8080' }, '127.0.0.1'],
    [{ host: '[::1]:8080' }, '::1'],
    [{ ...own, origin: 'http://127.0.0.1:8080' }, '127.0.0.1'],
  ] as const) {
    const { text, headers: told } = await get('/page.json', headers, peer);
    t.strictSame(JSON.parse(text), KEY, JSON.stringify(headers));
    t.equal(told['cache-control'], 'no-store');
  }
});

t.test('nobody else is given it', async (t) => {
  for (const [why, headers, peer] of [
    ['another machine', own, '192.0.2.7'],
    ['another site that this browser has open', { ...own, origin: 'https://evil.example' }, '127.0.0.1'],
    ['another server on this machine', { ...own, origin: 'http://127.0.0.1:9999' }, '127.0.0.1'],
    ['a page without an origin', { ...own, origin: 'null' }, '127.0.0.1'],
    ['a name that resolves to this machine', { host: 'evil.example:8080' }, '127.0.0.1'],
    ['a name that begins like this machine', { host: '127.0.0.1.evil.example' }, '127.0.0.1'],
    ['a name that ends like this machine', { host: 'evil-localhost:8080' }, '127.0.0.1'],
    ['a request without a host', {}, '127.0.0.1'],
    ['a client of a proxy', { ...own, 'x-forwarded-for': '192.0.2.7' }, '127.0.0.1'],
  ] as const) {
    t.strictSame(JSON.parse((await get('/page.json', headers, peer)).text), NO_KEY, why);
  }
});

t.test('without a local set-up there is no key to give', async (t) => {
  const { text } = await ask(remote, { ...requestOf('GET', '/page.json'), header: () => '127.0.0.1' });
  t.strictSame(JSON.parse(text), NO_KEY);
});

t.test('all answers with a document of the API share its bytes', async (t) => {
  const texts = { openApi: '{"a":1}', asyncApi: '{"b":2}', page: '<p>', socketsPage: '<q>', llms: 'é' };
  const documents = docsRoutes(texts);
  const bodies = documents.map(async ({ path }) => {
    const [first, second] = [
      await ask(documents, requestOf('GET', path)),
      await ask(documents, requestOf('GET', path)),
    ];
    t.ok(first.body instanceof Uint8Array);
    t.equal(first.body, second.body, path);
    return Buffer.from(first.body as Uint8Array).toString();
  });
  t.strictSame(new Set(await Promise.all(bodies)), new Set(Object.values(texts)));
});
