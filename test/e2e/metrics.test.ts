import { on, once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { Metrics, serveMetrics } from '../../src/metrics/metrics.js';
import { FeedClient } from './feed-client.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { until } from '../until.js';

const metrics = new Metrics();
const SOCKETS = 3;
const running = await startTestService({ metrics, limits: { wsConnectionsPerAddress: SOCKETS } });
t.teardown(() => running.stop());
const server = await serveMetrics(metrics, '127.0.0.1', 0, { metricsConnections: 16, httpIdleMs: 10_000 });
t.teardown(() => server.close());
const url = `http://127.0.0.1:${server.port}`;
const { chain, httpUrl, wsUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool, other] = chain.pools;
const [, maker] = chain.accounts;
if (!pool || !other || !maker) throw new Error('The local chain lacks pools or accounts');

/** Samples by name and labels, such as `quotebook_orders{state="ask"}`. */
async function scrape(): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

await t.test('what the service does is measured', async (t) => {
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } });
  const quote = await signQuote(maker.privateKey, pool);
  await rest.post('/quotes', [quote]);
  await rest.post('/quotes', []);
  t.match(await socket.next(), { type: 'POST_QUOTE' });
  const samples = await scrape();
  const is = (name: string, value: number): void => {
    t.equal(samples.get(name), value, name);
  };
  const isPositive = (name: string): void => {
    t.ok((samples.get(name) ?? 0) > 0, name);
  };
  is('quotebook_orders{state="ask"}', 1);
  is('quotebook_orders{state="bid"}', 0);
  is('quotebook_events_total{type="QUOTE_POSTED"}', 1);
  is('quotebook_http_request_seconds_count{method="POST",route="/quotes",status="201"}', 1);
  is('quotebook_http_request_seconds_count{method="POST",route="/quotes",status="400"}', 1);
  is('quotebook_sockets', 1);
  const { backend, library } = running.service;
  const { version, source } = library;
  is(`quotebook_network_info{backend="${backend}",version="${version}",source="${source}"}`, 1);
  is('quotebook_socket_messages_total', 2);
  is('quotebook_publications_total', 1);
  isPositive('quotebook_event_to_socket_seconds_count');
  is('quotebook_publication_seconds_count{result="answered"}', 1);
  is('quotebook_slowest_reader_bytes', 0);
  is('quotebook_ready', 1);
  is('quotebook_chain_stale{chain="settlement"}', 0);
  is('quotebook_chain_lag_blocks{chain="stream"}', 0);
  isPositive('quotebook_pools');
  isPositive('quotebook_wallet_balance_gwei{chain="settlement"}');
  isPositive('quotebook_wallet_balance_gwei{chain="stream"}');
  isPositive('quotebook_commit_seconds_count');
  isPositive('quotebook_committed_records_total');
  isPositive('quotebook_published_bytes_total');
  isPositive('quotebook_chain_head_block{chain="settlement"}');
  isPositive('quotebook_rpc_requests_total{chain="settlement",method="eth_getLogs",outcome="answered"}');
  t.ok(samples.has('nodejs_eventloop_lag_p99_seconds'));
  socket.end();
});

await t.test('messages to readers of a subprotocol count like messages to plain ones', async (t) => {
  const before = await scrape();
  const reader = await FeedClient.open(wsUrl, apiKey);
  reader.follow('QUOTES', { poolAddress: other.poolAddress });
  const isTold = (): boolean => reader.messages.some(({ type }) => type === 'POST_QUOTE');
  await reader.until(() => reader.messages.some(({ type }) => type === 'QUOTES_SNAPSHOT'));
  await rest.post('/quotes', [await signQuote(maker.privateKey, other)]);
  await reader.until(isTold);
  const samples = await scrape();
  const grown = (name: string): number => (samples.get(name) ?? 0) - (before.get(name) ?? 0);
  t.equal(grown('quotebook_publications_total'), 1);
  t.ok(grown('quotebook_published_bytes_total') > 100);
  reader.break();
});

await t.test('calls over sockets are measured like requests', async (t) => {
  const ws = new WebSocket(wsUrl, 'quotebook.v2.json');
  await once(ws, 'open');
  const answers = on(ws, 'message');
  ws.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
  ws.send(JSON.stringify({ type: 'POST_QUOTES', body: [], dryRun: true }));
  for await (const [data] of answers) if (String(data).includes('"ERROR"')) break;
  const labels = '{call="DRY_RUN",outcome="invalid_parameter"}';
  t.equal((await scrape()).get(`quotebook_socket_call_seconds_count${labels}`), 1);
  ws.close();
});

await t.test("a close code of a client's own is no series of its own", async (t) => {
  for (const code of [1000, 4000, 4998]) {
    const ws = new WebSocket(wsUrl);
    await once(ws, 'open');
    ws.send('{}');
    await once(ws, 'message');
    ws.close(code);
    await once(ws, 'close');
  }
  const samples = await scrape();
  const codes = [...samples.keys()].filter((name) => name.startsWith('quotebook_socket_closes_total'));
  t.ok(codes.includes('quotebook_socket_closes_total{code="1000"}'));
  t.equal(samples.get('quotebook_socket_closes_total{code="other"}'), 2);
  t.notMatch(codes.join(), /4000|4998/);
});

await t.test('a socket that is not let in leaves a trace', async (t) => {
  // Those of the tests before may be on their way out.
  await until(async () => (await scrape()).get('quotebook_sockets') === 0);
  const open: SocketClient[] = [];
  for (let i = 0; i < SOCKETS; i++) open.push(await SocketClient.open(wsUrl));
  await t.rejects(SocketClient.open(wsUrl), { message: /429/ });
  t.equal((await scrape()).get('quotebook_socket_refusals_total{status="429"}'), 1);
  for (const socket of open) socket.end();
});

await t.test('a body that is refused before a route sees it is measured like any answer', async (t) => {
  const body = 'x'.repeat(2 << 20);
  const refused = [
    { path: '/quotes', headers: { 'x-apikey': apiKey }, route: '/quotes', status: 413 },
    { path: '/quotes', headers: {}, route: '/quotes', status: 401 },
    { path: '/nowhere', headers: {}, route: 'other', status: 404 },
  ];
  for (const { path, headers, status } of refused) {
    t.equal((await fetch(`${httpUrl}${path}`, { method: 'POST', headers, body })).status, status);
  }
  const samples = await scrape();
  for (const { route, status } of refused) {
    t.equal(samples.get(`quotebook_http_request_seconds_count{method="POST",route="${route}",status="${status}"}`), 1);
  }
});

await t.test('paths that are no routes share one name', async (t) => {
  await rest.get('/nowhere');
  await rest.get('/nowhere-else');
  const samples = await scrape();
  t.equal(samples.get('quotebook_http_request_seconds_count{method="GET",route="other",status="404"}'), 2);
});

await t.test('the metrics are at /metrics alone, and not where the service is', async (t) => {
  t.equal((await fetch(`${url}/`)).status, 404);
  t.equal((await rest.get('/metrics')).status, 404);
});
