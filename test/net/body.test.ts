import t from 'tap';
import type { NetResponse } from '../../src/net/net.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, serve } from './serving.js';

const answer = (body: string | Uint8Array, status = 200): NetResponse => ({ status, headers: {}, body });
const unreachable = (): NetResponse => {
  throw new Error('the handler must not be called');
};

eachBackend(t, (t, backend) => {
  t.test('a body of exactly the limit is handed over whole, one more byte is 413', async (t) => {
    const { url } = await serve(t, backend, { http: (r) => answer(r.body) });
    const whole = await fetch(url, { method: 'POST', body: 'x'.repeat(1024) });
    t.equal(await whole.text(), 'x'.repeat(1024));
    const over = await fetch(url, { method: 'POST', body: 'x'.repeat(1025) });
    t.equal(over.status, 413);
    t.equal(await over.text(), 'TOO_LARGE');
  });

  t.test('PATCH and DELETE have bodies like POST', async (t) => {
    const { url } = await serve(t, backend, { http: (r) => answer(`${r.method} ${Buffer.from(r.body).toString()}`) });
    for (const method of ['PATCH', 'DELETE']) {
      const small = await fetch(url, { method, body: '{"a":1}' });
      t.equal(await small.text(), `${method} {"a":1}`);
      const over = await fetch(url, { method, body: 'x'.repeat(1025) });
      t.strictSame([over.status, await over.text()], [413, 'TOO_LARGE']);
      t.equal(await (await fetch(url, { method })).text(), `${method} `, 'or none');
    }
  });

  t.test('the limit is that of the method and path', async (t) => {
    const { url } = await serve(t, backend, {
      http: (r) => answer(String(r.body.length)),
      limits: { bodyBytes: (method, path) => (method === 'POST' && path === '/quotes' ? 100_000 : 10) },
    });
    const status = async (method: string, path: string): Promise<number> =>
      (await fetch(url + path, { method, body: 'x'.repeat(50_000) })).status;
    t.equal(await status('POST', '/quotes'), 200);
    t.equal(await status('PUT', '/quotes'), 413);
    t.equal(await status('POST', '/other'), 413);
  });

  t.test('10 MB get to read their 413', async (t) => {
    const { url } = await serve(t, backend, { http: unreachable });
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(10_000_000) });
    t.equal(response.status, 413);
    t.equal(await response.text(), 'TOO_LARGE');
  });

  t.test('10 MB in chunks of unknown number get to read their 413', async (t) => {
    const { url } = await serve(t, backend, { http: unreachable });
    const chunks = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 100; i++) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
    const response = await fetch(url, { method: 'POST', body: chunks, duplex: 'half' });
    t.equal(response.status, 413);
  });

  t.test('chunks without end are cut off', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable, limits: { bodyDiscardBytes: 100_000 } });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked'));
    const chunk = `2000\r\n${'x'.repeat(0x2000)}\r\n`;
    const feed = (): void => {
      if (connection.socket.writable) connection.socket.write(chunk, feed);
    };
    feed();
    await connection.closed;
    t.notMatch(statuses(connection.text), [200]);
  });

  t.test('a body in more small pieces than are allowed is cut off, of whatever method it is', async (t) => {
    const { port } = await serve(t, backend, {
      http: (r) => answer(String(r.body.length)),
      limits: { bodySmallPieces: 100, httpIdleMs: 60_000 }, // else it is closed in time whatever came
    });
    for (const method of backend.name === 'node' ? ['POST', 'GET'] : ['POST']) {
      const connection = await RawConnection.open(port);
      await connection.send(head(`${method} / HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked'));
      await connection.send('1\r\nx\r\n'.repeat(101));
      await connection.closed;
      t.strictSame(statuses(connection.text), method === 'GET' ? [200] : []);
    }
    const whole = await RawConnection.open(port);
    await whole.send(head('POST / HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked'));
    await whole.send(`${'1\r\nx\r\n'.repeat(99)}0\r\n\r\n`);
    await whole.until((text) => text.endsWith('99'));
    t.strictSame(statuses(whole.text), [200]);
  });

  // uWebSockets.js closes a connection 10 s after the answer, whatever comes of the body.
  if (backend.name === 'node') {
    t.test('the body of a request that was answered without it has a deadline', async (t) => {
      const { port } = await serve(t, backend, { limits: { bodyDeadlineMs: 100, httpIdleMs: 600_000 } });
      for (const [header, byte] of [
        ['Content-Length: 10', 'x'],
        ['Transfer-Encoding: chunked', '1\r\nx\r\n'],
      ] as const) {
        for (const method of ['GET', 'OPTIONS']) {
          const connection = await RawConnection.open(port);
          await connection.send(head(`${method} / HTTP/1.1`, 'Host: x', header));
          await connection.until((text) => text.endsWith('ok'));
          await connection.send(byte);
          await connection.closed;
          t.strictSame(statuses(connection.text), [200], `${method} ${header}`);
        }
      }
    });

    t.test('no more of such a body is read than would be thrown away', async (t) => {
      const { port } = await serve(t, backend, { limits: { bodyDiscardBytes: 100_000, bodyDeadlineMs: 600_000 } });
      const connection = await RawConnection.open(port);
      await connection.send(head('GET / HTTP/1.1', 'Host: x', 'Content-Length: 99999999'));
      const feed = (): void => {
        if (connection.socket.writable) connection.socket.write('x'.repeat(0x2000), feed);
      };
      feed();
      await connection.closed;
      t.strictSame(statuses(connection.text), [200]);
    });

    t.test('a connection whose such body came in time goes on after the deadline', async (t) => {
      const { port } = await serve(t, backend, { limits: { bodyDeadlineMs: 50 } });
      const connection = await RawConnection.open(port);
      await connection.send(`${head('GET /1 HTTP/1.1', 'Host: x', 'Content-Length: 5')}hello`);
      await connection.until((text) => text.endsWith('ok'));
      await new Promise((resolve) => setTimeout(resolve, 100));
      await connection.send(head('GET /2 HTTP/1.1', 'Host: x'));
      await connection.until((text) => statuses(text).length === 2);
      t.strictSame(statuses(connection.text), [200, 200]);
      connection.reset();
    });
  }

  t.test('more than would be thrown away is refused before it comes', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable, limits: { bodyDiscardBytes: 2000 } });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 99999999'));
    await connection.closed;
    t.strictSame(statuses(connection.text), [413]);
  });

  t.test('refuses `expect: 100-continue` with a body that is too large', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 5000', 'Expect: 100-continue'));
    // uWebSockets.js tells everyone to go on before we are asked.
    if (backend.name === 'uWebSockets.js') {
      await connection.until((text) => text.includes('100 Continue'));
      await connection.send('x'.repeat(5000));
    }
    await connection.closed;
    t.equal(statuses(connection.text).at(-1), 413);
  });

  t.test('a small body may use `expect: 100-continue`', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(r.body) });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 5', 'Expect: 100-continue'));
    await connection.until((text) => text.includes('100 Continue'));
    await connection.send('hello');
    t.match(await connection.until((text) => text.endsWith('hello')), '200 OK');
    connection.reset();
  });

  t.test('a body in pieces is one body, valid for as long as the handler takes', async (t) => {
    const { port } = await serve(t, backend, {
      http: async (r) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return answer(r.body);
      },
    });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 12'));
    for (const piece of ['one ', 'two ', 'four']) {
      await connection.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.match(await connection.until((text) => text.endsWith('one two four')), '200 OK');
    connection.reset();
  });

  t.test('chunks split anywhere are one body', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(r.body) });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked'));
    for (const piece of ['5\r', '\nhel', 'lo\r\n', '6\r\n world', '\r\n0\r\n', '\r\n']) {
      await connection.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.match(await connection.until((text) => text.endsWith('hello world')), '200 OK');
    connection.reset();
  });

  t.test('POST without a body has an empty one', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`${r.body.length}.`) });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 0'));
    t.match(await connection.until((text) => text.endsWith('.')), /\r\n0\.$/);
    connection.reset();
  });

  t.test('GET has no body, whatever is sent with it', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => answer(`<${r.body.length}>`) });
    const connection = await RawConnection.open(port);
    await connection.send(head('GET /1 HTTP/1.1', 'Host: x', 'Content-Length: 5') + 'hello');
    await connection.until((text) => text.endsWith('<0>'));
    await connection.send(head('GET /2 HTTP/1.1', 'Host: x'));
    await connection.until((text) => text.match(/<0>/g)?.length === 2);
    t.strictSame(statuses(connection.text), [200, 200]);
    connection.reset();
  });

  t.test('a body that does not come in time is 408, and the connection is closed', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable, limits: { bodyDeadlineMs: 30 } });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 10') + 'abc');
    await connection.closed;
    t.strictSame(statuses(connection.text), [408]);
    t.match(connection.text, 'TOO_SLOW');
  });

  t.test('an answer may take longer than its body may', async (t) => {
    const { port } = await serve(t, backend, {
      http: (r) => new Promise((resolve) => setTimeout(resolve, 60, answer(r.body))),
      limits: { bodyDeadlineMs: 30 },
    });
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 3', 'Connection: close') + 'abc');
    await connection.until((text) => text.endsWith('abc'));
    t.strictSame(statuses(connection.text), [200]);
    connection.reset();
  });

  t.test('two lengths are refused: two readers could disagree on where the body ends', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable });
    for (const method of ['POST', 'GET', 'HEAD', 'OPTIONS']) {
      for (const body of ['', 'abc', 'abcd']) {
        const connection = await RawConnection.open(port);
        const lengths = ['Content-Length: 3', 'Content-Length: 4'];
        await connection.send(head(`${method} / HTTP/1.1`, 'Host: x', ...lengths) + body);
        await connection.closed;
        t.strictSame(statuses(connection.text), [400], `${method} ${body}`);
      }
    }
  });

  t.test('nothing that follows two lengths is read as a request', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable });
    for (const method of ['POST', 'GET', 'HEAD', 'OPTIONS']) {
      const connection = await RawConnection.open(port);
      await connection.send(head(`${method} / HTTP/1.1`, 'Host: x', 'Content-Length: 0', 'Content-Length: 0'));
      await connection.until((text) => text.endsWith('\r\n\r\n') || text.includes('repeated'));
      await connection.send(head('GET /next HTTP/1.1', 'Host: x'));
      await connection.closed;
      t.strictSame(statuses(connection.text), [400], method);
    }
  });

  t.test('a length and chunks together are refused', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable });
    const connection = await RawConnection.open(port);
    const both = head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 3', 'Transfer-Encoding: chunked');
    await connection.send(`${both}0\r\n\r\n`);
    await connection.closed;
    t.notMatch(statuses(connection.text), [200]);
  });

  t.test('a refusal that throws is a 500', async (t) => {
    const { url, faults } = await serve(t, backend, {
      faults: 'expected',
      refuseBody: () => {
        throw new Error('refusing failed');
      },
    });
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(2000) });
    t.equal(response.status, 500);
    t.match(faults, [{ message: 'refusing failed' }]);
  });

  t.test('a client that goes away before its body came never reaches the handler', async (t) => {
    const { port, url } = await serve(t, backend, {
      http: (r) => (r.method === 'POST' ? unreachable() : answer('alive')),
      limits: { bodyDeadlineMs: 30 },
    });
    for (const piece of ['POST / HT', head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 10'), 'hal']) {
      const connection = await RawConnection.open(port);
      await connection.send(
        piece.startsWith('POST') ? piece : head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 9') + piece,
      );
      connection.reset();
      await connection.closed;
    }
    // Past the deadline that those bodies had: it must not answer into what is gone.
    await new Promise((resolve) => setTimeout(resolve, 60));
    t.equal(await (await fetch(url)).text(), 'alive');
  });

  t.test('a client that leaves before its answer aborts the request, and its answer is dropped', async (t) => {
    let began = (): void => undefined;
    let finish: (response: NetResponse) => void = () => undefined;
    const { port, url } = await serve(t, backend, {
      http: (r) => {
        if (r.method === 'GET') return answer('alive');
        return new Promise<NetResponse>((resolve) => {
          finish = resolve;
          began();
          const look = setInterval(() => {
            if (!r.aborted) return;
            clearInterval(look);
            resolve(answer('to nobody'));
          }, 1);
        });
      },
    });
    for (const leave of ['reset', 'end'] as const) {
      const underWay = new Promise<void>((resolve) => (began = resolve));
      const connection = await RawConnection.open(port);
      await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 2') + 'ab');
      await underWay;
      if (leave === 'reset') connection.reset();
      else connection.socket.destroy();
      await connection.closed;
      t.equal(await (await fetch(url)).text(), 'alive');
    }
    finish(answer('again'));
  });
});
