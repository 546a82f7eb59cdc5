import { execFileSync } from 'node:child_process';
import t from 'tap';
import { logProgress, openServiceManager, type ServiceManager } from '../../src/system/systemd.js';
import { ManualClock } from './manual-clock.js';
import { until } from '../until.js';
import { type NotifySocket, noSystemdNotify as skip, openNotifySocket } from './notify-socket.js';

const { PATH } = process.env;
const fail = (error: Error): void => {
  throw error;
};

/** All that systemd heard up to now. */
async function heard(manager: ServiceManager | null, { messages }: NotifySocket): Promise<readonly string[]> {
  manager?.status('end');
  await manager?.close();
  await until(() => messages.includes('STATUS=end'));
  return messages.filter((message) => message !== 'STATUS=end');
}

function killRelays(signal: NodeJS.Signals): void {
  const relays = execFileSync('pgrep', ['-P', String(process.pid), '-f', 'systemd-notify'], { encoding: 'utf8' });
  for (const pid of relays.trim().split('\n')) process.kill(Number(pid), signal);
}

t.test('without a service manager nothing is started', async (t) => {
  t.equal(openServiceManager({ PATH }, new ManualClock(), fail), null);
});

t.test('systemd hears of the start, the state and the stop, in this order', { skip }, async (t) => {
  const socket = await openNotifySocket();
  t.teardown(() => socket.close());
  const manager = openServiceManager({ PATH, NOTIFY_SOCKET: socket.path }, new ManualClock(), fail);
  manager?.status('recovers the log');
  manager?.ready(() => true);
  manager?.status('"ready" $HOME `id`');
  manager?.stopping();
  t.strictSame(await heard(manager, socket), [
    'STATUS=recovers the log',
    'READY=1',
    'STATUS="ready" $HOME `id`',
    'STOPPING=1',
  ]);
});

t.test('the watchdog is fed twice in its time, while there is progress', { skip }, async (t) => {
  const socket = await openNotifySocket();
  t.teardown(() => socket.close());
  const clock = new ManualClock();
  const environment = { PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '2000000', WATCHDOG_PID: String(process.pid) };
  const manager = openServiceManager(environment, clock, fail);
  let makesProgress = true;
  manager?.ready(() => makesProgress);
  clock.advance(999);
  manager?.status('not yet');
  clock.advance(1);
  manager?.status('fed');
  makesProgress = false;
  clock.advance(5_000);
  manager?.status('hung');
  makesProgress = true;
  clock.advance(1_000);
  t.strictSame(await heard(manager, socket), [
    'READY=1',
    'WATCHDOG=1',
    'STATUS=not yet',
    'WATCHDOG=1',
    'STATUS=fed',
    'STATUS=hung',
    'WATCHDOG=1',
  ]);
});

t.test("another process's watchdog is not fed", { skip }, async (t) => {
  const socket = await openNotifySocket();
  t.teardown(() => socket.close());
  const clock = new ManualClock();
  const environment = { PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '2000000', WATCHDOG_PID: '1' };
  const manager = openServiceManager(environment, clock, fail);
  manager?.ready(() => true);
  clock.advance(5_000);
  t.strictSame(await heard(manager, socket), ['READY=1']);
});

t.test('the relay outlives the SIGTERM that a stop sends to all processes of the unit', { skip }, async (t) => {
  const socket = await openNotifySocket();
  t.teardown(() => socket.close());
  const manager = openServiceManager({ PATH, NOTIFY_SOCKET: socket.path }, new ManualClock(), fail);
  manager?.ready(() => true);
  await until(() => socket.messages.includes('READY=1'));
  killRelays('SIGTERM');
  manager?.stopping();
  t.strictSame(await heard(manager, socket), ['READY=1', 'STOPPING=1']);
});

t.test('a relay that ends is reported', async (t) => {
  const failures: string[] = [];
  const manager = openServiceManager({ PATH, NOTIFY_SOCKET: '/nowhere' }, new ManualClock(), ({ message }) =>
    failures.push(message),
  );
  killRelays('SIGKILL');
  await until(() => failures.length > 0);
  t.strictSame(failures, ['The relay to systemd ended with SIGKILL']);
  manager?.ready(() => true);
  await manager?.close();
});

t.test('the log makes progress while it commits, has nothing to commit, or takes nothing', async (t) => {
  const log = { applied: 5, durable: 5, isRefusing: false };
  const makesProgress = logProgress({
    applied: () => log.applied,
    durable: () => log.durable,
    isRefusing: () => log.isRefusing,
  });
  t.ok(makesProgress());
  t.ok(makesProgress(), 'idle');
  log.applied = 9;
  t.notOk(makesProgress(), 'nothing became durable since the last question');
  log.durable = 7;
  t.ok(makesProgress(), 'some of it became durable');
  t.notOk(makesProgress(), 'and then nothing');
  log.isRefusing = true;
  t.ok(makesProgress(), 'the disk is full');
  log.isRefusing = false;
  log.durable = 9;
  t.ok(makesProgress());
});
