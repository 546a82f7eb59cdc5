import { constants, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RestClient } from '../e2e/rest-client.js';
import { until } from '../until.js';
import { ServiceProcess } from './service-process.js';

/** The check comes every 100 ms; a busy machine may take longer. */
const END_MS = 20_000;

/** pino's level of warnings. */
const WARN = 40;

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly component?: string;
  readonly err?: { readonly message: string };
}

const linesOf = (said: string): Line[] =>
  said
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** Whether the process has the file open as it writes the log: each write durable. */
function hasOpenForWrites(pid: number | undefined, file: string): boolean {
  const descriptors = readdirSync(`/proc/${pid}/fd`);
  return descriptors.some((descriptor) => {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${descriptor}`) !== file) return false;
      const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8')) ?? [];
      return (Number.parseInt(flags, 8) & constants.O_DSYNC) !== 0;
    } catch {
      // It was closed meanwhile.
      return false;
    }
  });
}

for (const [what, whatIsLeft] of [
  ['moved away', 'nothing in its place'],
  ['moved away and replaced', 'an empty directory in its place'],
] as const) {
  t.test(`a service whose log directory is ${what} stops, and says so once`, async (t) => {
    const chain = await startLocalChain();
    t.teardown(() => chain.stop());
    const root = t.testdir();
    const service = await ServiceProcess.prepare(chain, root, { QUOTEBOOK_DATA_DIR: path.join(root, 'data') });
    t.teardown(() => service.end('SIGKILL'));
    await service.start();
    const data = path.join(root, 'data');
    const log = path.join(data, chain.profile.name);
    for (const made of [data, log]) t.equal(statSync(made).mode & 0o777, 0o700, `${made} is the owner's alone`);
    const rest = new RestClient(service.httpUrl, service.apiKey);
    t.equal((await rest.get('/ready')).status, 200);

    // The next segment is made ready under way, and would be the first to miss the directory. At last it is opened for
    // writes: that is not what is tested here.
    await until(() => hasOpenForWrites(service.pid, path.join(log, 'segment-00000002.log')));
    renameSync(log, path.join(root, 'moved'));
    if (what !== 'moved away') mkdirSync(log);
    const ended = await Promise.race([service.ended(), pause(END_MS, 'not ended', { ref: false })]);
    t.equal(ended, 1, `it ends with ${whatIsLeft}`);
    const lines = linesOf(service.said).filter(({ level }) => level > WARN);
    t.match(lines, [
      { level: 60, msg: 'process failed', component: 'log', err: { message: /was moved away or replaced/ } },
    ]);
    t.equal(lines.length, 1, service.said);
    t.equal(service.said.match(/moved away or replaced/g)?.length, 2, 'in its message and at the head of its stack');

    if (what !== 'moved away') renameSync(log, path.join(root, 'empty'));
    renameSync(path.join(root, 'moved'), log);
    await service.start();
    t.equal((await new RestClient(service.httpUrl, service.apiKey).get('/ready')).status, 200, 'put back, it goes on');
    t.equal(await service.end('SIGTERM'), 0);
  });
}
