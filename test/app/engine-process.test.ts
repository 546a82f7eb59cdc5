import { errors } from '@nats-io/transport-node';
import pino from 'pino';
import t, { type Test } from 'tap';
import { type EngineProcessOptions, openedOnce, runEngine } from '../../src/app/engine-process.js';
import type { ClusterConnection } from '../../src/cluster/connection.js';
import { openLeaseStore } from '../../src/cluster/leadership.js';
import { callRoll } from '../../src/cluster/members.js';
import { effectiveQuotas } from '../../src/config/effective-limits.js';
import { limits } from '../../src/config/limits.js';
import { profileNamed } from '../../src/config/profile-file.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { httpRpc } from '../chain/following.js';
import { settingsOf } from '../cluster/behind-gateway.js';
import { connectTo, natsServers } from '../cluster/nats-servers.js';
import { until } from '../until.js';

const ROLL_MS = 300;

/** Runs an engine of this cluster, in the test's own directory. */
async function engineOf(t: Test, cluster: ClusterConnection) {
  const settings = settingsOf({}, t.testdir());
  const profile = await profileNamed('arbitrum', () => Promise.reject(new Error('it is built in')));
  const rpc = httpRpc(['http://127.0.0.1:1']);
  return (options: Pick<EngineProcessOptions, 'onStandby' | 'stopping'> & Partial<EngineProcessOptions>) =>
    runEngine({
      settings,
      profile,
      rpc: { settlement: rpc, stream: rpc },
      limits,
      logger: pino({ level: 'silent' }),
      metrics: null,
      cluster,
      identity: { chainId: 1 },
      walletKey: null,
      quotas: new Quotas(effectiveQuotas(settings), limits.answerBurstSeconds, () => undefined),
      version: 'test',
      onFault: (error) => void t.error(error),
      ...options,
    });
}

t.test('an engine that fails at its start leaves nothing open', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  const run = await engineOf(t, cluster);
  const fault = new Error('the file cannot be written');
  const failing = run({ onStandby: () => Promise.reject(fault), stopping: new Promise(() => undefined) });
  await t.rejects(failing, fault);
  t.strictSame(await callRoll(cluster, ROLL_MS), [], 'it answers no roll call');
  await t.resolves(run({ onStandby: () => undefined, stopping: Promise.resolve() }), 'its directory is free');
});

t.test('a new leader that waits for a bucket says so, is a standby meanwhile, and can be stopped', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  const { jsm, names } = cluster;
  const { streams } = jsm;
  const info: typeof streams.info = (stream, options) =>
    stream === `KV_${names.stateBucket}` ? Promise.reject(new errors.TimeoutError()) : streams.info(stream, options);
  const leaderless = Object.assign(Object.create(jsm) as typeof jsm, {
    streams: Object.assign(Object.create(streams) as typeof streams, { info }),
  });
  const warnings: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  const run = await engineOf(t, { ...cluster, jsm: leaderless });
  let stop: () => void = () => undefined;
  const stopping = new Promise<void>((resolve) => (stop = resolve));
  const running = run({ onStandby: () => undefined, stopping, logger });
  await until(() => warnings.length > 0);
  t.match(warnings, [/"bucket":"QB_test_STATE","msg":"waiting for a bucket"/]);
  t.match(await callRoll(cluster, ROLL_MS), [{ role: 'standby' }]);
  stop();
  await running;
  t.strictSame(await callRoll(cluster, ROLL_MS), []);
  t.equal(await (await openLeaseStore(cluster, limits.clusterLeaseMs)).revision(), null, 'it gave the lease back');
});

t.test('what is opened once is opened once for all who ask meanwhile, and again after a failure', async (t) => {
  let opened = 0;
  let fault: Error | null = new Error('no answer');
  const open = openedOnce(async () => {
    opened += 1;
    await Promise.resolve();
    if (fault !== null) throw fault;
    return opened;
  });
  const failed = await Promise.allSettled([open(), open()]);
  t.strictSame(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  fault = null;
  t.strictSame(await Promise.all([open(), open()]), [2, 2]);
  t.equal(await open(), 2);
});
