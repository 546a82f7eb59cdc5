import assert from 'node:assert/strict';
import t from 'tap';
import { segmentName, snapshotIndexes, snapshotName } from '../../../src/persistence/format/file-names.js';
import { endOfContent, isUnused } from '../../../src/persistence/format/frame.js';
import { FIRST_SEGMENT } from '../made-log.js';
import { World } from '../world.js';

/** More than a sector, so that a power cut may take a part of it, and no zeros in it or at its end. */
const TAIL = Buffer.alloc(1500, 'half a group ');
const RECORDS = 5;
const NEXT_SEGMENT = segmentName(2);
/** Where in that one something stands; the first segment has its tail behind this. */
const NEXT_AT = 100;

/** A log whose process was killed while it wrote. `offset`: where its whole groups end. */
async function tornLog(): Promise<{ world: World; offset: number; stateHash: string }> {
  const world = new World(4);
  const process = await world.start();
  world.submit(process, RECORDS);
  await world.clock.until(process.log.journal.flush());
  // Until the next segment lies ready, too.
  await world.clock.advance(10_000);
  const stateHash = process.log.engine.stateHash();
  world.disk.crash('kill');
  world.clock.clear();
  const bytes = world.disk.contentOf(FIRST_SEGMENT);
  const offset = endOfContent(bytes, 0);
  TAIL.copy(bytes, offset);
  world.disk.place(FIRST_SEGMENT, bytes);
  return { world, offset, stateHash };
}

const brokenFiles = ({ disk }: World): string[] => disk.fileNames().filter((name) => name.endsWith('.broken'));

t.test('a start cuts a torn tail off, keeps its bytes, and warns of how many there were', async (t) => {
  const { world, offset, stateHash } = await tornLog();
  const { log, lines } = await world.start();
  t.equal(log.engine.stateHash(), stateHash);
  const copy = `${FIRST_SEGMENT}.${offset}.broken`;
  t.strictSame(brokenFiles(world), [copy]);
  t.ok(world.disk.contentOf(copy).equals(TAIL), 'the copy is what was cut off');
  t.equal(endOfContent(world.disk.contentOf(FIRST_SEGMENT), 0), offset, 'nothing is left of it in the segment');
  t.match(
    lines.filter(({ level }) => level !== 'info'),
    [
      {
        level: 'warn',
        details: { segment: FIRST_SEGMENT, offset, bytes: TAIL.length, kept: [copy] },
        message: 'torn tail cut off',
      },
    ],
  );
  t.equal(log.journal.refusal(), null, 'and the log goes on');
});

t.test('what stands behind it in the segment that lay ready is cut off with it, and kept', async (t) => {
  const { world, offset } = await tornLog();
  const next = world.disk.contentOf(NEXT_SEGMENT);
  t.equal(endOfContent(next, 0), 0, 'it lies ready');
  TAIL.copy(next, NEXT_AT);
  world.disk.place(NEXT_SEGMENT, next);
  const { lines } = await world.start();
  const copies = [`${FIRST_SEGMENT}.${offset}.broken`, `${NEXT_SEGMENT}.0.broken`];
  t.strictSame(brokenFiles(world), copies);
  t.ok(world.disk.contentOf(copies[1] ?? '').equals(next.subarray(0, NEXT_AT + TAIL.length)));
  t.ok(isUnused(world.disk.contentOf(NEXT_SEGMENT)), 'the next segment is unused again');
  const bytes = TAIL.length + NEXT_AT + TAIL.length;
  const [warning] = lines.filter(({ level }) => level !== 'info');
  t.match(warning, { details: { segment: FIRST_SEGMENT, offset, bytes, kept: copies } });
});

t.test('a second tail at the same place does not take the name of the first', async (t) => {
  const { world, offset } = await tornLog();
  const torn = world.disk.contentOf(FIRST_SEGMENT);
  await world.start();
  world.disk.crash('kill');
  world.clock.clear();
  world.disk.place(FIRST_SEGMENT, torn);
  await world.start();
  const copies = [`${FIRST_SEGMENT}.${offset}.2.broken`, `${FIRST_SEGMENT}.${offset}.broken`];
  t.strictSame(brokenFiles(world), copies);
  for (const name of copies) t.ok(world.disk.contentOf(name).equals(TAIL), name);
});

t.test('wherever the cut is cut short itself, no byte of the tail is lost', async (t) => {
  for (let nth = 1; ; nth += 1) {
    const { world, offset, stateHash } = await tornLog();
    const { clock, disk } = world;
    disk.inject({ nth, code: 'EIO', persistent: true });
    await world.start().catch(() => undefined);
    const isOver = disk.calls < nth;
    disk.inject(null);
    disk.crash('power');
    clock.clear();
    const isKept = brokenFiles(world).some((name) => disk.contentOf(name).equals(TAIL));
    const there = disk.contentOf(FIRST_SEGMENT).subarray(offset, offset + TAIL.length);
    assert.ok(isKept || there.equals(TAIL), `after call ${nth} a part of the tail is nowhere`);
    const again = await world.start();
    assert.equal(again.log.engine.stateHash(), stateHash);
    if (!isOver) continue;
    t.ok(nth > 20, `${nth - 1} calls`);
    return;
  }
});

t.test('a group that a failed sync left in memory alone is on the disk once a start has counted it in', async (t) => {
  const world = new World(4);
  const { clock, disk } = world;
  const failed = await world.start();
  await clock.advance(1000);
  disk.inject({ nth: 1, code: 'EIO', persistent: false, calls: ['sync'] });
  world.submit(failed, 2 * RECORDS);
  await t.rejects(clock.until(failed.log.journal.flush()), { code: 'FAILED' });
  disk.crash('kill');
  clock.clear();
  const { log } = await world.start();
  t.equal(log.engine.index, 2 * RECORDS, 'it reads as written');
  disk.crash('power');
  clock.clear();
  t.equal((await world.start()).log.engine.index, 2 * RECORDS);
});

/** With a snapshot. */
async function stopped(): Promise<{ world: World; index: number; name: string }> {
  const world = new World(5);
  const first = await world.start();
  world.submit(first, 10);
  await world.clock.until(first.log.close());
  const [index = 0] = snapshotIndexes(world.disk.fileNames());
  return { world, index, name: snapshotName(index) };
}

function rot(world: World, name: string, at: number): Buffer {
  const rotten = world.disk.contentOf(name);
  rotten[at] = (rotten[at] ?? 0) ^ 1;
  world.disk.place(name, rotten);
  return rotten;
}

t.test('a snapshot that is of no use is put aside as it is, and its name is free for another', async (t) => {
  const { world, index, name } = await stopped();
  const rotten = rot(world, name, 500);

  const second = await world.start();
  t.equal(second.log.engine.index, 10);
  world.disk.crash('power');
  world.clock.clear();
  t.notOk(world.disk.fileNames().includes(name), 'durably');
  t.ok(world.disk.contentOf(`${name}.broken`).equals(rotten));

  const third = await world.start();
  await world.clock.until(third.log.close());
  t.strictSame(snapshotIndexes(world.disk.fileNames()), [index], 'one of the same record is made again');
});

t.test('of two that went bad under one name, both are kept', async (t) => {
  const { world, name } = await stopped();
  const first = rot(world, name, 500);
  await world.clock.until((await world.start()).log.close());
  const second = rot(world, name, 501);
  await world.clock.until((await world.start()).log.close());

  t.ok(world.disk.contentOf(`${name}.broken`).equals(first));
  t.ok(world.disk.contentOf(`${name}.2.broken`).equals(second));
});
