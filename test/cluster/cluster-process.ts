import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type ClusterConnection, connectCluster } from '../../src/cluster/connection.js';
import { callRoll, type MemberInfo } from '../../src/cluster/members.js';
import type { Hex, PoolKey } from '../../src/engine/quote.js';
import { nodeDiskAt } from '../../src/persistence/disk/node-disk.js';
import { type LogReport, verifyLog } from '../../src/persistence/recovery/log-tools.js';
import { silent } from '../simulation/simulated-log.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = path.join(root, 'dist/src/cli/quotebook.js');

interface EngineInfo {
  readonly member: string;
  readonly pid: number;
  readonly role: 'leader' | 'standby';
  readonly term: number;
}

/** What the ready file of `npm run cluster` and the file of members beside it hold. */
export interface ClusterReady {
  readonly gateways: readonly { readonly httpUrl: string; readonly wsUrl: string; readonly pid: number }[];
  readonly engines: readonly EngineInfo[];
  readonly nats: readonly {
    readonly url: string;
    readonly monitorUrl: string;
    readonly routePort: number;
    readonly pid: number;
  }[];
  readonly apiKey: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly accounts: readonly { readonly address: Hex; readonly privateKey: Hex }[];
  readonly contracts: Readonly<Record<'orderbookStream', Hex>>;
  readonly pools: readonly {
    readonly poolAddress: Hex;
    readonly poolKey: Omit<PoolKey, 'strike'> & { readonly strike: string };
  }[];
  readonly profile: string;
}

const START_MS = 180_000;
const CHANGE_MS = 60_000;
const ROLL_MS = 300;
const CALL_MS = 5_000;

/** The whole cluster of `npm run cluster`, in processes of its own. */
export class ClusterProcess {
  readonly dataDir = mkdtempSync(path.join(tmpdir(), 'quotebook-cluster-'));
  readonly #readyFile = path.join(this.dataDir, 'ready.json');
  #child: ChildProcess | null = null;
  #connection: ClusterConnection | null = null;
  said = '';

