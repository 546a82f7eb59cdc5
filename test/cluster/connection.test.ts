import { JetStreamApiError } from '@nats-io/jetstream';
import t from 'tap';
import { clusterCommand } from '../../src/cli/cluster.js';
import { EXIT_FAILED, runCommand } from '../../src/cli/run.js';
import { openLogStream } from '../../src/cluster/log-stream.js';
import { connectTo, natsServers } from './nats-servers.js';

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

t.test('servers that cannot be reached are named without their passwords', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  await servers.stop();
  const url = servers.url.replace('nats://', 'nats://me:secret@');
  await t.rejects(connectTo(t, servers, { unsafe: true, servers: [url], callMs: 500 }), {
    code: 'UNREACHABLE',
    message: /^((?!secret).)*$/,
  });
});
