import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { noSystemdNotify as skip, openNotifySocket } from '../system/notify-socket.js';
import { until } from '../until.js';

const program = fileURLToPath(new URL('../../src/cli/quotebook.js', import.meta.url));

t.test('the program says that it listens, that it is ready, that it lives, and that it stops', { skip }, async (t) => {
  const dataDir = t.testdir();
  const socket = await openNotifySocket();
  t.teardown(() => socket.close());
  const service = spawn(process.execPath, [program, 'serve', '--port', '0', '--data-dir', dataDir], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '200000' },
  });
  const ended = once(service, 'exit');
  t.teardown(() => service.kill('SIGKILL'));
  await until(() => socket.messages.includes('STATUS=ready'));
  await until(() => socket.messages.filter((message) => message === 'WATCHDOG=1').length > 3);
  service.kill('SIGTERM');
  t.strictSame(await ended, [0, null]);
  await until(() => socket.messages.includes('STOPPING=1'));
  t.strictSame(
    socket.messages.filter((message) => message !== 'WATCHDOG=1'),
    [
      'STATUS=asks the chains who they are',
      'STATUS=recovers the log',
      'READY=1',
      'STATUS=reads the chains to their heads',
      'STATUS=ready',
      'STOPPING=1',
    ],
  );
});
