import assert from 'node:assert/strict';
import t from 'tap';
import { newEngine } from '../engine/samples.js';
import type { LogProcess } from '../simulation/simulated-log.js';
import { World } from './world.js';

interface Outcome {
  /** Calls to the disk that the whole life made. */
  readonly calls: number;
  readonly isClean: boolean;
}

/**
 * Start, records, a snapshot, more records, an orderly end: with the n-th call to the disk failing, and then a start
 * without faults.
 */
async function live(nth: number, persistent: boolean): Promise<Outcome> {
  const world = new World(6);
  const { clock, disk } = world;
  disk.inject({ nth, code: 'EIO', persistent });
  const states = new Map([[0, newEngine().stateHash()]]);
  let told = 0;
  let failure: unknown = null;
  let process: LogProcess | null = null;
  try {
    process = await world.start({ snapshotEveryRecords: 20, segmentBytes: 4 << 10, retainLogBytes: 0 });
    for (let round = 0; round < 12; round += 1) {
      world.submit(process, 5);
      // They are one group: all of it is there afterwards or nothing.
      states.set(process.log.engine.index, process.log.engine.stateHash());
      await clock.until(process.log.journal.flush());
      await clock.advance(20);
    }
    await clock.until(process.log.close());
  } catch (error) {
    failure = error;
  }
  const { calls } = disk;
  if (process !== null) {
    told = process.told;
    // A failure must show: onFatal was called, closing rejected, or the start failed.
    const isTold = process.fatal.length > 0 || failure !== null;
    const isRoom = process.lines.some(({ message }) => message === 'disk nearly full');
    assert.ok(calls < nth || isTold || isRoom, `call ${nth} failed and nobody knows`);
  }
  disk.inject(null);
  disk.crash('power');
  clock.clear();
  const again = await world.start();
  assert.ok(again.log.engine.index >= told, `${told} records were acknowledged, ${again.log.engine.index} are there`);
  assert.equal(again.log.engine.stateHash(), states.get(again.log.engine.index));
  return { calls, isClean: failure === null && process?.fatal.length === 0 };
}

for (const persistent of [false, true]) {
  t.test(`each call to the disk fails in turn, ${persistent ? 'and all after it' : 'once'}`, async (t) => {
    for (let nth = 1; ; nth += 1) {
      const { calls, isClean } = await live(nth, persistent);
      if (calls >= nth) continue;
      t.ok(isClean, 'without a fault there is no failure');
      t.ok(nth > 200, `${nth - 1} calls`);
      return;
    }
  });
}
