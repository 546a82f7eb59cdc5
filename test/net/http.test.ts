import t from 'tap';
import { type NetRequest, type NetResponse, requestHeaders, SharedHeaders } from '../../src/net/net.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, serve } from './serving.js';

const answer = (body: string | Uint8Array, status = 200): NetResponse => ({ status, headers: {}, body });

eachBackend(t, (t, backend) => {
  t.test('the handler sees method, path, raw query and address', async (t) => {
    const { url } = await serve(t, backend, {
      http: (r) => answer(JSON.stringify([r.method, r.path, r.query, r.remoteAddress, r.body.length, r.aborted])),
    });
    const response = await fetch(`${url}/a%20b/c`, { method: 'DELETE' });
    t.equal(response.status, 200);
    t.strictSame(await response.json(), ['DELETE', '/a%20b/c', '', '127.0.0.1', 0, false]);
  });

  t.test('the query is handed on as it came', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`${r.path}|${r.query}|`) });
    for (const query of [
      '',
      '&a=b&&c=d',
      'quoteIds%5B%5D=a&quoteIds[]=b',
      'a=%zz%',
      'a?b?c',
      'a+b=%2B',
      '__proto__=1',
    ]) {
      const connection = await RawConnection.open(port);
      await connection.send(head(`GET /x?${query} HTTP/1.1`, 'Host: x'));
      t.match(await connection.until((text) => text.endsWith('|')), `/x|${query}|`);
      connection.reset();
    }
  });

  t.test('every header of the list can be read, at once and after awaiting', async (t) => {
    const sent = new Map(
      requestHeaders
        .filter((name) => !['content-length', 'host', 'transfer-encoding'].includes(name))
        .map((name, index) => [name, `value ${index}`]),
    );
    const read = (r: NetRequest): string[] => [...sent.keys()].map((name) => r.header(name) ?? 'none');
    const { port } = await serve(t, backend, {
      http: (r) =>
        r.path === '/now'
          ? answer(JSON.stringify(read(r)))
          : new Promise((resolve) => setImmediate(() => resolve(answer(JSON.stringify(read(r)))))),
    });
    for (const path of ['/now', '/later']) {
      const connection = await RawConnection.open(port);
      await connection.send(head(`GET ${path} HTTP/1.1`, 'Host: x', ...[...sent].map(([n, v]) => `${n}: ${v}`)));
      t.match(await connection.until((text) => text.endsWith(']')), JSON.stringify([...sent.values()]), path);
      connection.reset();
    }
  });

  t.test('an absent or empty header is undefined, of a repeated one the first counts', async (t) => {
    const { port } = await serve(t, backend, {
      http: (r) =>
        answer(JSON.stringify([r.header('origin') ?? null, r.header('accept') ?? null, r.header('if-none-match')])),
    });
    const connection = await RawConnection.open(port);
    await connection.send(head('GET / HTTP/1.1', 'Host: x', 'accept:', 'If-None-Match: a', 'if-none-match: b'));
    t.match(await connection.until((text) => text.endsWith(']')), '[null,null,"a"]');
    connection.reset();
  });

  t.test('answers carry status, headers and body', async (t) => {
    const { url } = await serve(t, backend, {
      http: () => ({ status: 418, headers: { 'x-one': '1', etag: '"é"' }, body: 'naïve €' }),
    });
    const response = await fetch(url);
    t.equal(response.status, 418);
    t.equal(response.headers.get('x-one'), '1');
    t.equal(response.headers.get('content-length'), '10');
    t.equal(await response.text(), 'naïve €');
  });

  t.test("an answer's own headers are sent beside the others, or without any", async (t) => {
    const ownHeaders = ['x-two', '2', 'x-three', 'a, b'];
    for (const headers of [{ 'x-one': '1' }, {}]) {
      const { url } = await serve(t, backend, { http: () => ({ status: 200, headers, ownHeaders, body: 'whole' }) });
      const response = await fetch(url);
      t.strictSame(
        ['x-one', 'x-two', 'x-three'].map((name) => response.headers.get(name)),
        ['x-one' in headers ? '1' : null, '2', 'a, b'],
      );
      t.equal(await response.text(), 'whole');
    }
  });

  t.test('headers that many answers share are sent with each of them', async (t) => {
    const shared = [new SharedHeaders({ 'x-four': '4', 'x-five': '5' }), new SharedHeaders({ 'x-six': 'six' })];
    for (const ownHeaders of [['x-two', '2'], []]) {
      const { url } = await serve(t, backend, {
        http: () => ({ status: 404, headers: { 'x-one': '1' }, shared, ownHeaders, body: 'whole' }),
      });
      const response = await fetch(url);
      t.equal(response.status, 404);
      t.strictSame(
        ['x-one', 'x-two', 'x-four', 'x-five', 'x-six'].map((name) => response.headers.get(name)),
        ['1', ownHeaders[1] ?? null, '4', '5', 'six'],
      );
      t.equal(await response.text(), 'whole');
    }
  });

  t.test('a line break in one of them sends nothing of it', async (t) => {
    const faults: unknown[] = [];
    const answers = ['a', 'b\r\nx-evil: 1'];
    const { url } = await serve(t, backend, {
      http: () => ({ status: 200, headers: {}, ownHeaders: ['x-two', answers.shift() ?? ''], body: '' }),
      onFault: (fault) => faults.push(fault),
    });
    t.equal((await fetch(url)).headers.get('x-two'), 'a');
    const response = await fetch(url);
    t.equal(response.status, 500);
    t.notOk(response.headers.has('x-evil'));
    t.match(String(faults[0]), /header x-two/);
  });

  t.test('a body of bytes is sent as it is', async (t) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const { url } = await serve(t, backend, { http: () => answer(bytes.subarray(1)) });
    const response = await fetch(url);
    t.strictSame(new Uint8Array(await response.arrayBuffer()), bytes.slice(1));
  });

  t.test('an answer that is larger than any buffer arrives whole', async (t) => {
    const body = 'quotebook '.repeat(1_200_000);
    const { url } = await serve(t, backend, { http: () => Promise.resolve(answer(body)) });
    const [first, second] = await Promise.all([fetch(url), fetch(url)]);
    t.ok((await first.text()) === body);
    t.ok((await second.text()) === body);
  });

  t.test('nothing in an answer names the server', async (t) => {
    const { url } = await serve(t, backend);
    const response = await fetch(url);
    t.notMatch([...response.headers].join('\n'), /server|powered|socket|node/i);
  });

  t.test('HEAD reaches the handler and gets the length without the body', async (t) => {
    const { url, port } = await serve(t, backend, { http: (r) => answer(`body of ${r.method}`) });
    const response = await fetch(url, { method: 'HEAD' });
    t.equal(response.headers.get('content-length'), '12');
    const connection = await RawConnection.open(port);
    await connection.send(head('HEAD / HTTP/1.1', 'Host: x') + head('GET / HTTP/1.1', 'Host: x'));
    const text = await connection.until((text) => text.endsWith('body of GET'));
    t.notMatch(text, 'body of HEAD');
    t.strictSame(statuses(text), [200, 200]);
    connection.reset();
  });

  t.test('OPTIONS reaches the handler', async (t) => {
    const { url } = await serve(t, backend, {
      http: (r) => ({ status: 204, headers: { allow: r.method }, body: '' }),
    });
    const response = await fetch(url, { method: 'OPTIONS' });
    t.equal(response.status, 204);
    t.equal(response.headers.get('allow'), 'OPTIONS');
  });

  t.test('204 and 304 have neither body nor length, and the connection goes on', async (t) => {
    const { port } = await serve(t, backend, {
      http: (r) => (r.path === '/ok' ? answer('end') : answer('must not be sent', Number(r.path.slice(1)))),
    });
    const connection = await RawConnection.open(port);
    for (const path of ['/204', '/304', '/ok']) await connection.send(head(`GET ${path} HTTP/1.1`, 'Host: x'));
    const text = await connection.until((text) => text.endsWith('end'));
    t.strictSame(statuses(text), [204, 304, 200]);
    t.equal(text.match(/content-length/gi)?.length, 1);
    t.notMatch(text, 'must not');
    connection.reset();
  });

  t.test('a handler that throws is answered with 500 and told, and the connection goes on', async (t) => {
    const { port, faults } = await serve(t, backend, {
      faults: 'expected',
      http: (r) => {
        if (r.path === '/now') throw new Error('now');
        return r.path === '/later' ? Promise.reject(new Error('later')) : answer('fine');
      },
    });
    const connection = await RawConnection.open(port);
    for (const [index, path] of ['/now', '/later', '/fine'].entries()) {
      await connection.send(head(`GET ${path} HTTP/1.1`, 'Host: x'));
      await connection.until((text) => statuses(text).length > index);
    }
    await connection.until((text) => text.endsWith('fine'));
    t.strictSame(statuses(connection.text), [500, 500, 200]);
    t.match(connection.text, '{"message":"Internal server error"}');
    t.strictSame(
      faults.map((error) => (error as Error).message),
      ['now', 'later'],
    );
    connection.reset();
  });

  t.test('an answer that HTTP cannot carry becomes a 500', async (t) => {
    const unsendable: NetResponse[] = [
      { status: 200, headers: { location: 'a\r\nset-cookie: b' }, body: '' },
      { status: 200, headers: { 'x-name': 'smile \u{1f642}' }, body: '' },
      { status: 200, headers: { 'not a token': 'x' }, body: '' },
      { status: 99, headers: {}, body: '' },
      { status: 101, headers: {}, body: '' },
      { status: 600, headers: {}, body: '' },
      // Behind others that are fine.
      { status: 200, headers: { 'x-one': '1', 'x-two': 'a\r\nset-cookie: b' }, body: '' },
      { status: 200, headers: {}, ownHeaders: ['x-one', '1', 'x-two', 'a\r\nset-cookie: b'], body: '' },
      { status: 200, headers: {}, ownHeaders: ['x-one', '1', 'not a token', 'x'], body: '' },
    ];
    const { url, faults } = await serve(t, backend, {
      faults: 'expected',
      http: (r) => unsendable[Number(r.query)] ?? answer(''),
    });
    for (const index of unsendable.keys()) {
      const response = await fetch(`${url}/?${index}`);
      t.equal(response.status, 500);
      t.equal(response.headers.get('set-cookie'), null);
    }
    t.equal(faults.length, unsendable.length);
  });

  t.test('a request line split over segments is one request', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`${r.path}?${r.query}.`) });
    const connection = await RawConnection.open(port);
    for (const piece of ['G', 'ET /quo', 'tes?a=', '1 HTTP', '/1.1\r', '\nHo', 'st: x\r\n\r', '\n']) {
      await connection.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.match(await connection.until((text) => text.endsWith('.')), '/quotes?a=1.');
    connection.reset();
  });

  t.test('a long query passes in one piece, and in several but on 20.30, which gathers 4 KiB', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`${r.query.length}.`) });
    const whole = await RawConnection.open(port);
    await whole.send(head(`GET /?${'x'.repeat(10_000)} HTTP/1.1`, 'Host: x'));
    t.match(await whole.until((text) => text.endsWith('.')), '10000.');
    whole.reset();
    const pieces = await RawConnection.open(port);
    await pieces.send(`GET /?${'x'.repeat(6_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (backend.documented !== 'uWebSockets.js 20.30') {
      await pieces.send(head(`${'x'.repeat(4_000)} HTTP/1.1`, 'Host: x'));
      t.match(await pieces.until((text) => text.endsWith('.')), '10000.');
      pieces.reset();
    } else {
      await pieces.closed;
      t.equal(pieces.text, '', 'the connection is closed');
    }
  });

  t.test('requests in one segment are answered in order', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`<${r.path}>`) });
    const connection = await RawConnection.open(port);
    await connection.send(['/1', '/2', '/3'].map((path) => head(`GET ${path} HTTP/1.1`, 'Host: x')).join(''));
    const text = await connection.until((text) => text.endsWith('</3>'));
    t.strictSame(
      [...text.matchAll(/<(.*?)>/g)].map((match) => match[1]),
      ['/1', '/2', '/3'],
    );
    connection.reset();
  });

  t.test('a request that comes while the one before is being answered', async (t) => {
    const paths: string[] = [];
    let release: (response: NetResponse) => void = () => undefined;
    const { port } = await serve(t, backend, {
      http: (r) => {
        paths.push(r.path);
        return r.path === '/slow' ? new Promise((resolve) => (release = resolve)) : answer('second');
      },
    });
    const connection = await RawConnection.open(port);
    await connection.send(head('GET /slow HTTP/1.1', 'Host: x') + head('GET /next HTTP/1.1', 'Host: x'));
    if (backend.name === 'node') {
      const later = setInterval(() => release(answer('first')), 5);
      const text = await connection.until((text) => text.endsWith('second'));
      clearInterval(later);
      t.ok(text.indexOf('first') < text.indexOf('second'), 'node:http answers both, in order');
      connection.reset();
    } else {
      await connection.closed;
      t.strictSame(paths, ['/slow'], 'uWebSockets.js closes the connection');
      t.equal(connection.text, '');
      release(answer('too late'));
    }
  });

  t.test('answers that nobody reads do not pile up', async (t) => {
    let calls = 0;
    const large = 'x'.repeat(1 << 20);
    const { port, url } = await serve(t, backend, {
      http: (r) => {
        if (r.path === '/') return answer('');
        calls++;
        return answer(large);
      },
    });
    const connection = await RawConnection.open(port);
    connection.socket.pause();
    connection.socket.write(head('GET /large HTTP/1.1', 'Host: x').repeat(1000));
    for (let i = 0; i < 50; i++) await fetch(url);
    t.ok(calls < 50, `${calls} of 1000 requests were taken on`);
    t.ok(calls > 0);
    connection.reset();
  });

  t.test('an upgrade to anything else, or anywhere else, is an ordinary request', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`plain ${r.path}.`) });
    const key = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
    for (const lines of [
      ['GET /x HTTP/1.1', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', key],
      ['GET / HTTP/1.1', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'],
      ['GET / HTTP/1.1', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    ]) {
      const connection = await RawConnection.open(port);
      await connection.send(head(...lines, 'Host: x', 'Connection: Upgrade'));
      t.match(await connection.until((text) => text.endsWith('.')), /200 OK[^]*plain \/x?\./);
      connection.reset();
    }
  });
});
