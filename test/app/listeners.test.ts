import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { startTestService } from '../e2e/running-service.js';
import { SocketClient } from '../e2e/socket-client.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());

/** Listens until it is closed. */
async function listening(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}

await t.test('where its port is taken the service does not start, and leaves the main port free', async (t) => {
  const [free, taken] = [await listening(), await listening()];
  await free.close();
  await t.rejects(startTestService({ chain, port: free.port, containerPort: taken.port }));
  await t.rejects(fetch(`http://127.0.0.1:${free.port}/ready`), { cause: { code: 'ECONNREFUSED' } });
  await taken.close();
});

await t.test('without the setting there is one listener', async (t) => {
  const running = await startTestService({ chain });
  t.teardown(() => running.stop());
  t.equal(running.service.containerPort, null);
});

await t.test('a stop closes the sockets of both ports with 1012', async (t) => {
  const running = await startTestService({ chain, containerPort: 0 });
  const { wsUrl, containerAt } = running;
  const sockets = [await SocketClient.open(wsUrl), await SocketClient.open(`ws://${containerAt}`)];
  const closed = Promise.all(sockets.map((socket) => socket.closed()));
  await running.stop();
  t.strictSame(await closed, [1012, 1012]);
  await t.rejects(fetch(`http://${containerAt}/ready`), { cause: { code: 'ECONNREFUSED' } });
});
