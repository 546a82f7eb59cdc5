import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { ONE, signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

t.test('a start while no chain answers waits for them, and goes on once they do', async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  proxy.trick = () => 'CUT';
  const endpoint = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
  const profile = { ...chain.profile, settlement: endpoint, stream: endpoint };
  const service = await ServiceProcess.prepare({ ...chain, profile }, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const started = service.start();
  started.catch(() => undefined);
  const tries = 12; // three times the tries of one request
  while (proxy.requests.length < tries) await new Promise((resolve) => setTimeout(resolve, 10));
  proxy.trick = () => 'PASS';
  await started;
  t.equal((await new RestClient(service.httpUrl, service.apiKey).get('/ready')).status, 200);
  t.equal(await service.end('SIGTERM'), 0);

  proxy.trick = () => 'CUT';
  const before = proxy.requests.length;
  const unfinished = service.start();
  unfinished.catch(() => undefined);
  while (proxy.requests.length < before + tries) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(await service.end('SIGTERM'), 0, 'a signal ends the waiting in order');
  await t.rejects(unfinished);
});

t.test('a service that is ended before it has read the chains does not say that it is ready', async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const dataDir = t.testdir();
  const readyFile = path.join(dataDir, 'ready.json');
  let unread = 0;
  proxy.trick = ({ method }) => {
    // Asked before anything else: a run before this one has left its file.
    if (method === 'eth_chainId') writeFileSync(readyFile, '{}');
    if (method !== 'eth_getLogs') return 'PASS';
    unread += 1;
    return 'CUT';
  };
  const endpoint = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
  const profile = { ...chain.profile, settlement: endpoint, stream: endpoint };
  const service = await ServiceProcess.prepare({ ...chain, profile }, dataDir, { QUOTEBOOK_LOG_LEVEL: 'info' });
  t.teardown(() => service.end('SIGKILL'));
  service.start().catch(() => undefined);
  while (unread < 4) await new Promise((resolve) => setTimeout(resolve, 10));
  // It listens while it reads: only its text log tells where.
  const [, port] = /"port":(\d+).*"msg":"listening"/.exec(service.said) ?? [];
  const { status, body } = await new RestClient(`http://127.0.0.1:${port}`, service.apiKey).get('/ready');
  t.equal(status, 503);
  t.match(body.reasons, ['the chains have not been read to their heads yet']);
  t.notOk(existsSync(readyFile), 'what another run left is gone');
  t.equal(await service.end('SIGTERM'), 0);
  t.notOk(existsSync(readyFile), 'and nothing was written in its place');
});

t.test('until both chains have been read since the start, answers say so and nothing is published', async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const [pool] = chain.pools;
  const [, maker] = chain.accounts;
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
  let unread = 0;
  proxy.trick = ({ method }) => {
    if (method !== 'eth_getLogs') return 'PASS';
    unread += 1;
    return 'CUT';
  };
  const profile = { ...chain.profile, stream: { ...chain.profile.stream, rpcUrls: [proxy.url], wsUrl: null } };
  const service = await ServiceProcess.prepare({ ...chain, profile }, t.testdir(), { QUOTEBOOK_LOG_LEVEL: 'info' });
  t.teardown(() => service.end('SIGKILL'));
  const started = service.start();
  started.catch(() => undefined);
  while (unread < 4) await new Promise((resolve) => setTimeout(resolve, 10));
  const [, port] = /"port":(\d+).*"msg":"listening"/.exec(service.said) ?? [];
  const rest = new RestClient(`http://127.0.0.1:${port}`, service.apiKey);
  const why = 'the chains have not been read to their heads yet';
  const read = await rest.get(`/orders?chainId=${chain.chainId}`);
  t.equal(read.status, 200);
  t.equal(read.headers.get('x-stale'), why);
  const quote = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
  const refused = await rest.post('/quotes', [quote]);
  t.match(refused, { status: 503, body: { message: why } });
  t.ok(refused.headers.get('retry-after'));
  proxy.trick = () => 'PASS';
  await started;
  t.equal((await rest.get(`/orders?chainId=${chain.chainId}`)).headers.get('x-stale'), null);
  t.equal((await rest.post('/quotes', [quote])).status, 201);
});
