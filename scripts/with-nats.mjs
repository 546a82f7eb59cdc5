// Starts a cluster of NATS servers for tests and for trying a Quotebook cluster on one machine. The program is the
// `nats-server` of NATS_SERVER or of the PATH where that is recent enough, else Debian's package of it, which is
// downloaded and unpacked into a cache without touching the system. As a command it runs another command beside the
// servers, with their URLs in QUOTEBOOK_CLUSTER:
//
//   node scripts/with-nats.mjs [--servers 3] [--dir DIR] COMMAND [ARG...]
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.mjs';

const run = promisify(execFile);
/** The oldest version that syncs before it acknowledges. */
const OLDEST = [2, 10, 0];
const START_MS = 60_000;
/** How often servers are started, each time on other ports, while another process takes one first. */
const TRIES = 3;
/** As the system words EADDRINUSE in what nats-server says before it ends. */
const PORT_TAKEN = 'address already in use';
const SUITES = ['sid', 'trixie'];

/** Where a downloaded nats-server is kept. */
const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'quotebook-nats');
const CACHED = path.join(CACHE, 'nats-server');

/** Path of a nats-server that is recent enough and on this machine already; null: there is none. */
export async function presentNatsServer() {
  for (const program of [process.env.NATS_SERVER, 'nats-server', CACHED]) {
    if (program !== undefined && (await isRecent(program))) return program;
  }
  return null;
}

