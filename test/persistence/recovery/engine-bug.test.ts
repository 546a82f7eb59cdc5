import t from 'tap';
import type { Command } from '../../../src/engine/command.js';
import type { Engine } from '../../../src/engine/engine.js';
import { RecordReader } from '../../../src/persistence/codec/record-codec.js';
import type { PersistenceError } from '../../../src/persistence/disk/disk.js';
import { readFrame } from '../../../src/persistence/format/frame.js';
import { World } from '../world.js';

const TYPES: readonly Command['type'][] = [
  'ENTER_QUOTE',
  'FILL_QUOTE',
  'CANCEL_QUOTE',
  'SET_VALIDITY',
  'DEPLOY_POOL',
  'REWIND_STREAM',
  'REWIND_SETTLEMENT',
  'ADVANCE_POSITION',
  'PUBLISH_RFQ',
];
const RECORDS_BEFORE = 20;

/** The engine does the command, and then throws: it is in a state that no log tells of. */
function throwAt(engine: Engine, type: Command['type']): void {
  const apply = engine.apply.bind(engine);
  engine.apply = (command, stamp) => {
    const events = apply(command, stamp);
    if (command.type === type) throw new Error(`a bug in ${type}`);
    return events;
  };
}

for (const type of TYPES) {
  t.test(`an exception after ${type} stops everything, and is not in the log`, async (t) => {
    const world = new World(1);
    const { clock, disk } = world;
    const process = await world.start();
    world.submit(process, RECORDS_BEFORE);
    await clock.until(process.log.journal.flush());
    throwAt(process.log.engine, type);
    let taken = RECORDS_BEFORE;
    t.throws(
      () => {
        for (; ; taken += 1) world.submit(process, 1);
      },
      { message: `a bug in ${type}` },
    );
    t.match(process.fatal, [{ message: `a bug in ${type}` }]);
    await clock.advance(1000);
    t.equal(process.told, RECORDS_BEFORE, 'nothing more is committed, not even the record before');
    t.throws(() => world.submit(process, 1), /nothing is applied after a fault/);

    disk.crash('kill');
    clock.clear();
    const next = await world.start();
    t.equal(next.log.engine.index, taken, 'the log ends before it');
    next.log.engine.checkInvariants();
  });
}

t.test('a log whose record tells other events than the engine makes of it is refused, naming the record', async (t) => {
  const world = new World(1);
  const process = await world.start({ stateHashEveryRecords: Infinity });
  const { engine, journal } = process.log;
  const apply = engine.apply.bind(engine);
  let silenced = 0;
  let seqBefore = 0;
  engine.apply = (command, stamp) => {
    const events = apply(command, stamp);
    if (silenced > 0 || stamp.index < RECORDS_BEFORE || events.length === 0) return events;
    silenced = stamp.index;
    seqBefore = (events[0]?.seq ?? 0) - 1;
    return [];
  };
  // So many that others with events come behind it.
  world.submit(process, 3 * RECORDS_BEFORE);
  await world.clock.until(journal.flush());
  world.disk.crash('kill');
  world.clock.clear();
  const refusal: unknown = await world.start().catch((error: unknown) => error);
  const file = 'segment-00000001.log';
  t.match(refusal, {
    code: 'DIFFERS',
    message: new RegExp(`the engine makes something else of record ${silenced} than the log says`),
    place: { file, index: silenced - 1, seq: seqBefore },
  });
  const frame = readFrame(world.disk.contentOf(file), (refusal as PersistenceError).place?.offset ?? 0);
  t.equal(typeof frame === 'string' ? frame : new RecordReader().read(frame.payload).stamp.index, silenced);
});
