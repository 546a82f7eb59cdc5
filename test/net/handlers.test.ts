import t from 'tap';
import { head, RawConnection, statuses, upgradeHead } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

eachBackend(t, (t, backend) => {
  const MOST = 20;

  for (const method of ['GET', 'POST']) {
    t.test(`who sends ${method} by the thousand at once is cut off`, async (t) => {
      let asked = 0;
      const answer = () => ({ status: 200, headers: {}, body: String(++asked) });
      const { port } = await serve(t, backend, { http: answer, limits: { requestsPerTurn: MOST } });
      const connection = await RawConnection.open(port);
      await connection.send(head(`${method} / HTTP/1.1`, 'Host: x', 'Content-Length: 0').repeat(2_000));
      await connection.closed;
      // The kernel may hand them over in several pieces.
      t.ok(asked >= 1 && asked <= 5 * MOST, `${asked} were answered`);
    });
  }

  t.test('of many connections at once each has its answer', async (t) => {
    const { port } = await serve(t, backend, { limits: { requestsPerTurn: 4 } });
    const connections = await Promise.all(Array.from({ length: 40 }, () => RawConnection.open(port)));
    for (const { socket } of connections) socket.write(head('GET / HTTP/1.1', 'Host: x'));
    for (const connection of connections) {
      t.strictSame(statuses(await connection.until((text) => text.endsWith('ok'))), [200]);
      connection.reset();
    }
  });

  t.test('a connection whose upgrade is refused is closed', async (t) => {
    let asked = 0;
    const upgrade = () => ({ status: 429, headers: {}, body: String(++asked) });
    const { port } = await serve(t, backend, { sockets: { ...quietSockets, upgrade } });
    const connection = await RawConnection.open(port);
    await connection.send(upgradeHead().repeat(1_000));
    await connection.closed;
    t.equal(asked, 1);
  });
});
