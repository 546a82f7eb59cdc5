import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

/** From the signal on, for a stop that strace slows down. How fast the end follows a failure is read from the trace. */
const END_MS = 30_000;
const hasStrace = spawnSync('strace', ['-V']).status === 0;

/** Resolves to whether it is: strace says so, or ends. */
async function attached(strace: ChildProcessByStdio<null, null, Readable>): Promise<boolean> {
  return new Promise((resolve) => {
    strace.stderr.on('data', (said: Buffer) => said.includes(' attached') && resolve(true));
    strace.once('close', () => resolve(false));
  });
}

for (const call of ['fdatasync', 'pwrite64', 'fsync']) {
  const name = `from the first ${call} that fails on, nothing is acknowledged and nothing retried`;
  t.test(name, { skip: !hasStrace && 'there is no strace here' }, async (t) => {
    t.setTimeout(240_000);
    const chain = await startLocalChain();
    t.teardown(() => chain.stop());
    const directory = t.testdir();
    const service = await ServiceProcess.prepare(chain, directory);
    t.teardown(() => service.end('SIGKILL'));
    const loaded = new LoadedService(chain, service);
    await loaded.start();
    await loaded.acknowledges();
    const trace = path.join(directory, 'trace');
    const words = ['-f', '-y', '-tt', '-p', String(service.pid), '-o', trace];
    const strace = spawn('strace', [...words, '-e', `trace=${call},exit_group`, '-e', `inject=${call}:error=EIO`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (!(await attached(strace))) {
      t.pass('strace attaches', { skip: 'it may not here' });
      return;
    }
    // Directories are synced now and then; the snapshot that a stop makes needs its name to be durable.
    if (call === 'fsync') process.kill(Number(service.pid), 'SIGTERM');
    const ended = await Promise.race([service.ended(), pause(END_MS, 'not ended', { ref: false })]);
    strace.kill();
    if (strace.exitCode === null && strace.signalCode === null) await once(strace, 'exit');
    await service.end('SIGKILL');
    await loaded.over();
    const lines = readFileSync(trace, 'utf8').split('\n');
    const failed = lines.filter((line) => line.includes('(INJECTED)'));
    t.equal(ended, 1, 'the process ends');
    const tookMs = atMs(lines.find((line) => line.includes('exit_group'))) - atMs(failed[0]);
    t.ok(tookMs < 1_000, `${tookMs} ms after the call failed`);
    // Each call since strace was attached has failed.
    const calls = lines.filter((line) => line.includes(`${call}(`));
    const files = calls.map((line) => /<([^>]*)>/.exec(line)?.[1]).filter((file) => file?.startsWith(directory));
    t.not(files.length, 0);
    t.equal(new Set(files).size, files.length, `no file was tried twice: ${files.join()}`);

    await service.start();
    await loaded.checkAll();
    t.ok(loaded.acked > 0, `${loaded.acked} quotes acknowledged, ${loaded.events} events told`);
    t.equal(await service.end('SIGTERM'), 0);
  });
}

/** `PID HH:MM:SS.ssssss call(...)`, in milliseconds. */
function atMs(line = ''): number {
  const [, hours, minutes, seconds] = /(\d\d):(\d\d):(\d\d\.\d+)/.exec(line) ?? [];
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}
