import t from 'tap';
import type { ClusterStatus } from '../../src/app/cluster-roles.js';
import { SocketClient } from '../e2e/socket-client.js';
import { ClusterProcess } from './cluster-process.js';

/** The goal is of an idle machine; a busy one gets more time here. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const REVOKED_MS = 5_000;

const cluster = await ClusterProcess.start();
t.teardown(() => cluster.remove());
t.teardown(() => cluster.stop());

await t.test('a key that `quotebook keys` revokes loses its sockets at every gateway', async (t) => {
  const created = await cluster.run(['keys', 'create', '--tier', 'free', '--label', 'leaked']);
  const { stdout } = await cluster.run(['keys', 'list']);
  const id = /^(\S+).*\bleaked\b/m.exec(stdout)?.[1] ?? '';
  const { gateways, apiKey } = cluster.ready;
  const open = async (wsUrl: string, key: string): Promise<SocketClient> => {
    const socket = await SocketClient.open(wsUrl);
    t.teardown(() => socket.end());
    t.match(await socket.auth(key), { type: 'INFO' });
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
  const { members, stream } = JSON.parse(stdout) as ClusterStatus;
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
});
