import t from 'tap';
import type { NetResponse } from '../../src/net/net.js';
import { head, RawConnection } from './raw-connection.js';
import { eachBackend, serve } from './serving.js';

const IDLE_MS = 4_000;
/** uWebSockets.js 20.30 has a time of its own. */
const IDLE_MS_OF_20_30 = 10_000;
/** Of the looks at the clock. */
const LOOK_MS = 5_000;

eachBackend(t, (t, backend) => {
  const idleMs = backend.documented === 'uWebSockets.js 20.30' ? IDLE_MS_OF_20_30 : IDLE_MS;

  t.test('a connection without a whole head or between requests is closed, however it feeds', async (t) => {
    const { port } = await serve(t, backend, { limits: { httpIdleMs: IDLE_MS } });
    const openMs = async (first: string, more: string): Promise<number> => {
      const connection = await RawConnection.open(port);
      const startMs = performance.now();
      connection.socket.write(first);
      const feeding = setInterval(
        () => connection.socket.writable && more !== '' && connection.socket.write(more),
        250,
      );
      await connection.closed;
      clearInterval(feeding);
      return performance.now() - startMs;
    };
    const begun = 'GET / HTTP/1.1\r\nHost: x\r\n';
    const connections = {
      silent: openMs(begun, ''),
      'a line at a time': openMs(begun, 'a: b\r\n'),
      'a byte at a time': openMs(`${begun}a: `, 'b'),
      'after an answer': openMs(head('GET / HTTP/1.1', 'Host: x'), ''),
    };
    for (const [name, open] of Object.entries(connections)) {
      const ms = await open;
      t.ok(ms < idleMs + LOOK_MS, `${name}: after ${(ms / 1000).toFixed(1)} s`);
    }
  });

  t.test('a connection whose answer takes longer is waited for', async (t) => {
    const http = async (): Promise<NetResponse> => {
      await new Promise((resolve) => setTimeout(resolve, idleMs + LOOK_MS));
      return { status: 200, headers: {}, body: 'late' };
    };
    const { url } = await serve(t, backend, { http, limits: { httpIdleMs: IDLE_MS } });
    const asked = [{}, { method: 'POST', body: 'x' }].map(async (init) => (await fetch(url, init)).text());
    t.strictSame(await Promise.all(asked), ['late', 'late']);
  });
});
