import t from 'tap';
import { WebSocket } from 'ws';
import { documentedFetch } from './documented-network.js';
import { startTestService } from './running-service.js';

const GOOD = 'https://good.example';
const OTHER = 'https://other.example';

const allowed = (headers: Headers): string | null => headers.get('access-control-allow-origin');

/** The status of a handshake by a page of that origin. */
async function handshake(wsUrl: string, origin: string): Promise<number | undefined> {
  const socket = new WebSocket(wsUrl, { origin });
  const status = new Promise<number | undefined>((resolve) => {
    socket.once('upgrade', ({ statusCode }) => resolve(statusCode));
    socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode));
  });
  socket.on('error', () => undefined);
  const told = await status;
  socket.terminate();
  return told;
}

t.test('pages of the origins that are set may read answers and open sockets, others may not', async (t) => {
  const running = await startTestService({ corsOrigins: [GOOD] });
  t.teardown(() => running.stop());
  const { httpUrl, wsUrl, apiKey, chain } = running;
  const paths = ['/health', `/orders?chainId=${chain.chainId}`, '/nowhere'];
  for (const path of paths) {
    for (const [origin, expected] of [
      [GOOD, GOOD],
      [OTHER, null],
      [`${GOOD}.evil.example`, null],
      ['null', null],
    ] as const) {
      const { headers } = await documentedFetch(httpUrl + path, { headers: { origin, 'x-apikey': apiKey } });
      t.equal(allowed(headers), expected, `${path} to ${origin}`);
      t.match(headers.get('vary'), /origin/i, 'no cache gives one what another was answered');
      t.equal(headers.get('access-control-allow-credentials'), null);
    }
  }
  const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } };
  for (const [origin, expected] of [
    [GOOD, GOOD],
    [OTHER, null],
  ] as const) {
    const headers = { ...preflight.headers, origin };
    const answer = await documentedFetch(`${httpUrl}/quotes`, { ...preflight, headers });
    t.strictSame([answer.status, allowed(answer.headers)], [204, expected]);
  }
  t.equal(await handshake(wsUrl, GOOD), 101);
  t.equal(await handshake(wsUrl, OTHER), 403);
});

t.test('where none are set, all may', async (t) => {
  const running = await startTestService();
  t.teardown(() => running.stop());
  const { headers } = await documentedFetch(`${running.httpUrl}/health`, { headers: { origin: OTHER } });
  t.equal(allowed(headers), '*');
  t.equal(headers.get('access-control-allow-credentials'), null);
  t.equal(await handshake(running.wsUrl, OTHER), 101);
});
