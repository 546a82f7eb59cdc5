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
  /** Finds so many free ports; asked again where one was taken before it was used. */
  readonly portsOf?: (count: number) => Promise<readonly number[]>;
}

interface NatsScript {
  readonly startNats: (options: NatsServersOptions) => Promise<NatsServers>;
  readonly natsServer: () => Promise<string>;
  readonly presentNatsServer: () => Promise<string | null>;
}

const script = import(new URL('../../../scripts/with-nats.mjs', import.meta.url).href) as Promise<NatsScript>;

/** Resolves once the servers have elected a leader of their streams. */
export async function startNats(options: NatsServersOptions = {}): Promise<NatsServers> {
  return (await script).startNats(options);
}

/** Why no server can be started here; null: one can. `fetches`: one that is not here yet may be downloaded. */
export async function natsUnavailable(fetches: boolean): Promise<string | null> {
  const { natsServer, presentNatsServer } = await script;
  if (!fetches) return (await presentNatsServer()) === null ? 'there is no nats-server 2.10 or newer here' : null;
  return natsServer().then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
}

/** A member's connection. */
export function connectMember(
  { nodes }: NatsServers,
  changes: Partial<ClusterOptions> = {},
): Promise<ClusterConnection> {
  return connectCluster({
    servers: nodes.map(({ url }) => url),
    monitors: nodes.map(({ monitorUrl }) => monitorUrl),
    deployment: 'test',
    member: 'engine-1',
    unsafe: false,
    callMs: 5_000,
    ...changes,
  });
}
