import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
/** Services that live beside each other, one for each core. */
const LANES = 2;
/**
 * Chain and log are begun anew after so many kills: the book stays small, so the log records its hash often.
 */
const KILLS_A_LOG = 50;
const LOGS_A_LANE = isLong ? 5 : 1;
const LONGEST_LIFE_MS = isLong ? 2_000 : 450;

/** One log, killed again and again. Resolves to the numbers of acknowledgements and events that its clients got. */
async function killOften(t: Test): Promise<{ acked: number; events: number }> {
  const chain = await startLocalChain();
  const dataDir = t.testdir();
  const service = await ServiceProcess.prepare(chain, dataDir, { QUOTEBOOK_STATE_HASH_EVERY_RECORDS: '2' });
  const loaded = new LoadedService(chain, service);
  const logDir = path.join(dataDir, chain.profile.name);
  try {
    for (let kill = 0; kill < KILLS_A_LOG; kill += 1) {
      await loaded.start();
      // Half of them come before anything may have been acknowledged.
      if (kill % 2 === 0) await loaded.acknowledges();
      await pause(randomInt(20, LONGEST_LIFE_MS));
      await service.end('SIGKILL');
      await loaded.over();
    }
    const killed = await verify(service, logDir);
    t.ok(
      killed.comparedHashes >= KILLS_A_LOG / 2,
      `${killed.comparedHashes} hashes of killed processes, each as a replay has it`,
    );

    await service.start();
    await loaded.checkAll();
    t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
    const stopped = await verify(service, logDir);
    // Without its snapshot the log is replayed from its first record, past the hashes of every process up to that of
    // the last.
    for (const name of await readdir(logDir)) if (name.endsWith('.snap')) rmSync(path.join(logDir, name));
    const again = await verify(service, logDir);
    t.ok(
      again.comparedHashes >= killed.comparedHashes,
      `${again.comparedHashes} hashes with those of the last process`,
    );
    t.equal(again.stateHash, stopped.stateHash, 'a replay of everything gives what the snapshot does');
    return loaded;
  } finally {
    await service.end('SIGKILL');
    await chain.stop();
  }
}

/** What `quotebook log verify` says, which fails when a hash or a byte is wrong. */
async function verify(service: ServiceProcess, logDir: string): Promise<{ comparedHashes: number; stateHash: string }> {
  const { code, stdout, stderr } = await service.run(['log', 'verify', logDir]);
  if (code !== 0) throw new Error(`the log is wrong: ${stderr}`);
  const said = new Map(stdout.split('\n').map((line) => line.split(' ') as [string, string]));
  return { comparedHashes: Number(said.get('comparedHashes')), stateHash: String(said.get('stateHash')) };
}

t.test(`${LANES * LOGS_A_LANE * KILLS_A_LOG} kills under load lose nothing that was acknowledged`, async (t) => {
  t.setTimeout(LANES * LOGS_A_LANE * KILLS_A_LOG * 20_000);
  t.jobs = LANES;
  for (let lane = 0; lane < LANES; lane += 1) {
    void t.test(`service ${lane + 1}`, { buffered: true, timeout: 0 }, async (t) => {
      for (let log = 0; log < LOGS_A_LANE; log += 1) {
        const { acked, events } = await killOften(t);
        t.ok(acked > KILLS_A_LOG && events > KILLS_A_LOG, `${acked} quotes acknowledged, ${events} events told`);
      }
    });
  }
});
