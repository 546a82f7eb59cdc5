import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';
import { SmallVolume, type FileSystem } from './small-volume.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
const CUTS = isLong ? 50 : 10;
const LONGEST_LIFE_MS = isLong ? 2_000 : 450;
/** A process that has lost its disk is to be gone by then. */
const END_MS = 5_000;
/** XFS takes no less than 300. */
const VOLUME_MIB = 320;
const FILE_SYSTEMS: readonly FileSystem[] = ['ext4', 'xfs'];

/** One log whose disk loses its power again and again. */
async function cutOften(t: Test, volume: SmallVolume): Promise<void> {
  const chain = await startLocalChain();
  const service = await ServiceProcess.prepare(chain, t.testdir(), {
    QUOTEBOOK_DATA_DIR: volume.path,
    QUOTEBOOK_STATE_HASH_EVERY_RECORDS: '2',
  });
  const loaded = new LoadedService(chain, service);
  let slowestMs = 0;
  try {
    for (let cut = 0; cut < CUTS; cut += 1) {
      await loaded.start();
      // Half of them come before anything may have been acknowledged.
      if (cut % 2 === 0) await loaded.acknowledges();
      await pause(randomInt(20, LONGEST_LIFE_MS));
      const startMs = performance.now();
      volume.cutPower();
      const ended = await Promise.race([service.ended(), pause(END_MS, 'not ended', { ref: false })]);
      slowestMs = Math.max(slowestMs, performance.now() - startMs);
      t.equal(ended, 1, 'the process ends');
      await service.end('SIGKILL');
      await loaded.over();
      volume.unmount();
      volume.mount();
    }
    await service.start();
    await loaded.checkAll();
    t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
  } finally {
    await service.end('SIGKILL');
    await chain.stop();
  }
  t.comment(
    `${loaded.acked} quotes acknowledged, ${loaded.events} events told, gone ${slowestMs.toFixed(0)} ms after a cut at most`,
  );
  t.ok(loaded.acked > CUTS, 'there was load');
}

// Side by side: most of each is waiting.
t.jobs = FILE_SYSTEMS.length;
for (const fileSystem of FILE_SYSTEMS) {
  const volume = SmallVolume.make(t, VOLUME_MIB, fileSystem);
  const obstacle = typeof volume === 'string' ? volume : false;
  void t.test(
    `${CUTS} power cuts under load on ${fileSystem} lose nothing that was acknowledged`,
    { skip: obstacle, timeout: CUTS * 30_000 },
    async (t) => {
      if (typeof volume !== 'string') await cutOften(t, volume);
    },
  );
}
