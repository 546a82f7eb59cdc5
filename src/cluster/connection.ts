import { setTimeout as pause } from 'node:timers/promises';
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import {
  connect,
  type ConnectionOptions,
  errors,
  type Msg,
  type NatsConnection,
  nkeyAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';

/** Why a member of a cluster cannot go on. */
export type ClusterFault =
  /** The servers would lose acknowledged records in a power cut, or with one node. */
  | 'UNSAFE'
  /** The stream is of another deployment, or of another log than the data directory's. */
  | 'FOREIGN'
  /** Another engine leads: what this one appends is rejected. */
  | 'DEPOSED'
  /** The stream holds a newer format than this program reads. */
  | 'NEWER_FORMAT'
  /** A message is missing, or is not what its leader wrote. */
  | 'DAMAGED'
  /** No answer in time. */
  | 'UNREACHABLE';

export class ClusterError extends Error {
  override readonly name = 'ClusterError';

  constructor(
    readonly code: ClusterFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface ClusterOptions {
  /** URLs of the NATS servers. */
  readonly servers: readonly string[];
  /**
   * URLs of their monitoring ports, where /varz says how they sync. Null: this process does not ask, since it
   * acknowledges only what a leader has, which has asked.
   */
  readonly monitors: readonly string[] | null;
  /** Names the deployment in every stream, bucket and subject: letters, digits, `_` and `-`. */
  readonly deployment: string;
  /** Names this process among the members. */
  readonly member: string;
  readonly user?: string;
  readonly password?: string;
  /** Seed of an nkey, in place of user and password. */
  readonly nkeySeed?: string;
  /** CA certificates in PEM; absent: as the URLs and the servers say. */
  readonly tls?: { readonly ca?: string };
  /** For development: one replica, and servers that do not sync, are accepted. */
  readonly unsafe: boolean;
  /** Deadline of each call. */
  readonly callMs: number;
}

/** The replicas of each stream, and the oldest server that syncs before it acknowledges. */
export const REPLICAS = 3;
const OLDEST_SERVER = [2, 10] as const;
const PING_MS = 1_000;
const RECONNECT_MS = 250;

/** Names of everything that a deployment has in NATS. */
export interface ClusterNames {
  readonly stream: string;
  /** Where the leader publishes groups, and where the servers republish them once they are committed. */
  readonly log: string;
  readonly committed: string;
  readonly leaseBucket: string;
  readonly stateBucket: string;
  readonly keysBucket: string;
  readonly snapshotsBucket: string;
  /** The leader's news, every `clusterNewsMs`. */
  readonly status: string;
  /** Requests to the leader. */
  readonly calls: string;
  /** Requests to every member: who is there. */
  readonly roll: string;
  /** Requests to the leader: to give up leadership. */
  readonly stepDown: string;
  /** Reports of the gateways: the use that each has granted its keys. */
  readonly usage: string;
}

function clusterNames(deployment: string): ClusterNames {
  const bucket = `QB_${deployment}`;
  const subject = `qb.${deployment}`;
  return {
    stream: `${bucket}_LOG`,
    log: `${subject}.log`,
    committed: `${subject}.committed`,
    leaseBucket: `${bucket}_LEASE`,
    stateBucket: `${bucket}_STATE`,
    keysBucket: `${bucket}_KEYS`,
    snapshotsBucket: `${bucket}_SNAPSHOTS`,
    status: `${subject}.status`,
    calls: `${subject}.call`,
    roll: `${subject}.roll`,
    stepDown: `${subject}.step-down`,
    usage: `${subject}.usage`,
  };
}

/** Of each stream and bucket that a member makes. */
export function replicasOf({ unsafe, servers }: Pick<ClusterOptions, 'unsafe' | 'servers'>): number {
  return unsafe ? Math.min(REPLICAS, servers.length) : REPLICAS;
}

/** A connection to the NATS servers, checked. */
export interface ClusterConnection {
  readonly nats: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly names: ClusterNames;
  readonly options: ClusterOptions;
  /** Bytes that a message may have. */
  readonly maxPayload: number;
  close(): Promise<void>;
}

/** Rejects with ClusterError UNSAFE or UNREACHABLE; then nothing is left open. */
export async function connectCluster(options: ClusterOptions): Promise<ClusterConnection> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(options.deployment)) {
    throw new ClusterError('FOREIGN', `${options.deployment} is no name for a deployment in NATS`);
  }
  if (!options.unsafe && options.monitors !== null) await checkServers(options.monitors, options);
  const nats = await connect(connectionOptions(options)).catch((cause: unknown) => {
    const message = `the NATS servers ${withoutPasswords(options.servers)} cannot be reached`;
    throw new ClusterError('UNREACHABLE', message, { cause });
  });
  try {
    checkVersion(nats.info?.version ?? '', nats.getServer(), options.unsafe);
    // Its own check asks for the account's numbers, which a gateway may not read.
    const jetStreamOptions = { timeout: options.callMs, checkAPI: false };
    const js = jetstream(nats, jetStreamOptions);
    const jsm = await jetstreamManager(nats, jetStreamOptions);
    return {
      nats,
      js,
      jsm,
      names: clusterNames(options.deployment),
      options,
      maxPayload: nats.info?.max_payload ?? 0,
      close: () => nats.close(),
    };
  } catch (error) {
    await nats.close();
    throw error;
  }
}

function connectionOptions(options: ClusterOptions): ConnectionOptions {
  const { servers, user, password, nkeySeed, tls, member } = options;
  const credentials =
    nkeySeed !== undefined
      ? { authenticator: nkeyAuthenticator(new TextEncoder().encode(nkeySeed)) }
      : user !== undefined
        ? { authenticator: usernamePasswordAuthenticator(user, password) }
        : {};
  return {
    servers: [...servers],
    name: `quotebook ${member}`,
    pingInterval: PING_MS,
    maxPingOut: 2,
    reconnect: true,
    maxReconnectAttempts: -1,
    // A server that is restarted with another password may be mended: it must not end the connection for good.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RECONNECT_MS,
    timeout: options.callMs,
    noAsyncTraces: true,
    ...credentials,
    ...(tls !== undefined && { tls }),
  };
}

/** Each server's own word for it: a client's connection does not say how its server syncs. */
async function checkServers(monitors: readonly string[], { servers, callMs }: ClusterOptions): Promise<void> {
  if (monitors.length < Math.min(servers.length, REPLICAS)) {
    throw new ClusterError(
      'UNSAFE',
      'the monitoring URLs of all NATS servers are needed to check that they sync before they acknowledge: ' +
        'set clusterMonitors, or clusterUnsafe for development',
    );
  }
  const found = await readServers(monitors, callMs);
  // A server that is down cannot acknowledge anything either. It is asked when this process starts again.
  const silent = found.filter(({ version }) => version === null).map(({ server }) => server);
  if (2 * silent.length >= found.length) {
    throw new ClusterError('UNREACHABLE', `the monitoring ports of NATS at ${silent.join(', ')} give no answer`);
  }
  for (const { server, version, syncs } of found) {
    if (version === null) continue;
    checkVersion(version, server, false);
    if (syncs === true) continue;
    throw new ClusterError(
      'UNSAFE',
      `the NATS server at ${server} acknowledges before it syncs and loses records in a power cut: ` +
        'set sync_interval to always in its jetstream block',
    );
  }
}

/** A NATS server's report of itself at its monitoring port. */
export interface ServerState {
  /** Host and port of that. */
  readonly server: string;
  /** Null: it gives no answer. */
  readonly version: string | null;
  /** Whether it syncs before it acknowledges. */
  readonly syncs: boolean | null;
}

interface Varz {
  readonly version?: string;
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } };
}

