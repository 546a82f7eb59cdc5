import type { Test } from 'tap';
import {
  connectMember,
  type NatsServers,
  type NatsServersOptions,
  startNats,
} from '../../bench/servers/nats-servers.js';
import type { ClusterConnection, ClusterOptions } from '../../src/cluster/connection.js';

/** Servers for one test, which end with it. */
export async function natsServers(t: Pick<Test, 'teardown'>, options: NatsServersOptions = {}): Promise<NatsServers> {
  const servers = await startNats(options);
  t.teardown(() => servers.stop());
  return servers;
}

/** A member's connection, which ends with the test. */
export async function connectTo(
  t: Pick<Test, 'teardown'>,
  servers: NatsServers,
  changes: Partial<ClusterOptions> = {},
): Promise<ClusterConnection> {
  const cluster = await connectMember(servers, changes);
  t.teardown(() => cluster.close());
  return cluster;
}
