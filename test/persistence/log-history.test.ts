import t from 'tap';
import type { JournalRecord } from '../../src/engine/ports.js';
import type { LogHistory } from '../../src/persistence/log-history.js';
import { plain } from '../engine/samples.js';
import { World } from './world.js';

const GROUPS = 60;

/** What a reader is told of a record: its stamp, and the events as plain values. */
function told({ stamp, events }: JournalRecord): object {
  return { stamp, events: events.map(plain) };
}

async function read(history: LogHistory, seq: number, throughIndex: number): Promise<object[]> {
  const records: object[] = [];
  for await (const group of history.recordsAfter(seq, throughIndex)) records.push(...group.map(told));
  return records;
}

/** A log of several segments, and all that its listeners were told. */
async function toldLog(retainLogBytes: number) {
  const world = new World(4);
  const { clock } = world;
  const process = await world.start({ segmentBytes: 4 << 10, snapshotEveryRecords: 50, retainLogBytes });
  const records: { readonly lastSeq: number; readonly told: object }[] = [];
  let lastSeq = 0;
  process.sequencer.onEvents((committed) => {
    for (const record of committed) {
      lastSeq = record.events.at(-1)?.seq ?? lastSeq;
      records.push({ lastSeq, told: told(record) });
    }
  });
  for (let group = 0; group < GROUPS; group += 1) {
    world.submit(process, 4);
    await clock.until(process.log.journal.flush());
    await clock.advance(60);
  }
  return { world, process, records };
}

t.test('the records from any event on are read again as they were told, while the log goes on', async (t) => {
  const { world, process, records } = await toldLog(Infinity);
  const { history, engine } = process.log;
  t.equal(await world.clock.until(history.droppedThroughSeq()), 0);
  for (const seq of [0, 1, 17, Math.floor(engine.seq / 2), engine.seq - 1]) {
    const found = await world.clock.until(read(history, seq, engine.index));
    const wanted = records.filter(({ lastSeq }) => lastSeq > seq).map((record) => record.told);
    t.strictSame(found.slice(-wanted.length), wanted, `after ${seq}`);
    // At most the records of one group come along.
    t.ok(found.length - wanted.length < 4, `${found.length - wanted.length} too many`);
  }
  t.strictSame(await world.clock.until(read(history, engine.seq, engine.index)), []);
});

t.test('nothing behind the record that is durable is read', async (t) => {
  const { world, process, records } = await toldLog(Infinity);
  const found = await world.clock.until(read(process.log.history, 0, 100));
  t.strictSame(
    found,
    records.slice(0, 100).map((record) => record.told),
  );
});

t.test('what was dropped is told by number, and all behind it is there', async (t) => {
  const { world, process, records } = await toldLog(0);
  const { history, engine } = process.log;
  const dropped = await world.clock.until(history.droppedThroughSeq());
  t.ok(dropped > 0 && dropped < engine.seq, `dropped through ${dropped}`);
  const found = await world.clock.until(read(history, dropped, engine.index));
  const wanted = records.filter(({ lastSeq }) => lastSeq > dropped).map((record) => record.told);
  t.strictSame(found.slice(-wanted.length), wanted);
});
