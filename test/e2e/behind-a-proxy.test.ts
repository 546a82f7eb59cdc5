import t from 'tap';
import { head, RawConnection, statuses, upgradeHead } from '../net/raw-connection.js';
import { startTestService } from './running-service.js';

const PROXY = '127.0.0.1';
const PER_ADDRESS = 2;

for (const netBackend of ['auto', 'node'] as const) {
  t.test(`limits by address hold for each client of a trusted proxy (${netBackend})`, async (t) => {
    const running = await startTestService({
      netBackend,
      trustedProxies: [PROXY],
      limits: { wsConnectionsPerAddress: PER_ADDRESS, unknownKeysPerMinute: PER_ADDRESS },
    });
    t.teardown(() => running.stop());
    const port = Number(new URL(running.httpUrl).port);
    const open: RawConnection[] = [];
    t.teardown(() => open.forEach((connection) => connection.reset()));
    /** The status that a client is answered with: one that the proxy appends to what the client sent. */
    const status = async (request: string, from: string): Promise<number | undefined> => {
      const connection = await RawConnection.open(port, PROXY, from);
      open.push(connection);
      await connection.send(request);
      return statuses(await connection.until((text) => text.includes('\r\n\r\n')))[0];
    };
    const socketOf = (client: string, forged: string, from = PROXY) =>
      status(upgradeHead(`X-Forwarded-For: ${forged}, ${client}`), from);
    const guessOf = (client: string, forged: string, from = PROXY) => {
      const lines = ['Host: x', 'x-apikey: wrong', `X-Forwarded-For: ${forged}, ${client}`];
      return status(head('GET /orders HTTP/1.1', ...lines), from);
    };

    for (let i = 0; i < PER_ADDRESS; i++) {
      t.equal(await socketOf('203.0.113.7', `198.51.100.${i}`), 101);
      t.equal(await guessOf('203.0.113.7', `198.51.100.${i}`), 401);
    }
    t.equal(await socketOf('203.0.113.7', '198.51.100.9'), 429, 'a forged hop makes nobody another client');
    t.equal(await guessOf('203.0.113.7', '198.51.100.9'), 429);
    t.equal(await socketOf('203.0.113.8', '203.0.113.7'), 101, 'and takes no place of the one that it names');
    t.equal(await guessOf('203.0.113.8', '203.0.113.7'), 401);
    t.equal(await socketOf('203.0.113.7', '203.0.113.7', '127.0.0.2'), 101, 'only the proxy is believed');
    t.equal(await guessOf('203.0.113.7', '203.0.113.7', '127.0.0.2'), 401);
  });
}
