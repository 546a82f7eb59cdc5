import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { SmallVolume } from '../faults/small-volume.js';
import { ClusterProcess } from './cluster-process.js';
import { checkFaults } from './fault-table.js';
import { History } from './history.js';
import { natsServers } from './nats-servers.js';

const CUTS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const SERVERS = 3;
const VOLUME_MIB = 320;
const LOADED_MS = 1_500;

const volumes = Array.from({ length: SERVERS }, () => SmallVolume.make(t, VOLUME_MIB));
const mounted = volumes.filter((volume): volume is SmallVolume => typeof volume !== 'string');
const skip = volumes.find((volume) => typeof volume === 'string') ?? false;

t.test(`all three NATS servers lose their power ${CUTS} times: nothing is lost`, { skip }, async (t) => {
  t.setTimeout(CUTS * 120_000);
  const servers = await natsServers(t, { servers: SERVERS, stores: mounted.map((volume) => volume.path) });
  const monitors = servers.nodes.map(({ monitorUrl }) => monitorUrl).join(',');
  const cluster = await ClusterProcess.start(['--nats', servers.url, '--nats-monitors', monitors]);
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  const history = new History(() => cluster.ready);
  history.start(4);
  await history.acknowledgedAfter(performance.now());
  const backMs: number[] = [];
  for (let cut = 0; cut < CUTS; cut += 1) {
    await pause(LOADED_MS);
    for (const volume of mounted) volume.cutPower();
    await Promise.all(servers.nodes.map((node) => node.kill('SIGKILL')));
    for (const volume of mounted) {
      volume.unmount();
      volume.mount();
    }
    for (const node of servers.nodes) node.start();
    const startMs = performance.now();
    await servers.ready();
    backMs.push(await history.acknowledgedAfter(startMs));
  }
  await history.stop();
  await checkFaults(t, cluster, history, [
    { what: 'all three NATS servers lose their power', ms: backMs, goalMs: null },
  ]);
  t.ok(history.acknowledged.length > 10 * CUTS, 'there was load');
});
