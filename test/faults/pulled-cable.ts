import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { limits } from '../../src/config/limits.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { Client } from '../net/socket-client.js';
import { ServiceProcess } from './service-process.js';

/**
 * Started by lost-link.test.ts in a network of its own. Packets to one of the loopback addresses there, and from it,
 * are dropped from some time on, and neither side hears of it: a cable is pulled.
 */
const PULLED = '127.0.0.2';
const METRICS_PORT = 9_100;
const GONE_MS = (limits.wsIdleSeconds + 10) * 1000;
const POST_EVERY_MS = 1_000;

function pullCable(): void {
  const rules = `ip saddr ${PULLED} drop; ip daddr ${PULLED} drop;`;
  const input = `table ip pulled { chain in { type filter hook input priority 0; ${rules} }; }`;
  execFileSync('nft', ['-f', '-'], { input });
}

async function openSockets(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
  return Number(/^quotebook_sockets (\d+)$/m.exec(text)?.[1]);
}

t.test('dead peers are closed, with and without messages to send', { timeout: 2 * GONE_MS }, async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const service = await ServiceProcess.prepare(chain, t.testdir(), { QUOTEBOOK_METRICS_PORT: String(METRICS_PORT) });
  t.teardown(() => service.end('SIGKILL'));
  await service.start();
  const [pool, quiet] = chain.pools;
  const maker = chain.accounts[1];
  if (!pool || !quiet || !maker) throw new Error('The local chain lacks pools or accounts');

  const follower = async ({ poolAddress }: typeof pool, localAddress: string): Promise<Client> => {
    const client = await Client.open(service.httpUrl.replace('http', 'ws'), [], { localAddress });
    t.teardown(() => client.ws.terminate());
    client.ws.send(JSON.stringify({ type: 'AUTH', apiKey: service.apiKey, body: null }));
    await client.has(1);
    const body = { chainId: String(chain.chainId), poolAddress };
    client.ws.send(JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body }));
    await client.has(2);
    return client;
  };
  const living = await follower(pool, '127.0.0.1');
  const told = await follower(pool, PULLED);
  const silent = await follower(quiet, PULLED);
  t.equal(await openSockets(), 3, 'all are there');

  pullCable();
  const startMs = performance.now();
  const rest = new RestClient(service.httpUrl, service.apiKey);
  let posted = 0;
  let passedMs = 0;
  let open = 3;
  while (open > 1 && passedMs < GONE_MS) {
    await rest.post('/quotes', [await signQuote(maker.privateKey, pool)]);
    posted += 1;
    await living.has(2 + posted);
    await pause(POST_EVERY_MS);
    open = await openSockets();
    passedMs = Math.round(performance.now() - startMs);
  }
  t.equal(open, 1, `both are gone ${passedMs} ms after their link, ${posted} quotes later`);
  t.equal(told.received.length, 2, 'nothing reached the one in the busy pool');
  t.equal(silent.received.length, 2, 'nor the one in a quiet pool');
  t.equal(living.ws.readyState, living.ws.OPEN, 'the one with a link stays open');
});
