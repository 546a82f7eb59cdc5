import t from 'tap';
import { ClusterProcess } from './cluster-process.js';

t.test('Ctrl-C stops a cluster on one machine in order, its NATS servers last', async (t) => {
  const cluster = await ClusterProcess.start([], true);
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  const { nats } = cluster.ready;
  t.equal(await cluster.interrupt(), 0);
  t.notMatch(cluster.said, /"level":[56]0/);
  for (const { pid } of nats) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});
