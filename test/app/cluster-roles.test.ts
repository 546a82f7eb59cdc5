import pino from 'pino';
import t from 'tap';
import { openedOnce, runEngine } from '../../src/app/cluster-roles.js';
import { callRoll } from '../../src/cluster/members.js';
import { effectiveQuotas } from '../../src/config/effective-limits.js';
import { limits } from '../../src/config/limits.js';
import { profileNamed } from '../../src/config/profile-file.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { httpRpc } from '../chain/following.js';
import { settingsOf } from '../cluster/behind-gateway.js';
import { connectTo, natsServers } from '../cluster/nats-servers.js';

const ROLL_MS = 300;

t.test('an engine that fails at its start leaves nothing open', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  const settings = settingsOf({}, t.testdir());
  const profile = await profileNamed('arbitrum', () => Promise.reject(new Error('it is built in')));
  const rpc = httpRpc(['http://127.0.0.1:1']);
  const run = (onStandby: () => Promise<void> | void, stopping: Promise<unknown>) =>
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
      stopping,
      onStandby,
    });
  const fault = new Error('the file cannot be written');
  const failing = run(() => Promise.reject(fault), new Promise(() => undefined));
  await t.rejects(failing, fault);
  t.strictSame(await callRoll(cluster, ROLL_MS), [], 'it answers no roll call');
  await t.resolves(
    run(() => undefined, Promise.resolve()),
    'its directory is free',
  );
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
