import t from 'tap';
import { openServer } from '../../src/net/open-server.js';
import { loadUws } from '../../src/net/uws-native.js';
import { limits, quietSockets } from './serving.js';

// Makes the package hand out its JavaScript stand-in, as it does by itself where its binary does not load. It is loaded
// once a process, so this has a file of its own.
process.env.UWS_USE_FALLBACK = '1';
const warn = console.warn;
const announce = console.log;
console.log = () => undefined;
const load = loadUws(limits.headBytes);
console.log = announce;

const options = {
  http: () => ({ status: 200, headers: {}, body: '' }),
  socketPath: '/',
  sockets: quietSockets,
  refuseBody: () => ({ status: 413, headers: {}, body: '' }),
  limits,
  onFault: () => undefined,
};

t.test('the JavaScript stand-in of uWebSockets.js is refused', async (t) => {
  t.match(load, { unavailable: /./ });
  t.equal(console.warn, warn, 'and the console is as it was');
});

t.test('auto then serves through node, and says why', async (t) => {
  const { server, uwsUnavailable } = openServer('auto', options);
  t.equal(server.backend, 'node');
  t.ok(uwsUnavailable);
  await server.close(1001, '');
});

t.test('and uWebSockets.js by name is an error', async (t) => {
  t.throws(() => openServer('uWebSockets.js', options), { message: /does not run here/ });
});
