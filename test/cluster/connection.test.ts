import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { JetStreamApiError } from '@nats-io/jetstream';
import t, { type Test } from 'tap';
import type { NatsServers } from '../../bench/servers/nats-servers.js';
import type { ClusterStatus } from '../../src/app/cluster-admin.js';
import { clusterCommand } from '../../src/cli/cluster.js';
import { EXIT_FAILED, runCommand } from '../../src/cli/run.js';
import { openLogStream } from '../../src/cluster/log-stream.js';
import { until } from '../until.js';
import { connectTo, natsServers } from './nats-servers.js';

/** Port of a way to the server on which it tells clients that it has another version. */
async function sayingVersion(t: Pick<Test, 'teardown'>, servers: NatsServers, version: string): Promise<number> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(Number(new URL(servers.url).port), '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    client.pipe(server).on('close', () => client.destroy());
    // In its greeting, and again once the client has said who it is.
    server.setEncoding('latin1').on('data', (text: string) => {
      client.write(text.replace(/"version":"[^"]*"/, `"version":"${version}"`), 'latin1');
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return (proxy.address() as AddressInfo).port;
}

t.test('servers that acknowledge before they sync are refused, with a message that says why', async (t) => {
  const servers = await natsServers(t, { servers: 1, sync: '2m' });
  await t.rejects(connectTo(t, servers), { code: 'UNSAFE', message: /sync_interval to always/ });
  await t.rejects(connectTo(t, servers, { monitors: [] }), { code: 'UNSAFE', message: /clusterMonitors/ });
  await t.resolves(connectTo(t, servers, { unsafe: true, monitors: [] }), 'but for development');
});

t.test('a command reads the cluster without monitoring ports, and restores no stream without them', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const printed: string[] = [];
  const io = {
    out: (line: string) => printed.push(line),
    err: (line: string) => printed.push(line),
    environment: { QUOTEBOOK_CLUSTER: servers.url },
    readText: () => Promise.reject(new Error('no file is read')),
  };
  const run = (...words: string[]): Promise<number> => runCommand(words, [clusterCommand], '1.2.3', io);
  t.equal(await run('cluster', 'status'), EXIT_FAILED, 'no leader');
  t.match(printed.splice(0), [/^member +role/]);
  t.equal(await run('cluster', 'restore', '--from', t.testdir()), EXIT_FAILED);
  t.match(printed, [/set clusterMonitors/]);
});

t.test('`cluster status` shows of each server whether it syncs, and refuses none that does not', async (t) => {
  const [strict, lax, gone] = [
    await natsServers(t, { servers: 1 }),
    await natsServers(t, { servers: 1, sync: '2m' }),
    await natsServers(t, { servers: 1 }),
  ];
  await gone.stop();
  const monitors = [strict, lax, gone].map(({ nodes }) => nodes[0]?.monitorUrl ?? '');
  const printed: string[] = [];
  const io = {
    out: (line: string) => printed.push(line),
    err: (line: string) => printed.push(line),
    environment: { QUOTEBOOK_CLUSTER: lax.url, QUOTEBOOK_CLUSTER_MONITORS: monitors.join(',') },
    readText: () => Promise.reject(new Error('no file is read')),
  };
  const run = (...words: string[]): Promise<number> => runCommand(words, [clusterCommand], '1.2.3', io);
  await run('cluster', 'status', '--format', 'json');
  const version = /^2\.\d+\.\d+/;
  const [first, second, third] = monitors.map((monitor) => new URL(monitor).host);
  const { servers } = JSON.parse(printed.splice(0).join('')) as ClusterStatus;
  t.match(servers, [
    { server: first, version, syncs: true },
    { server: second, version, syncs: false },
    { server: third, version: null, syncs: null },
  ]);
  await run('cluster', 'status');
  t.match(printed, [
    /^member/,
    /^NATS server +version +syncs$/,
    new RegExp(`^${first} +2\\S+ +yes$`),
    new RegExp(`^${second} +2\\S+ +no$`),
    new RegExp(`^${third} +no answer +-$`),
  ]);
});

t.test('a server that is down at the start is asked at the next one, most of them are not', async (t) => {
  const servers = await natsServers(t);
  await servers.nodes[2]?.kill('SIGKILL');
  await t.resolves(connectTo(t, servers));
  await servers.nodes[1]?.kill('SIGKILL');
  const [, second, third] = servers.nodes.map(({ monitorUrl }) => new URL(monitorUrl).host);
  const message = `the monitoring ports of NATS at ${second}, ${third} give no answer`;
  await t.rejects(connectTo(t, servers), { code: 'UNREACHABLE', message });
});

t.test('servers of a version that acknowledges before it syncs are refused, but for development', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const port = await sayingVersion(t, servers, '2.9.25');
  const old = { servers: [`nats://127.0.0.1:${port}`] };
  const message = `the NATS server at 127.0.0.1:${port} has version 2.9.25, which does not sync before it acknowledges: it has to be 2.10 or newer`;
  await t.rejects(connectTo(t, servers, old), { code: 'UNSAFE', message });
  await t.rejects(connectTo(t, servers, { ...old, monitors: null }), { code: 'UNSAFE', message }, 'by a command, too');
  await t.resolves(connectTo(t, servers, { ...old, unsafe: true }));
  const newest = await sayingVersion(t, servers, '3.0.0');
  await t.resolves(connectTo(t, servers, { servers: [`nats://127.0.0.1:${newest}`] }));
});

t.test('a single server has no three replicas', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers);
  await t.rejects(openLogStream(cluster), JetStreamApiError, 'it cannot be made');
  const unsafe = await connectTo(t, servers, { unsafe: true });
  await openLogStream(unsafe);
  await t.rejects(openLogStream(cluster), { code: 'UNSAFE', message: /1 replicas, not 3/ });
});

t.test('a stream whose messages can go is refused', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  await cluster.jsm.streams.add({ name: cluster.names.stream, subjects: [cluster.names.log], max_age: 1e12 });
  await t.rejects(openLogStream(cluster), { code: 'UNSAFE', message: /can be deleted.*expire/ });
});

t.test('a member that servers have refused connects once they accept it', async (t) => {
  const conf = 'authorization { users: [ { user: gateway, password: right } ] }';
  const servers = await natsServers(t, { servers: 1, conf });
  const { nats } = await connectTo(t, servers, { unsafe: true, user: 'gateway', password: 'right' });
  const refusals: unknown[] = [];
  void (async () => {
    for await (const status of nats.status()) if (status.type === 'error') refusals.push(status.error);
  })();
  const file = `${servers.dir}/nats-1.conf`;
  const right = await readFile(file, 'utf8');
  const restart = async (text: string): Promise<void> => {
    await writeFile(file, text);
    await servers.nodes[0]?.kill('SIGKILL');
    servers.nodes[0]?.start();
  };
  await restart(right.replace('password: right', 'password: wrong'));
  await until(() => refusals.length >= 3 || nats.isClosed());
  await restart(right);
  const isConnected = (): Promise<boolean> =>
    nats.flush().then(
      () => true,
      () => false,
    );
  await until(async () => nats.isClosed() || (await isConnected()));
  t.notOk(nats.isClosed());
});

t.test('servers that cannot be reached are named without their passwords', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  await servers.stop();
  const url = servers.url.replace('nats://', 'nats://me:secret@');
  await t.rejects(connectTo(t, servers, { unsafe: true, servers: [url], callMs: 500 }), {
    code: 'UNREACHABLE',
    message: /^((?!secret).)*$/,
  });
});
