import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Kvm } from '@nats-io/kv';
import { nkeys } from '@nats-io/transport-node';
import t from 'tap';
import { ClusterKeyFiles } from '../../src/cluster/kept-values.js';
import { NatsLogStream, openLogStream } from '../../src/cluster/log-stream.js';
import { SnapshotStore } from '../../src/cluster/snapshot-store.js';
import { connectTo, natsServers } from './nats-servers.js';

const run = promisify(execFile);
const conf = await readFile(new URL('../../../deploy/nats.conf', import.meta.url), 'utf8');
/** As the shipped file has it, for the deployment `local`. */
const authorization = conf
  .slice(conf.indexOf('\nauthorization {'))
  .replace('$ENGINE_PASSWORD', 'of-engines')
  .replace('$GATEWAY_PASSWORD', 'of-gateways')
  .replace('$ADMIN_PASSWORD', 'of-admins');

const TERM = { member: 'm', nonce: 'n', epoch: '0011223344556677', reorgDepth: 1, identity: {}, fileFormat: 3 };
const nothing = { index: 0, seq: 0, group: 0, chain: Buffer.alloc(32) };

t.test('the users of the shipped nats.conf', async (t) => {
  const servers = await natsServers(t, { servers: 1, conf: authorization });
  const as = (user: string, password: string) =>
    connectTo(t, servers, { user, password, deployment: 'local', unsafe: true, callMs: 1_000 });
  const engine = await as('engine', 'of-engines');
  const stream = await openLogStream(engine);
  await stream.appendTerm(TERM, nothing, 0);
  const epoch = Buffer.from(TERM.epoch, 'hex');
  await (await SnapshotStore.open(engine)).put(epoch, { seq: 1, term: 1, point: nothing }, Buffer.from('state'), 2);
  const admin = await ClusterKeyFiles.open(await as('admin', 'of-admins'));
  await admin.update('keys.json', () => 'keys');
  const gateway = await as('gateway', 'of-gateways');

  await t.test('an engine notes what keys have proven and what sign-ins create, and makes no other keys', async (t) => {
    const keys = await ClusterKeyFiles.open(engine);
    t.equal(await keys.update('proofs.json', () => 'proofs'), 'proofs');
    t.equal(await keys.update('self-keys.json', () => 'self'), 'self');
    await t.rejects(keys.update('keys.json', () => 'mine'));
    t.equal(await admin.read('keys.json'), 'keys');
  });

  await t.test('a gateway reads the log, and can neither write nor delete it', async (t) => {
    const read = new NatsLogStream(gateway);
    t.match(await read.get(1), { type: 'TERM', content: TERM });
    t.match(await read.read(1, 10), [{ type: 'TERM' }]);
    t.equal(await read.lastSequence(), 1);
    await t.rejects(read.appendTerm({ ...TERM, nonce: 'forged' }, nothing, 1), /permission|timeout/i);
    await t.rejects(gateway.jsm.streams.delete(gateway.names.stream));
    t.equal(await stream.lastSequence(), 1, 'nothing of it is in the log');
  });

  await t.test('a gateway reads the keys, and can write none', async (t) => {
    const keys = await ClusterKeyFiles.attach(gateway);
    t.equal(await keys.read('keys.json'), 'keys');
    await t.rejects(keys.update('keys.json', () => 'other'));
    t.equal(await admin.read('keys.json'), 'keys');
  });

  await t.test('a gateway reads the snapshots, and can write none', async (t) => {
    const snapshots = await SnapshotStore.attach(gateway);
    if (snapshots === null) throw new Error('the gateway finds no store');
    t.match(await snapshots.list(epoch), [{ name: 'snapshot-0', at: { seq: 1, term: 1 } }]);
    await t.rejects(snapshots.read('snapshot-0'), { code: 'DAMAGED' }, 'it reads what is there');
    await t.rejects(snapshots.put(epoch, { seq: 2, term: 1, point: nothing }, Buffer.from('forged'), 2));
    t.match(await snapshots.list(epoch), [{ name: 'snapshot-0', at: { seq: 1, term: 1 } }]);
  });

  for (const [what, bucket, key] of [
    ['the lease', engine.names.leaseBucket, 'leader'],
    ['the state', engine.names.stateBucket, 'term'],
  ] as const) {
    await t.test(`an engine writes ${what}, and a gateway cannot`, async (t) => {
      const ofEngine = await new Kvm(engine.js).create(bucket);
      await ofEngine.put(key, 'of the engine');
      await t.rejects(gateway.js.publish(`$KV.${bucket}.${key}`, 'forged', { timeout: 1_000 }));
      t.equal((await ofEngine.get(key))?.string(), 'of the engine');
    });
  }

  await t.test('a wrong password opens no connection', async (t) => {
    await t.rejects(as('gateway', 'wrong'), { code: 'UNREACHABLE' });
  });
});

t.test(
  'over TLS as the shipped nats.conf has it members check the servers, and are known by their nkeys',
  async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'quotebook-tls-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2', '-nodes'];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    await run('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject]);
    const known = nkeys.createUser();
    const stranger = nkeys.createUser();
    const [, shipped = ''] = /^# (tls \{.*\})$/m.exec(conf) ?? [];
    const lines = [
      shipped.replace('/certs/server.pem', `"${cert}"`).replace('/certs/server-key.pem', `"${key}"`),
      `authorization { users: [ { nkey: ${known.getPublicKey()} } ] }`,
    ];
    const servers = await natsServers(t, { servers: 1, conf: lines.join('\n') });
    const seedOf = (pair: nkeys.KeyPair): string => Buffer.from(pair.getSeed()).toString();
    const urls = servers.nodes.map(({ url }) => url.replace('nats://127.0.0.1', 'tls://localhost'));
    const own = { unsafe: true, servers: urls, callMs: 2_000, deployment: 'local' };
    const ca = await readFile(cert, 'utf8');
    const member = await connectTo(t, servers, { ...own, nkeySeed: seedOf(known), tls: { ca } });
    const stream = await openLogStream(member);
    t.equal(await stream.appendTerm(TERM, nothing, 0), 1);
    const refused = { code: 'UNREACHABLE' };
    await t.rejects(connectTo(t, servers, { ...own, nkeySeed: seedOf(stranger), tls: { ca } }), refused, 'a stranger');
    await t.rejects(connectTo(t, servers, { ...own, tls: { ca } }), refused, 'nobody');
    await t.rejects(connectTo(t, servers, { ...own, nkeySeed: seedOf(known), tls: {} }), refused, 'an unknown server');
  },
);
