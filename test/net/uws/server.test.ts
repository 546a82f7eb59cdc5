import { mkdir, writeFile } from 'node:fs/promises';
import Module from 'node:module';
import path from 'node:path';
import t from 'tap';
import { openServer } from '../../../src/net/open-server.js';
import { loadUws } from '../../../src/net/uws/server.js';
import { limits, quietSockets } from '../serving.js';

const options = {
  http: () => ({ status: 200, headers: {}, body: '' }),
  socketPath: '/',
  sockets: quietSockets,
  refuseBody: () => ({ status: 413, headers: {}, body: '' }),
  limits,
  onFault: () => undefined,
};

const directory = t.testdir();

/** A package in a directory of its own. `code`: of what it exports. */
async function packageWith(name: string, code: string, version = '20.99.1'): Promise<string> {
  const dir = path.join(directory, name);
  await mkdir(dir);
  await writeFile(path.join(dir, 'package.json'), JSON.stringify({ name, version, main: 'index.js' }));
  await writeFile(path.join(dir, 'index.js'), code);
  return dir;
}

/** A bound function looks like native code, as the library's `App` does. */
const NATIVE = 'module.exports = { App: (() => undefined).bind(null), mark: __dirname }';
const STAND_IN = "console.warn('It falls back.\\nError: no binary'); module.exports = { App: () => undefined }";

interface Resolver {
  _resolveFilename: (request: string, ...rest: unknown[]) => string;
}

/** Packages as they are installed, by name, while `body` runs; any other that the loader knows is absent. */
async function withPackages(installed: Readonly<Record<string, string>>, body: () => Promise<void>): Promise<void> {
  const resolver = Module as unknown as Resolver;
  const real = resolver._resolveFilename;
  resolver._resolveFilename = (request, ...rest) => {
    if (!/^(uWebSockets\.js|uws-native|uws-node20)$/.test(request)) return real(request, ...rest);
    const dir = installed[request];
    if (dir === undefined) throw Object.assign(new Error(`no ${request}`), { code: 'MODULE_NOT_FOUND' });
    return real(dir, ...rest);
  };
  try {
    await body();
  } finally {
    resolver._resolveFilename = real;
  }
}

t.test('what is loaded is the first of the packages whose native code runs', async (t) => {
  const broken = await packageWith('broken', "throw new Error('GLIBC_2.38 is missing\\n more of it')");
  const standIn = await packageWith('stand-in', STAND_IN);
  const official = await packageWith('official', NATIVE, '20.52.0');
  const native = await packageWith('native', NATIVE, '20.57.0');
  const old = await packageWith('old', NATIVE, '20.30.0-unofficial.0');
  const { warn } = console;
  for (const [installed, load] of [
    [{ 'uWebSockets.js': official, 'uws-native': native, 'uws-node20': old }, ['uWebSockets.js', '20.52.0']],
    [{ 'uws-native': native, 'uws-node20': old }, ['uws-native', '20.57.0']],
    [{ 'uws-native': broken, 'uws-node20': old }, ['uws-node20', '20.30.0']],
    [{ 'uWebSockets.js': standIn, 'uws-native': native }, ['uws-native', '20.57.0']],
  ] as const) {
    await withPackages(installed, async () => {
      const [source, version] = load;
      t.match(loadUws(limits.headBytes, null, new Map()), { source, version });
    });
  }
  const other = await packageWith('other-stand-in', STAND_IN);
  await withPackages({ 'uws-native': broken, 'uws-node20': other }, async () => {
    t.strictSame(loadUws(limits.headBytes, null, new Map()), {
      unavailable: 'uWebSockets.js: not installed; uws-native: GLIBC_2.38 is missing; uws-node20: no binary',
    });
  });
  t.equal(console.warn, warn, 'and the console is as it was');
});

t.test('a path is taken before all packages, and alone', async (t) => {
  const own = await packageWith('own', NATIVE, '20.60.0');
  t.match(loadUws(limits.headBytes, own), { source: own, version: '20.60.0', module: { mark: own } });
  const file = path.join(own, 'index.js');
  t.match(loadUws(limits.headBytes, file), { source: file, version: '20.60.0' }, 'or a file');
  const absent = path.join(directory, 'absent');
  for (const netBackend of ['auto', 'uWebSockets.js'] as const) {
    t.throws(() => openServer({ netBackend, uwsPath: absent }, options), {
      message: `uWebSockets.js does not run here: ${absent}: not installed`,
    });
  }
});

t.test(
  'without any of them auto serves through node and says why, and uWebSockets.js by name is an error',
  async (t) => {
    await withPackages({}, async () => {
      const { server, uwsUnavailable } = openServer({ netBackend: 'auto' }, options);
      t.equal(server.backend, 'node');
      t.strictSame(server.library, { version: process.versions.node, source: 'node:http and ws' });
      t.match(uwsUnavailable, 'uws-native: not installed');
      await server.close(1001, '');
      t.throws(() => openServer({ netBackend: 'uWebSockets.js' }, options), { message: /does not run here/ });
    });
  },
);
