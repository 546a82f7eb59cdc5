import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import type { ClusterStatus } from '../../src/app/cluster-admin.js';
import { signRestore, signWithdrawal } from '../../src/client/sign-withdrawal.js';
import { limits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { signQuote, type WireQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { SocketClient } from '../e2e/socket-client.js';
import { untilAnswer } from '../until.js';
import { ClusterProcess } from './cluster-process.js';

/** The goal is of an idle machine; a busy one gets more time here. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const REVOKED_MS = 5_000;

const settingsFile = path.join(t.testdir({ 'quotebook.json': '{"metricsPort":0}' }), 'quotebook.json');
// Members say which ports their metrics have.
process.env.QUOTEBOOK_LOG_LEVEL = 'info';
const cluster = await ClusterProcess.start(['--config', settingsFile]);
t.teardown(() => cluster.remove());
t.teardown(() => cluster.stop());
/** What the members wrote until they were ready. */
const started = cluster.said;

await t.test('a key that `quotebook keys` revokes loses its sockets at every gateway', async (t) => {
  const created = await cluster.run(['keys', 'create', '--tier', 'free', '--label', 'leaked']);
  const { stdout } = await cluster.run(['keys', 'list']);
  const id = /^(\S+).*\bleaked\b/m.exec(stdout)?.[1] ?? '';
  const { gateways, apiKey } = cluster.ready;
  const open = async (wsUrl: string, key: string): Promise<SocketClient> => {
    const socket = await SocketClient.open(wsUrl);
    t.teardown(() => socket.end());
    const auth = async (): Promise<Record<string, unknown>> => {
      const answer = await socket.auth(key);
      // Gateways look for new keys every `keyWatchMs`, and few attempts with an unknown one are free.
      if (answer.message === 'NOT_FOUND') await pause(limits.keyWatchMs / 2);
      return answer;
    };
    t.match(await untilAnswer(auth, ({ message }) => message !== 'NOT_FOUND'), { type: 'INFO' });
    return socket;
  };
  const closed = [];
  const kept = [];
  for (const { wsUrl } of gateways) {
    closed.push((await open(wsUrl, created.stdout.trim())).closed());
    kept.push(await open(wsUrl, apiKey));
  }
  t.ok(gateways.length > 1);
  const startMs = performance.now();
  const { code, stderr } = await cluster.run(['keys', 'revoke', id]);
  t.equal(code, 0, stderr);
  t.strictSame(
    await Promise.all(closed),
    gateways.map(() => 1008),
  );
  const tookMs = performance.now() - startMs;
  t.ok(tookMs <= PATIENCE * REVOKED_MS, `all are closed after ${Math.round(tookMs)} ms`);
  const rfqs = { type: 'FILTER', channel: 'RFQ', body: { chainId: `${cluster.ready.chainId}` } };
  for (const socket of kept) t.match(await socket.ask(rfqs), { type: 'INFO' }, 'another key keeps its sockets');
});

await t.test('`quotebook cluster status` lists the members and the replicas of the log', async (t) => {
  const { member, term } = await cluster.leader();
  const { code, stdout } = await cluster.run(['cluster', 'status', '--format', 'json']);
  t.equal(code, 0, 'there is a leader');
  const { members, stream, servers } = JSON.parse(stdout) as ClusterStatus;
  const { engines, gateways, nats } = cluster.ready;
  const roles = engines.map((engine) => ({
    member: engine.member,
    role: engine.member === member ? 'leader' : 'standby',
    term,
    lag: 0,
  }));
  const ofGateways = gateways.map((_, place) => ({ member: `gateway-${place + 1}`, role: 'gateway', term, lag: 0 }));
  const shown = members.map(({ member: name, role, term: atTerm, lag }) => ({ member: name, role, term: atTerm, lag }));
  t.strictSame(
    shown.sort((a, b) => (a.member < b.member ? -1 : 1)),
    [...roles, ...ofGateways],
  );
  t.match(stream, { replicas: nats.length, currentReplicas: nats.length, natsLeader: /^n\d$/ });
  t.strictSame(
    servers.map(({ syncs }) => syncs),
    nats.map(() => true),
  );
});

await t.test("the leader's metrics have its chains, its wallet and its commits", async (t) => {
  const { pid } = await cluster.leader();
  const listening = new RegExp(`"pid":${pid},.*"port":(\\d+),"msg":"metrics listening"`);
  const [, port] = listening.exec(started) ?? [];
  const answer = await fetch(`http://127.0.0.1:${port ?? 0}/metrics`);
  const text = await answer.text();
  for (const line of [
    /^quotebook_rpc_requests_total\{chain="settlement",method="eth_getBlockByNumber",outcome="answered"\} [1-9]/m,
    /^quotebook_wallet_balance_gwei\{chain="stream"\} [1-9]/m,
    /^quotebook_commit_seconds_count [1-9]/m,
    /^quotebook_seq [1-9]/m,
    /^quotebook_ready 1$/m,
  ]) {
    t.match(text, line);
  }
});

const [, maker] = cluster.ready.accounts;
const [pool] = cluster.ready.pools;
if (maker === undefined || pool === undefined) throw new Error('the local chain has accounts and pools');

const offered = { ...pool, poolKey: { ...pool.poolKey, strike: BigInt(pool.poolKey.strike) } };
const quote = (): Promise<WireQuote> => signQuote(maker.privateKey, offered, {}, cluster.ready.chainId);

/** Of the last gateway. */
function client(): RestClient {
  const { gateways, apiKey } = cluster.ready;
  return new RestClient(gateways.at(-1)?.httpUrl ?? '', apiKey);
}

/** Resolves when an engine leads in another term. */
async function nextLeader(before: { readonly term: number }): Promise<void> {
  await untilAnswer(
    () => cluster.leader(),
    ({ term }) => term > before.term,
  );
}

/** The answer to another quote, once it has this status: until then there may be no leader, or settings may be old. */
async function posted(status: number) {
  return untilAnswer(
    async () => client().post('/quotes', [await quote()]),
    (answer) => answer.status === status,
  );
}

await t.test('the leader takes over quotas that change in the settings file, and so does the next one', async (t) => {
  await posted(201);
  await writeFile(settingsFile, JSON.stringify({ metricsPort: 0, paidQuotesPerDay: 1 }));
  const refused = await posted(429);
  const DAY = /^8[56]\d{3}$/;
  t.match(refused.headers.get('retry-after'), DAY, 'it is the quota of a day');
  const leader = await cluster.leader();
  t.match((await cluster.run(['cluster', 'step-down'])).stdout, 'steps down');
  await nextLeader(leader);
  const first = await untilAnswer(
    async () => client().post('/quotes', [await quote()]),
    ({ status }) => status !== 503,
  );
  t.equal(first.status, 429, 'the standby had taken them over, with what the key has used');
  t.match(first.headers.get('retry-after'), DAY);
  await writeFile(settingsFile, '{"metricsPort":0}');
  await posted(201);
});

await t.test('a withdrawn quote is withdrawn under the next leader, who restores it', async (t) => {
  const { body } = await posted(201);
  const [{ quoteId }] = body.created as [{ readonly quoteId: Hex }];
  const signer = privateKeyToAccount(maker.privateKey);
  const chainId = `${cluster.ready.chainId}`;
  const terms = (nonce: bigint) => ({ quoteIds: [quoteId], nonce, deadline: Math.floor(Date.now() / 1000) + 300 });
  const shown = async () => (await client().get(`/orders?quoteIds[]=${quoteId}`)).body;
  const withdrawal = await signWithdrawal(signer, chainId, terms(1n));
  t.match(await client().send('DELETE', '/quotes', withdrawal), { status: 200, body: { withdrawn: [quoteId] } });
  const leader = await cluster.leader();
  process.kill(leader.pid, 'SIGKILL');
  await nextLeader(leader);
  await posted(201);
  t.match(await shown(), { validQuotes: [], invalidQuotes: [] });
  t.match(await client().send('DELETE', '/quotes', withdrawal), { status: 409 }, 'its nonce is spent');
  const restore = await signRestore(signer, chainId, terms(2n));
  t.match(await client().post('/quotes/restore', restore), { status: 200, body: { restored: [quoteId] } });
  t.match(await shown(), { validQuotes: [{ quoteId }] });
});
