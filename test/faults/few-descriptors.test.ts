import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { assertDocumentedBytes } from '../e2e/documented-bytes.js';
import { RestClient } from '../e2e/rest-client.js';
import { head, RawConnection, statuses } from '../net/raw-connection.js';
import { ServiceProcess } from './service-process.js';

const MAX_OPEN_FILES = 128;
const CONNECTIONS = 500;
const WATCHED_MS = 2_000;

t.setTimeout(120_000);

t.test(`a process that may have ${MAX_OPEN_FILES} files open lives through ${CONNECTIONS} connections`, async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  for (const backend of ['uWebSockets.js', 'node']) {
    const service = await ServiceProcess.prepare(chain, t.testdir(), { QUOTEBOOK_NET_BACKEND: backend });
    t.teardown(() => service.end('SIGKILL'));
    try {
      await service.start();
    } catch (error) {
      t.match(String(error), /uWebSockets/, `${backend} does not run on this version of Node.js`);
      continue;
    }
    service.limitOpenFiles(MAX_OPEN_FILES);
    const port = Number(new URL(service.httpUrl).port);
    const early = await RawConnection.open(port);
    const isAlive = async (connection: RawConnection): Promise<string> => {
      const answers = statuses(connection.text).length;
      await connection.send(head('GET /health HTTP/1.1', 'Host: x'));
      return connection.until((text) => statuses(text).length > answers);
    };
    await isAlive(early);
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => RawConnection.open(port).catch(() => null)),
    );
    const beforeMs = service.usage().cpuMs;
    await pause(WATCHED_MS);
    const usedMs = service.usage().cpuMs - beforeMs;
    t.ok(usedMs < WATCHED_MS / 4, `${backend}: it does not spin meanwhile, ${usedMs} ms of CPU in ${WATCHED_MS} ms`);
    t.strictSame(statuses(await isAlive(early)), [200, 200], `${backend}: who was connected is served meanwhile`);
    for (const connection of connections) connection?.reset();

    const taken = [early];
    while (taken.length < 2) {
      // For a moment yet nobody may listen, or may who comes be let go.
      const again = await RawConnection.open(port).catch(() => null);
      const answer = again && (await isAlive(again).catch(() => null));
      if (again === null || answer === null) await pause(10);
      else {
        t.strictSame(statuses(answer), [200], `${backend}: it takes connections again`);
        taken.push(again);
      }
    }
    for (const connection of taken) {
      assertDocumentedBytes(connection.received, ['GET /health', 'GET /health']);
      connection.reset();
    }
    const rest = new RestClient(service.httpUrl, service.apiKey);
    t.equal((await rest.get(`/orders?chainId=${chain.chainId}`)).status, 200, `${backend}: and answers for the book`);
    t.equal(await service.end('SIGTERM'), 0, `${backend}: and stops in order`);
  }
});
