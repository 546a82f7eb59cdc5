import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { until } from '../until.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const ROUNDS = process.env.QUOTEBOOK_TEST_LONG === undefined ? 2 : 60;
/** A service with a small book has made its last snapshot sooner after the signal to stop. */
const LONGEST_STOP_MS = 100;

/** The one process that makes snapshots for that service. */
function snapshotProcessOf({ pid }: ServiceProcess): number {
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && makesSnapshots(name, pid));
  assert.equal(found.length, 1);
  return Number(found[0]);
}

function makesSnapshots(pid: string, parent: number | undefined): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name in brackets: the state, and the parent (proc(5)).
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(ppid) === parent && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('snapshot-child.js');
  } catch {
    // It ended meanwhile.
    return false;
  }
}

/** A process that ended and was not waited for has no command line any more. */
async function gone(pid: number): Promise<void> {
  const commandLine = (): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  await until(() => commandLine() === '');
}

function signal({ pid }: ServiceProcess, name: NodeJS.Signals): void {
  process.kill(Number(pid), name);
}

interface Running {
  readonly service: ServiceProcess;
  readonly loaded: LoadedService;
  readonly logDir: string;
  /** Resolves when the service has stopped in order, to what lies in its log's directory then. */
  readonly stopped: () => Promise<string[]>;
}

async function prepared(t: Test): Promise<Running> {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const dataDir = t.testdir();
  const service = await ServiceProcess.prepare(chain, dataDir);
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  const logDir = path.join(dataDir, chain.profile.name);
  const stopped = async (): Promise<string[]> => {
    t.equal(await service.ended(), 0, 'it stops in order');
    await loaded.over();
    const { code, stderr } = await service.run(['log', 'verify', logDir]);
    t.equal(code, 0, `the log is right ${stderr}`);
    return readdirSync(logDir);
  };
  return { service, loaded, logDir, stopped };
}

/** A kill between the creation of a file of trades and its first write leaves it empty; the next start sets it aside. */
function isUnwritten(logDir: string, name: string): boolean {
  return /^trades-\d+\.log\.broken$/.test(name) && statSync(path.join(logDir, name)).size === 0;
}

t.test(
  'a service that is killed while it stops leaves no process, and what is left on its way harms none',
  async (t) => {
    const { service, loaded, logDir, stopped } = await prepared(t);
    await loaded.start();
    for (let round = 0; round < ROUNDS; round += 1) {
      await loaded.acknowledges();
      const orphan = snapshotProcessOf(service);
      // Every other one begins with the snapshot that it was asked for when the next service has begun.
      const isHeld = round % 2 === 0;
      if (isHeld) process.kill(orphan, 'SIGSTOP');
      signal(service, 'SIGTERM');
      await pause(randomInt(LONGEST_STOP_MS));
      await service.end('SIGKILL');
      await loaded.over();
      if (!isHeld) await gone(orphan);
      await loaded.start();
      if (isHeld) process.kill(orphan, 'SIGCONT');
      await gone(orphan);
    }
    await loaded.acknowledges();
    signal(service, 'SIGTERM');
    await stopped();
    await loaded.start();
    await loaded.checkAll();
    signal(service, 'SIGTERM');
    const names = await stopped();
    t.strictSame(
      names.filter((name) => /\.tmp$|\.broken$/.test(name) && !isUnwritten(logDir, name)),
      [],
      'nothing unfinished is left',
    );
  },
);

t.test('a service whose snapshot process is killed goes on, and has another one', async (t) => {
  const { service, loaded, stopped } = await prepared(t);
  await loaded.start();
  await loaded.acknowledges();
  const idle = snapshotProcessOf(service);
  process.kill(idle, 'SIGKILL');
  // Until the service has heard of it.
  await until(() => !existsSync(`/proc/${idle}`));
  signal(service, 'SIGTERM');
  const snapshots = (await stopped()).filter((name) => name.endsWith('.snap'));
  t.equal(snapshots.length, 1, 'the stop made a snapshot');
  t.notMatch(service.said, /snapshot/);

  // In the middle of a snapshot, or just before: the stop has one made by another process then.
  await loaded.start();
  await loaded.acknowledges();
  const held = snapshotProcessOf(service);
  process.kill(held, 'SIGSTOP');
  signal(service, 'SIGTERM');
  await loaded.over();
  process.kill(held, 'SIGKILL');
  await stopped();

  await loaded.start();
  await loaded.checkAll();
  signal(service, 'SIGTERM');
  await stopped();
});

t.test('Ctrl-C, which all of its processes get, is a stop in order with a snapshot', async (t) => {
  const { service, loaded, stopped } = await prepared(t);
  await loaded.start();
  await loaded.acknowledges();
  const snapshotProcess = snapshotProcessOf(service);
  process.kill(snapshotProcess, 'SIGINT');
  signal(service, 'SIGINT');
  const names = await stopped();
  t.equal(names.filter((name) => name.endsWith('.snap')).length, 1);
  t.notMatch(service.said, /snapshot/);
  await gone(snapshotProcess);
});