/** Asks the servers, which have `callMs` to answer. */
export async function readServers(monitors: readonly string[], callMs: number): Promise<ServerState[]> {
  const read = async (monitor: string): Promise<ServerState> => {
    const server = new URL(monitor).host;
    try {
      const response = await fetch(`${monitor.replace(/\/$/, '')}/varz`, { signal: AbortSignal.timeout(callMs) });
      const { version = '', jetstream: stream } = (await response.json()) as Varz;
      return { server, version, syncs: stream?.config?.sync_always === true };
    } catch {
      return { server, version: null, syncs: null };
    }
  };
  return Promise.all(monitors.map(read));
}

function checkVersion(version: string, server: string, unsafe: boolean): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isRecent = major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1]);
  if (isRecent || unsafe) return;
  throw new ClusterError(
    'UNSAFE',
    `the NATS server at ${server} has version ${version}, which does not sync before it acknowledges: ` +
      `it has to be ${OLDEST_SERVER.join('.')} or newer`,
  );
}

const UNSERVED_PAUSE_MS = 100;

/**
 * Publishes to a stream, and again for as long as a call may take while no server takes messages for it: it was made a
 * moment ago, or its servers elect a leader. Nothing was published then, so doing it again cannot double anything.
 */
export async function publishServed<Ack>({ options }: ClusterConnection, publish: () => Promise<Ack>): Promise<Ack> {
  for (let waitedMs = 0; ; waitedMs += UNSERVED_PAUSE_MS) {
    try {
      return await publish();
    } catch (error) {
      if (!isUnserved(error) || waitedMs >= options.callMs) throw error;
      await pause(UNSERVED_PAUSE_MS);
    }
  }
}

/** Whether nobody listens to a subject. The library wraps that, in errors that it does not export. */
export function isUnserved(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof errors.NoRespondersError || isUnserved(error.cause);
}

/** Null: nobody has made it. */
export async function streamInfo({ jsm }: Pick<ClusterConnection, 'jsm'>, stream: string): Promise<StreamInfo | null> {
  try {
    return await jsm.streams.info(stream);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === 404) return null;
    throw error;
  }
}

/** The second: while another append is under way. */
const WRONG_LAST_SEQUENCE: ReadonlySet<unknown> = new Set([10071, 10164]);

/** Whether a publication, or a change of a bucket, was rejected because another came first. */
export function isWrongLastSequence(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && WRONG_LAST_SEQUENCE.has(error.code);
}

/** `JetStream system temporarily unavailable`. */
const UNAVAILABLE = 10008;

/** Whether a request had no answer, or none of servers that can serve it: they may be electing a leader. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof errors.TimeoutError || isUnserved(error)) return true;
  return (error as { code?: unknown }).code === UNAVAILABLE || isUnanswered(error.cause);
}

/** The JSON object of a message; null: it is none. An error in a subscription's callback would end all reading. */
export function jsonObject<Fields>(message: Pick<Msg, 'json'>): Partial<Fields> | null {
  try {
    const value = message.json<Partial<Fields> | string | number | boolean | null>();
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

function withoutPasswords(servers: readonly string[]): string {
  return servers.map((server) => server.replace(/\/\/[^@/]*@/, '//')).join(', ');
}
