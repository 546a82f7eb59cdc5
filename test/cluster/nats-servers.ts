import type { Test } from 'tap';
import { type ClusterConnection, type ClusterOptions, connectCluster } from '../../src/cluster/connection.js';

/** As scripts/with-nats.mjs has them. */
export interface NatsNode {
  readonly url: string;
  readonly monitorUrl: string;
  readonly pid: number | null;
  readonly isRunning: boolean;
  start(): void;
  signal(name: NodeJS.Signals): void;
  kill(name?: NodeJS.Signals): Promise<void>;
}

export interface NatsServers {
  readonly nodes: readonly NatsNode[];
  readonly url: string;
  readonly dir: string;
  ready(): Promise<void>;
  stop(): Promise<void>;
}

export interface NatsServersOptions {
  readonly servers?: number;
  readonly dir?: string;
  /** A directory of each server's data. */
  readonly stores?: readonly string[];
  readonly sync?: string;
  readonly conf?: string;
  readonly maxPayload?: number;
}

const script = new URL('../../../scripts/with-nats.mjs', import.meta.url).href;

/** Servers for one test, which end with it. */
export async function natsServers(t: Pick<Test, 'teardown'>, options: NatsServersOptions = {}): Promise<NatsServers> {
  const nats = (await import(script)) as { startNats(options: NatsServersOptions): Promise<NatsServers> };
  const servers = await nats.startNats(options);
  t.teardown(() => servers.stop());
  return servers;
}

/** A member's connection, which ends with the test. */
export async function connectTo(
  t: Pick<Test, 'teardown'>,
  servers: NatsServers,
  changes: Partial<ClusterOptions> = {},
): Promise<ClusterConnection> {
  const cluster = await connectCluster({
    servers: servers.nodes.map(({ url }) => url),
    monitors: servers.nodes.map(({ monitorUrl }) => monitorUrl),
    deployment: 'test',
    member: 'engine-1',
    unsafe: false,
    callMs: 5_000,
    ...changes,
  });
  t.teardown(() => cluster.close());
  return cluster;
}
