import t from 'tap';
import { openServer } from '../../src/net/open-server.js';
import { loadUws } from '../../src/net/uws/server.js';
import { limits, quietSockets } from './serving.js';

const options = {
  http: () => ({ status: 200, headers: {}, body: '' }),
  socketPath: '/',
  sockets: quietSockets,
  refuseBody: () => ({ status: 413, headers: {}, body: '' }),
  limits,
  onFault: () => undefined,
};

const load = loadUws(limits.headBytes);
const found = 'module' in load ? `uWebSockets.js ${load.version} (${load.source})` : 'node:http and ws';
t.comment(`Node.js ${process.version} serves by ${found}`);

/** What .ci/run has prepared this Node.js for; empty where it could not. */
const wanted = process.env.TEST_UWS ?? '';
if (wanted !== '') t.match(found, `uWebSockets.js ${wanted}.`, 'the native library loads');

t.test('node can be asked for anywhere', async (t) => {
  const { server, uwsUnavailable } = openServer({ netBackend: 'node' }, options);
  t.equal(server.backend, 'node');
  t.equal(uwsUnavailable, undefined);
  await server.close(1001, '');
});

t.test('auto takes uWebSockets.js where it runs, and says why where it does not', async (t) => {
  const { server, uwsUnavailable } = openServer({ netBackend: 'auto' }, options);
  if ('module' in load) {
    t.equal(server.backend, 'uWebSockets.js');
    t.strictSame(server.library, { version: load.version, source: load.source });
    t.match(load.version, /^20\.\d+\.\d+$/);
    t.equal(uwsUnavailable, undefined);
  } else {
    t.equal(server.backend, 'node');
    t.ok(uwsUnavailable);
    t.equal(uwsUnavailable, load.unavailable);
  }
  await server.close(1001, '');
});

t.test('uWebSockets.js by name is that or an error', async (t) => {
  if ('module' in load) {
    const { server } = openServer({ netBackend: 'uWebSockets.js' }, options);
    t.equal(server.backend, 'uWebSockets.js');
    await server.close(1001, '');
  } else {
    t.throws(() => openServer({ netBackend: 'uWebSockets.js' }, options), { message: /does not run here: ./ });
  }
});
