import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { UsageExchange } from '../../src/cluster/usage.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { type CountedKind, Quotas } from '../../src/quota/rate-limits.js';
import { systemClock } from '../../src/system/clock.js';
import { connectTo, natsServers } from './nats-servers.js';

const PER_SECOND = 100;
const SECONDS = 4;

t.test('the quota of a key holds over all gateways together, within 10 % and a second', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const table = { ...tierQuotas, free: { ...tierQuotas.free, requestsPerSecond: PER_SECOND } };
  const gateways: Quotas[] = [];
  for (const member of ['gateway-1', 'gateway-2', 'gateway-3']) {
    const quotas = new Quotas(table, 1, () => undefined);
    const cluster = await connectTo(t, servers, { member, unsafe: true });
    const exchange = new UsageExchange(cluster, systemClock, limits.clusterUsageMs, ({ id, tier, kind, amount }) =>
      quotas.usedElsewhere({ id, tier }, kind as CountedKind, amount),
    );
    quotas.onUsed = ({ id, tier }, kind, amount) => exchange.add(id, tier, kind, amount);
    t.teardown(() => exchange.stop());
    await cluster.nats.flush();
    gateways.push(quotas);
  }
  const holder = { id: 'a', tier: 'free' as const };
  const startMs = performance.now();
  let granted = 0;
  while (performance.now() - startMs < SECONDS * 1000) {
    for (const quotas of gateways) if (quotas.takeRequest(holder) === 0) granted += 1;
    await pause(2);
  }
  const seconds = (performance.now() - startMs) / 1000;
  // A full bucket at the start, once; until the first messages each gateway has it alone: that is the second.
  const most = 1.1 * PER_SECOND * (seconds + 1) + PER_SECOND * (gateways.length - 1);
  t.ok(granted <= most, `${granted} of at most ${most} in ${seconds} s`);
  t.ok(granted >= 0.8 * PER_SECOND * seconds, `${granted}: a key gets what it has`);
  const other = { id: 'b', tier: 'free' as const };
  t.equal(gateways[0]?.takeRequest(other), 0, 'another key has its own');
});

t.test('messages that say nothing of usage are passed over, and the next is read', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const here = await connectTo(t, servers, { member: 'gateway-1', unsafe: true });
  const there = await connectTo(t, servers, { member: 'gateway-2', unsafe: true });
  const good = { id: 'a', tier: 'free', kind: 'requests', amount: 3 };
  const heard = new Promise((resolve) => {
    const exchange = new UsageExchange(here, systemClock, limits.clusterUsageMs, resolve);
    t.teardown(() => exchange.stop());
  });
  await here.nats.flush();
  const other = { member: 'gateway-2' };
  const wrong = [null, { ...good, amount: null }, { ...good, tier: 'no such' }, { ...good, id: 7 }, { id: 'a' }];
  for (const message of [null, 7, {}, other, { ...other, used: {} }, { ...other, used: wrong }]) {
    there.nats.publish(there.names.usage, JSON.stringify(message));
  }
  there.nats.publish(there.names.usage, 'no JSON');
  there.nats.publish(there.names.usage, JSON.stringify({ ...other, used: [good] }));
  t.strictSame(await heard, good);
});