/** Path of a nats-server that is recent enough; downloads it on first use. */
export async function natsServer() {
  const present = await presentNatsServer();
  if (present !== null) return present;
  const problems = [];
  for (const suite of SUITES) {
    const work = `${CACHE}.${process.pid}`;
    try {
      await fetchFromDebian(suite, work);
      await mkdir(CACHE, { recursive: true });
      const found = await firstExisting(
        ['usr/sbin/nats-server', 'usr/bin/nats-server'].map((f) => path.join(work, 'root', f)),
      );
      await rename(found, CACHED);
      if (await isRecent(CACHED)) return CACHED;
    } catch (error) {
      problems.push(`${suite}: ${error.stderr || error.message}`);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  throw new Error(
    `there is no nats-server 2.10 or newer in the PATH, and none could be fetched: ${problems.join('; ')}`,
  );
}

async function firstExisting(files) {
  const found = files.find((file) => existsSync(file));
  if (found === undefined) throw new Error('the package has no nats-server in it');
  return found;
}

async function isRecent(program) {
  try {
    const { stdout } = await run(program, ['--version']);
    const found = /v?(\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [0, 0, 0];
    return found[0] > OLDEST[0] || (found[0] === OLDEST[0] && found[1] >= OLDEST[1]);
  } catch {
    return false;
  }
}

/** The package of another suite than the system's, by an apt configuration of its own. */
async function fetchFromDebian(suite, work) {
  const sources = await debianSources();
  const uri = /^URIs:\s*(\S+)/m.exec(sources)?.[1] ?? /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/m.exec(sources)?.[1];
  if (uri === undefined) throw new Error('the system has no Debian sources');
  const keyring = (await readdir('/usr/share/keyrings')).find((name) => name.startsWith('debian-archive-keyring.'));
  for (const dir of ['etc', 'lists/partial', 'cache/archives/partial', 'root']) {
    await mkdir(path.join(work, dir), { recursive: true });
  }
  const list = path.join(work, 'etc', 'sources.list');
  await writeFile(list, `deb [signed-by=/usr/share/keyrings/${keyring}] ${uri} ${suite} main\n`);
  const options = [
    ['Dir::Etc::sourcelist', list],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::lists', path.join(work, 'lists')],
    ['Dir::Cache', path.join(work, 'cache')],
    ['APT::Get::List-Cleanup', '0'],
    ['APT::Sandbox::User', 'root'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run('apt-get', [...options, 'update', '-qq'], { timeout: 300_000 });
  await run('apt-get', [...options, 'download', 'nats-server'], { cwd: work, timeout: 300_000 });
  const deb = (await readdir(work)).find((name) => name.endsWith('.deb'));
  await run('dpkg', ['-x', path.join(work, deb), path.join(work, 'root')]);
}

async function debianSources() {
  const files = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'];
  return files.map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')).join('\n');
}

/**
 * Starts `servers` servers on 127.0.0.1 and resolves when they have elected a JetStream leader. `sync`: the servers'
 * `sync_interval`; `conf`: more lines of configuration, such as `authorization { ... }`; `stores`: a directory of each
 * server's data. `ownAddresses`: server i listens on all of 127/8 and reaches server j at 127.10.i.j alone, clients are
 * not told of other addresses than their own. `ownGroup`: a terminal's Ctrl-C does not reach them, so the caller must
 * stop them then. `portsOf` finds so many ports.
 */
export async function startNats(options = {}) {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (left === 0 || !error.message.includes(PORT_TAKEN)) throw error;
    }
  }
}

async function startOnce({
  servers = 3,
  dir,
  stores = [],
  sync = 'always',
  conf = '',
  maxPayload = 8 << 20,
  ownAddresses = false,
  ownGroup = false,
  portsOf = freePorts,
}) {
  const program = await natsServer();
  const own = dir === undefined;
  const directory = dir ?? mkdtempSync(path.join(os.tmpdir(), 'quotebook-nats-'));
  await mkdir(directory, { recursive: true });
  const ports = await portsOf(3 * servers);
  const nodes = [];
  const host = ownAddresses ? '0.0.0.0' : '127.0.0.1';
  /** How server `from`, counted from 1, reaches the other ones. */
  const routesOf = (from) =>
    Array.from({ length: servers }, (_, i) => i + 1)
      .filter((to) => to !== from)
      .map((to) => `nats://${ownAddresses ? `127.10.${from}.${to}` : '127.0.0.1'}:${ports[3 * to - 2]}`);
  for (let i = 0; i < servers; i += 1) {
    const [client, cluster, monitor] = ports.slice(3 * i, 3 * i + 3);
    const file = path.join(directory, `nats-${i + 1}.conf`);
    const store = stores[i] ?? path.join(directory, `nats-${i + 1}`);
    // A server tells others where it is, which would be a way around the addresses of its routes.
    const advertise = ownAddresses ? `, no_advertise: true, advertise: "127.10.${i + 1}.${i + 1}:${cluster}"` : '';
    const lines = [
      `server_name: n${i + 1}`,
      `listen: ${host}:${client}`,
      `http: 127.0.0.1:${monitor}`,
      `max_payload: ${maxPayload}`,
      `max_pending: ${8 * maxPayload}`,
      `jetstream { store_dir: ${JSON.stringify(store)}, sync_interval: ${sync}, max_mem: 64MB, max_file: 8GB }`,
      ...(servers > 1
        ? [
            `cluster { name: quotebook, listen: ${host}:${cluster}, routes: ${JSON.stringify(routesOf(i + 1))}${advertise} }`,
          ]
        : []),
      conf,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    const url = `nats://127.0.0.1:${client}`;
    nodes.push(new NatsNode(program, `n${i + 1}`, file, url, `http://127.0.0.1:${monitor}`, cluster, ownGroup));
  }
  /** The servers' URLs by another address of this machine. */
  const urlAt = (address) => nodes.map(({ url }) => url.replace('127.0.0.1', address)).join(',');
  const all = { nodes, url: urlAt('127.0.0.1'), urlAt, dir: directory, ready, stop };
  try {
    for (const node of nodes) node.start();
    await ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return all;

  /** Resolves when the nodes that run are healthy, and in reach of their JetStream leader: it can place a stream. */
  async function ready() {
    const until = Date.now() + START_MS;
    for (;;) {
      const running = nodes.filter((node) => node.isRunning);
      const states = await Promise.all(running.map((node) => node.health()));
      if (states.length > 0 && states.every((isHealthy) => isHealthy) && (await areInReach(running))) return;
      const dead = nodes.find((node) => node.failed !== null);
      if (dead !== undefined) throw new Error(`a NATS server ended: ${dead.failed}`);
      if (Date.now() > until) throw new Error('the NATS servers are not ready in time');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** A server says that it is healthy once it knows the leader, which may not know of that server yet. */
  async function areInReach(running) {
    if (servers === 1) return true;
    const views = await Promise.all(running.map((node) => node.metaCluster()));
    const view = views.find((seen, i) => seen?.leader === running[i].name);
    const isInReach = ({ name }) =>
      name === view.leader || view.replicas?.some((peer) => peer.name === name && peer.current && !peer.offline);
    return view !== undefined && running.every(isInReach);
  }

  async function stop() {
    await Promise.all(nodes.map((node) => node.kill('SIGKILL')));
    if (own) rmSync(directory, { recursive: true, force: true });
  }
}

/** One server, which keeps its data and ports over restarts. */
class NatsNode {
  #child = null;
  #wanted = false;
  #output = '';
  failed = null;

  constructor(program, name, conf, url, monitorUrl, routePort, ownGroup) {
    this.program = program;
    this.name = name;
    this.conf = conf;
    this.url = url;
    this.monitorUrl = monitorUrl;
    this.routePort = routePort;
    this.ownGroup = ownGroup;
  }

  get pid() {
    return this.#child?.pid ?? null;
  }

  get isRunning() {
    return this.#child !== null;
  }

  start() {
    const options = { stdio: ['ignore', 'ignore', 'pipe'], detached: this.ownGroup };
    const child = spawn(this.program, ['-c', this.conf], options);
    this.#child = child;
    this.#wanted = true;
    this.failed = null;
    child.stderr.on('data', (text) => (this.#output = (this.#output + text).slice(-4000)));
    child.on('exit', (code, signal) => {
      if (this.#child === child) this.#child = null;
      if (this.#wanted && this.#child === null) this.failed = `${signal ?? code} ${this.#output}`;
    });
  }

  signal(name) {
    this.#child?.kill(name);
  }

  /** Resolves when the process is gone. */
  async kill(name = 'SIGKILL') {
    const child = this.#child;
    this.#wanted = false;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(name);
    if (name !== 'SIGSTOP') await ended;
  }

  async health() {
    return (await this.#monitored('healthz')) !== null;
  }

  /** The servers of JetStream as this one sees them; null: it does not answer. */
  async metaCluster() {
    return (await this.#monitored('jsz'))?.meta_cluster ?? null;
  }

  /** What its monitoring port answers; null: no success. */
  async #monitored(what) {
    try {
      const response = await fetch(`${this.monitorUrl}/${what}`, { signal: AbortSignal.timeout(2_000) });
      return response.ok ? await response.json() : null;
    } catch {
      return null;
    }
  }

  /** The last of what the server wrote. */
  async log() {
    return this.#output || (await readFile(this.conf, 'utf8'));
  }
}

async function main(words) {
  let servers = 3;
  let dir;
  while (words[0]?.startsWith('--')) {
    const [flag, value] = words.splice(0, 2);
    if (flag === '--servers' && Number(value) > 0) servers = Number(value);
    else if (flag === '--dir' && value !== undefined) dir = value;
    else throw new Error(`usage: with-nats.mjs [--servers N] [--dir DIR] COMMAND [ARG...]`);
  }
  const [command, ...args] = words;
  if (command === undefined) throw new Error('say which command to run beside the servers');
  let isStopped = false;
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(name, () => (isStopped = true));
  const nats = await startNats({ servers, dir, ownGroup: true });
  try {
    if (isStopped) return;
    const env = { ...process.env, QUOTEBOOK_CLUSTER: nats.url };
    const child = spawn(command, args, { env, stdio: 'inherit' });
    for (const name of ['SIGHUP', 'SIGTERM']) process.on(name, () => child.kill(name));
    process.exitCode = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    await nats.stop();
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main(process.argv.slice(2));
