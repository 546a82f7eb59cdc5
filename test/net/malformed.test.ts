import t from 'tap';
import { readDocument } from '../app/read-document.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { type Backend, eachBackend, limits, serve } from './serving.js';

const CHUNKED = 'Transfer-Encoding: chunked';
const chunks = '3\r\nabc\r\n0\r\n\r\n';
const get = (...lines: string[]): string => head('GET /it HTTP/1.1', ...lines);
const post = (body: string, ...lines: string[]): string => head('POST /it HTTP/1.1', 'Host: x', ...lines) + body;

/** One of each row of the table in docs/explanation/security.md, by its first cell. */
const requests: Readonly<Record<string, readonly string[]>> = {
  '`Transfer-Encoding` other than `chunked`': [
    post(chunks, 'Transfer-Encoding: xchunked'),
    post(chunks, 'Transfer-Encoding: gzip, chunked'),
    get('Host: x', 'Transfer-Encoding: identity'),
  ],
  '`Transfer-Encoding` repeated': [post(chunks, CHUNKED, CHUNKED)],
  '`Content-Length` repeated': [post('abc', 'Content-Length: 3', 'Content-Length: 3')],
  '`Content-Length` and `Transfer-Encoding`': [post(chunks, 'Content-Length: 13', CHUNKED)],
  '`Content-Length` that is no number': [post('abc', 'Content-Length: 3x'), post('abc', 'Content-Length: -3')],
  'chunk size that ends in a bare line feed': [post('3\nabc\r\n0\r\n\r\n', CHUNKED)],
  '`Host` missing': [get('a: b')],
  '`Host` repeated': [get('Host: x', 'Host: y'), post('abc', 'Host: y', 'Content-Length: 3')],
  '`x-apikey` repeated': [get('Host: x', 'x-apikey: a', 'X-ApiKey: b')],
  'more than `headerFields` header lines': [get('Host: x', ...Array<string>(limits.headerFields).fill('a: b'))],
  'head larger than `headBytes`': [get('Host: x', `a: ${'b'.repeat(8 * limits.headBytes)}`)],
  'HTTP/1.0': [head('GET /it HTTP/1.0', 'Host: x'), head('GET /it HTTP/1.0', 'Connection: keep-alive')],
  'HTTP/2.0 in the request line': [head('GET /it HTTP/2.0', 'Host: x')],
  'target in absolute form, as to a proxy': [head('GET http://x.example/it HTTP/1.1', 'Host: x')],
  'target that is no path and no URL of http or https': ['ftp://x/it', 'it', 'http:///it', 'http://u@x/it'].map(
    (target) => head(`GET ${target} HTTP/1.1`, 'Host: x'),
  ),
  '`CONNECT`': [head('CONNECT x:443 HTTP/1.1', 'Host: x')],
  'header line continued on the next one': [get('Host: x', 'a: b', ' c')],
  "space before a header's colon": [get('Host: x', 'a : b')],
  'head whose lines end in bare line feeds': [get('Host: x').replaceAll('\r\n', '\n')],
};

/** What the table says of the backend, by row. */
async function documented(backend: Backend): Promise<Record<string, string>> {
  const text = readDocument('docs/explanation/security.md');
  const [, section = ''] = /^## Malformed requests$(.*?)^## /ms.exec(text) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const [titles = [], ...cells] = rows.map((row) => row.slice(2, -2).split(' | '));
  const column = titles.indexOf(backend.documented);
  return Object.fromEntries(cells.map((row) => [row[0] ?? '', row[column] ?? '']));
}

const IDLE = 'closed when idle';
/** Of what an idle connection is given: what is closed sooner was closed for what it sent. */
const SOON_MS = 4_000;

/** How the connection ends that this is sent on, as the table words it. */
async function outcome(port: number, request: string): Promise<string> {
  const connection = await RawConnection.open(port);
  const startMs = performance.now();
  await connection.send(request);
  await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, SOON_MS).unref())]);
  const status = String(statuses(connection.text)[0] ?? '');
  const isClosed = connection.socket.destroyed;
  if (status === '200') {
    connection.reset();
    return isClosed ? '200, then closed' : '200';
  }
  await connection.closed;
  if (status !== '') return status;
  return performance.now() - startMs < SOON_MS ? 'closed' : IDLE;
}

t.setTimeout(120_000);

eachBackend(t, (t, backend) => {
  t.test('each malformed request is answered as docs/explanation/security.md says', async (t) => {
    const table = await documented(backend);
    t.strictSame(Object.keys(table), Object.keys(requests), 'the table has these rows');
    const { port } = await serve(t, backend, { limits: { httpIdleMs: 10_000 } });
    const rows = Object.entries(requests).flatMap(([row, all]) => all.map((request) => ({ row, request })));
    await Promise.all(
      rows.map(async ({ row, request }) => {
        t.equal(await outcome(port, request), table[row], `${row}: ${request.slice(0, 120)}`);
      }),
    );
  });

  t.test('nothing that comes right behind one is answered', async (t) => {
    const paths: string[] = [];
    const { port } = await serve(t, backend, {
      http: (r) => {
        paths.push(r.path);
        return { status: 200, headers: {}, body: r.path };
      },
      limits: { httpIdleMs: 1_000 },
    });
    const table = await documented(backend);
    const bad = Object.entries(requests).filter(([row]) => table[row] !== '200');
    await Promise.all(
      bad.flatMap(([, all]) =>
        all.map(async (request) => {
          const connection = await RawConnection.open(port);
          await connection.send(request + head('GET /next HTTP/1.1', 'Host: x'));
          await connection.closed;
        }),
      ),
    );
    t.notOk(paths.includes('/next'), paths.join());
  });

  t.test('a head with as many lines as there may be is read', async (t) => {
    const { url } = await serve(t, backend, { limits: { headerFields: 30 } });
    const headers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a-${i}`, 'b']));
    t.equal((await fetch(url, { headers })).status, 200);
  });

  t.test('an upgrade is held to the same', async (t) => {
    const { port } = await serve(t, backend);
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const key = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
    for (const repeated of [
      ['Host: x', 'Host: y'],
      ['Host: x', 'x-apikey: a', 'x-apikey: b'],
    ]) {
      const connection = await RawConnection.open(port);
      await connection.send(head('GET / HTTP/1.1', ...repeated, ...lines, key));
      await connection.closed;
      t.strictSame(statuses(connection.text), [400]);
    }
  });
});

t.test('a target in absolute form is its path, and its host counts (node:http)', async (t) => {
  const { NodeServer } = await import('../../src/net/node/server.js');
  const { port } = await serve(
    t,
    { name: 'node', documented: 'node:http', create: (options) => new NodeServer(options) },
    { http: (r) => ({ status: 200, headers: {}, body: `<${r.path}|${r.query}|${r.header('host') ?? ''}>` }) },
  );
  for (const [target, seen] of [
    ['http://a.example/it?x=1', '</it|x=1|a.example>'],
    ['HTTPS://a.example:8443', '</||a.example:8443>'],
    ['http://a.example?x', '</|x|a.example>'],
    ['/http://a.example/', '</http://a.example/||x>'],
  ] as const) {
    const connection = await RawConnection.open(port);
    await connection.send(head(`GET ${target} HTTP/1.1`, 'Host: x'));
    t.match(await connection.until((text) => text.endsWith('>')), seen, target);
    connection.reset();
  }
});
