import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { natsServers } from './nats-servers.js';

/**
 * Tests of the service that are run against a gateway, with an engine and a NATS server behind it. Others have a log,
 * an engine, keys or a wallet's metrics of their own in the process that serves.
 */
const SUITE = [
  [
    'REST',
    [
      'bad-input',
      'dry-run',
      'tickers-and-pages',
      'pools',
      'settlement',
      'vault-quotes',
      'oracles',
      'api-documents',
      'quote-history',
      'time-travel',
      'cover',
      'rfqs',
      'book-proof',
      'proven-takers',
      'withdrawals',
      'self-service',
      'account',
      'signed-quotes',
      'readable-orders',
      'exercise-annihilate',
    ],
  ],
  [
    'WebSocket in every form',
    ['quote-to-push', 'book-hash', 'coming-back', 'page-origins', 'behind-a-proxy', 'container-port'],
  ],
  ['the client library and the examples', ['client', 'examples', 'confirmations']],
] as const;

/** Each starts an engine, a gateway, a NATS server and two chains, and waits for most of its time. */
const SIDE_BY_SIDE = 3;

/** Of one file on a busy machine, seconds. */
const PATIENCE_S = 480;

/** Milliseconds that so many files may take. */
const limitOf = (files: number): number => Math.ceil(files / SIDE_BY_SIDE) * PATIENCE_S * 1_000;

t.setTimeout(SUITE.reduce((sum, [, names]) => sum + limitOf(names.length), 0));

/** Resolves to what failed; empty: nothing. */
async function runThroughGateway(name: string): Promise<string> {
  const file = fileURLToPath(new URL(`../e2e/${name}.test.js`, import.meta.url));
  const env = { ...process.env, QUOTEBOOK_TEST_THROUGH: 'gateway', TAP_TIMEOUT: `${PATIENCE_S}` };
  const child = spawn(process.execPath, [...process.execArgv, file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  // A file that is skipped, or has no tests, passes nothing.
  const passed = [...said.matchAll(/^ok \d+ (?!.*# SKIP)/gm)].length;
  if (code === 0 && passed > 0) return '';
  const at = said.search(/^ *not ok/m);
  return `${name} ended with ${code}: ${said.slice(Math.max(0, at), Math.max(0, at) + 4_000)}`;
}

t.before(async () => {
  // Fetches the server where it is missing, once for all.
  const ends: (() => Promise<void> | void)[] = [];
  await natsServers({ teardown: (end: () => Promise<void> | void) => void ends.push(end) }, { servers: 1 });
  for (const end of ends) await end();
});

for (const [what, names] of SUITE) {
  t.test(`${what}: what holds of one service holds of a gateway`, async (t) => {
    t.setTimeout(limitOf(names.length));
    const left = [...names];
    const run = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        t.equal(await runThroughGateway(name), '', name);
      }
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, run));
  });
}
