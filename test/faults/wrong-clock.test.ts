import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const UNDER_LOAD_MS = 2_000;
const DAY_MS = 86_400_000;
const STEP_EVERY_MS = 150;
/** As faketime takes them. The last is the time that is right. */
const STEPS = ['+1h', '-1h', '+1d', '-1d', '+0'];
const steppingDate = new URL('./stepping-date.js', import.meta.url).href;
/** Where Debian's package `faketime` has it. */
const FAKETIME_LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((file) => existsSync(file));

/** Environment in which a process takes its time from a file. File time stamps and monotonic time stay what they are. */
function faked(library: string, stepFile: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: stepFile,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  };
}

/** Why libfaketime cannot set the time of a process here, or null: a process under it prints the time that it sees. */
function obstacle(t: Test): string | null {
  if (FAKETIME_LIBRARY === undefined) return 'there is no libfaketime here';
  const stepFile = path.join(t.testdir(), 'step');
  writeFileSync(stepFile, '+1d\n');
  const env = { ...process.env, ...faked(FAKETIME_LIBRARY, stepFile) };
  const { stdout } = spawnSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' });
  return Number(stdout) - Date.now() > DAY_MS / 2 ? null : 'libfaketime steps no time of Node here';
}

interface SteppedClock {
  readonly settings?: Readonly<Record<string, string>>;
  readonly nodeFlags?: readonly string[];
  /** Steps it, as long as the service is under load. */
  step?(ms: number): Promise<void>;
}

/** A service under load whose clock steps, then the same log under one that is right. */
async function stepUnderLoad(t: Test, dataDir: string, clock: SteppedClock): Promise<void> {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const service = await ServiceProcess.prepare(chain, dataDir, {
    QUOTEBOOK_STATE_HASH_EVERY_RECORDS: '5',
    ...clock.settings,
  });
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  await loaded.start(clock.nodeFlags);
  await (clock.step ?? pause)(UNDER_LOAD_MS);
  await loaded.acknowledges();
  await loaded.over();
  t.ok(loaded.acked > 0, `${loaded.acked} quotes for an hour were taken meanwhile`);
  await loaded.checkAll();
  t.equal(loaded.events, loaded.acked, 'each was posted, and nothing else happened');
  await service.end('SIGKILL');

  const { code, stderr } = await service.run(['log', 'verify', path.join(dataDir, chain.profile.name)]);
  t.equal(code, 0, `a replay under a clock that is right gives the same state: ${stderr}`);
  await service.start();
  await loaded.checkAll();
  t.equal(await service.end('SIGTERM'), 0);
}

t.test('a wall clock that steps by a day expires no quote, and changes nothing in the log', async (t) => {
  t.setTimeout(120_000);
  await stepUnderLoad(t, t.testdir(), { nodeFlags: ['--import', steppingDate] });
});

t.test(
  'nor does one that steps for all that the process is made of, and for those that it starts',
  { skip: obstacle(t) ?? false, timeout: 120_000 },
  async (t) => {
    const dataDir = t.testdir();
    const stepFile = path.join(dataDir, 'step');
    const set = (step: string | undefined): void => writeFileSync(stepFile, `${step ?? '+0'}\n`);
    set('+0');
    await stepUnderLoad(t, dataDir, {
      settings: faked(FAKETIME_LIBRARY ?? '', stepFile),
      step: async (ms) => {
        for (let at = 0; at * STEP_EVERY_MS < ms; at += 1) {
          set(STEPS[at % STEPS.length]);
          await pause(STEP_EVERY_MS);
        }
        set('+0');
      },
    });
  },
);