  /** `flags`: more of those of `npm run cluster`. `ownGroup`: `interrupt` reaches all of it, and nothing else. */
  static async start(flags: readonly string[] = [], ownGroup = false): Promise<ClusterProcess> {
    const cluster = new ClusterProcess();
    const args = [
      'scripts/run-cluster.mjs',
      '--port',
      '0',
      '--data-dir',
      cluster.dataDir,
      '--ready-file',
      cluster.#readyFile,
      ...flags,
    ];
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: ownGroup,
    });
    cluster.#child = child;
    const hear = (text: Buffer): void => {
      cluster.said = (cluster.said + text.toString()).slice(-20_000);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const until = Date.now() + START_MS;
    while (!existsSync(cluster.#readyFile)) {
      if (child.exitCode !== null) throw new Error(`the cluster ended at its start: ${cluster.said}`);
      if (Date.now() > until) throw new Error(`the cluster is not ready in time: ${cluster.said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return cluster;
  }

  /** As it was when a member last came up. */
  get ready(): ClusterReady {
    const read = (file: string): object => JSON.parse(readFileSync(file, 'utf8')) as object;
    return { ...this.readyFileContent, ...read(path.join(this.dataDir, 'cluster.json')) } as ClusterReady;
  }

  /** The ready file alone. */
  get readyFileContent(): object {
    return JSON.parse(readFileSync(this.#readyFile, 'utf8')) as object;
  }

  /** The members that answer. */
  async members(): Promise<readonly MemberInfo[]> {
    return callRoll(await this.#connect(), ROLL_MS);
  }

  /** The server that leads the log stream. */
  async natsLeader(): Promise<ClusterReady['nats'][number]> {
    return this.#until('a leader of the stream', async () => {
      const { jsm, names } = await this.#connect();
      const name = (await jsm.streams.info(names.stream)).cluster?.leader ?? '';
      // They are n1, n2 and so on.
      return this.ready.nats[Number(name.slice(1)) - 1] ?? null;
    });
  }

  async #connect(): Promise<ClusterConnection> {
    const { nats, profile } = this.ready;
    const { name } = JSON.parse(readFileSync(profile, 'utf8')) as { readonly name: string };
    this.#connection ??= await connectCluster({
      servers: nats.map(({ url }) => url),
      monitors: [],
      deployment: name,
      member: 'test',
      unsafe: true,
      callMs: CALL_MS,
    });
    return this.#connection;
  }

  /** By the members' own word. */
  async leader(): Promise<EngineInfo> {
    return this.#until('a leader', async () => {
      const leaders = (await this.members()).filter(({ role }) => role === 'leader');
      const newest = leaders.sort((a, b) => b.term - a.term)[0];
      const known = this.ready.engines.find(({ member }) => member === newest?.member);
      if (newest === undefined || known === undefined || !isRunning(known.pid)) return null;
      return { ...known, role: 'leader', term: newest.term };
    });
  }

  /** Ends a gateway, in order by default; resolves when the one that follows it is ready for clients. */
  async restartGateway(place: number, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const before = this.ready.gateways[place];
    if (before === undefined) throw new Error(`there is no gateway ${place}`);
    process.kill(before.pid, signal);
    await this.#until(`gateway ${place + 1} again`, async () => {
      const now = this.ready.gateways[place];
      if (now === undefined || now.pid === before.pid) return null;
      return (await fetch(`${now.httpUrl}/ready`)).ok || null;
    });
  }

  /** Ends a standby, in order by default; resolves when the one that follows it has all of the log. */
  async restartStandby(member: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const before = this.ready.engines.find((engine) => engine.member === member)?.pid ?? 0;
    process.kill(before, signal);
    await this.engineFollows(member, before);
  }

  /** Resolves when that engine runs in another process than `before`, and has all of the log. */
  async engineFollows(member: string, before: number): Promise<void> {
    await this.#until(`engine ${member} again`, async () => {
      const now = this.ready.engines.find((engine) => engine.member === member);
      if (now === undefined || now.pid === before || !isRunning(now.pid)) return null;
      return (await this.members()).some((info) => info.member === member && info.lag === 0) || null;
    });
  }

  /** What each engine's own log comes to, once all members have come equally far. Nobody may write meanwhile. */
  async engineReports(): Promise<readonly LogReport[]> {
    return this.#until('one last record of all members', async () => {
      const { engines, gateways } = this.ready;
      const disks = engines.map(({ member }) => nodeDiskAt(this.engineDirectory(member)));
      const reports = await Promise.all(disks.map((disk) => verifyLog(disk, silent)));
      const members = await this.members();
      const last = [...reports.map(({ lastIndex }) => lastIndex), ...members.map(({ index }) => index)];
      const isLevel = members.length === engines.length + gateways.length && new Set(last).size === 1;
      return isLevel ? reports : null;
    });
  }

  async #until<Value>(what: string, look: () => Promise<Value | null>): Promise<Value> {
    const untilMs = performance.now() + CHANGE_MS;
    for (;;) {
      let cause: unknown = null;
      const found = await look().catch((error: unknown) => {
        cause = error;
        return null;
      });
      if (found !== null) return found;
      if (performance.now() > untilMs) throw new Error(`there is not ${what} in time: ${this.said}`, { cause });
      await pause(50);
    }
  }

  /** Runs the program's other commands against this cluster, or against other servers of NATS. */
  async run(
    words: readonly string[],
    servers: { readonly nodes: readonly { readonly url: string; readonly monitorUrl: string }[] } | null = null,
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
    const { nats, profile } = this.ready;
    const nodes = servers?.nodes ?? nats;
    // The program refuses names that are no settings, such as QUOTEBOOK_ROUNDS.
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTEBOOK_'));
    const env = {
      ...Object.fromEntries(others),
      QUOTEBOOK_PROFILE: profile,
      QUOTEBOOK_CLUSTER: nodes.map(({ url }) => url).join(','),
      QUOTEBOOK_CLUSTER_MONITORS: nodes.map(({ monitorUrl }) => monitorUrl).join(','),
    };
    return promisify(execFile)(process.execPath, [PROGRAM, ...words], { env }).then(
      (said) => ({ ...said, code: 0 }),
      (error: unknown) => error as { readonly code: number; readonly stdout: string; readonly stderr: string },
    );
  }

  engineDirectory(member: string): string {
    return path.join(this.dataDir, member, 'local');
  }

  /** Ends every process in order, and leaves the data. */
  async stop(): Promise<void> {
    await this.#connection?.close();
    this.#connection = null;
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }

  /** As Ctrl-C in a terminal. Resolves to the exit code once all that it printed was heard. */
  async interrupt(): Promise<number | null> {
    const child = this.#child;
    if (child?.pid === undefined) throw new Error('the cluster does not run');
    const closed = new Promise((resolve) => child.once('close', resolve));
    process.kill(-child.pid, 'SIGINT');
    await closed;
    return child.exitCode;
  }

  remove(): void {
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
