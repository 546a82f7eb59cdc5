import t from 'tap';
import { RequestTurnBudget } from '../../src/net/handlers.js';
import { head, RawConnection, statuses, upgradeHead } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test('in each turn there is room for so many, those that wait before all others', async (t) => {
  const turns = new RequestTurnBudget(2);
  const begun: string[] = [];
  t.strictSame([turns.take(), turns.take(), turns.take()], [true, true, false]);
  for (const name of ['a', 'b', 'c']) turns.wait(() => begun.push(name));
  t.strictSame(begun, []);
  await turn();
  t.strictSame(begun, ['a', 'b']);
  t.notOk(turns.take());
  await turn();
  t.strictSame(begun, ['a', 'b', 'c']);
  t.strictSame([turns.take(), turns.take()], [true, false]);
});

t.test('the count goes on over turns until half of it is used, then it begins anew', async (t) => {
  const turns = new RequestTurnBudget(4);
  t.ok(turns.take());
  await turn();
  t.strictSame([turns.take(), turns.take(), turns.take(), turns.take()], [true, true, true, false]);
  await turn();
  t.strictSame([turns.take(), turns.take(), turns.take(), turns.take(), turns.take()], [true, true, true, true, false]);
});

t.test('who comes in a turn that those before have used up waits for the next', async (t) => {
  const turns = new RequestTurnBudget(2);
  const begun: string[] = [];
  turns.take();
  turns.take();
  for (const name of ['a', 'b']) turns.wait(() => begun.push(name));
  await turn();
  t.strictSame(begun, ['a', 'b']);
  t.notOk(turns.take());
  turns.wait(() => begun.push('c'));
  await turn();
  t.strictSame(begun, ['a', 'b', 'c']);
});

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
