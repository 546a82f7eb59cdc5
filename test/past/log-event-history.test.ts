import t from 'tap';
import { LogEvents } from '../../src/past/log-event-history.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { PastEventsPage } from '../../src/feed/event-history.js';
import { LogHistory } from '../../src/persistence/log/log-history.js';
import { plain } from '../engine/samples.js';
import { DroppingDisk } from '../persistence/dropping-disk.js';
import { madeLog } from '../persistence/made-log.js';
import { SimDisk } from '../persistence/sim-disk.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { LogProcess, SMALL } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';

const SEED = 6;
const REST_MS = 10_000;
const LIMITS = { logReads: 100, logPages: 3, logPageMs: 1_000 };

/** As plain values, in whatever order: what a reader of the log has are other objects than those of the engine. */
function text(event: EngineEvent, tsMs: number): string {
  return JSON.stringify({ ...plain(event), tsMs }, (_, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const texts = (page: PastEventsPage) =>
  page === 'BUSY' ? null : (page?.map(({ event, tsMs }) => text(event, tsMs)) ?? null);

/** A log on a simulated disk, in segments of 8 KiB, and the events that it published. */
class ToldLog {
  readonly clock = new SimClock();
  readonly random = new SeededRandom(SEED);
  /** In order; the event with number n is at n - 1. */
  readonly told: string[] = [];
  readonly #disk = new SimDisk({ clock: this.clock, random: this.random });
  readonly #workload = new Workload(this.random);
  #process: LogProcess | null = null;

  constructor(readonly retainLogBytes: number) {}

  get process(): LogProcess {
    if (this.#process === null) throw new Error('no process is running');
    return this.#process;
  }

  async start(): Promise<void> {
    const { retainLogBytes } = this;
    this.#process = await this.clock.until(LogProcess.start(this.#disk, this.clock, this.random, { retainLogBytes }));
    this.process.sequencer.onEvents((records) => {
      for (const { events, stamp } of records) for (const event of events) this.told.push(text(event, stamp.tsMs));
    });
  }

  async write(commands: number): Promise<void> {
    for (let n = 0; n < commands; n++) if (this.#workload.submitNext(this.process) === null) await this.flush();
    await this.flush();
  }

  /** So many snapshots later. */
  async outlive(snapshots: number): Promise<void> {
    for (let n = 0; n < snapshots; n++) {
      await this.write(SMALL.snapshotEveryRecords);
      await this.rest();
    }
  }

  async flush(): Promise<void> {
    await this.clock.until(this.process.log.journal.flush());
  }

  /** Snapshots are made, and what no snapshot needs is dropped, between other things. */
  async rest(): Promise<void> {
    await this.clock.until(new Promise<void>((resolve) => this.clock.after(REST_MS, resolve)));
  }

  async close(): Promise<void> {
    await this.clock.until(this.process.log.close());
  }

  open(): Promise<LogEvents> {
    return this.clock.until(LogEvents.open(this.process.log.history, this.clock, LIMITS));
  }

  async read(events: LogEvents, afterSeq: number, limit: number): Promise<string[] | null> {
    return texts(await this.clock.until(events.read(afterSeq, limit, this.process.told)));
  }
}

t.test('pages read one after another equal the published events, wherever a reader begins', async (t) => {
  const log = new ToldLog(Infinity);
  for (let life = 0; life < 3; life++) {
    await log.start();
    await log.write(150);
    const events = await log.open();
    t.equal(events.since, 0);
    const readers = Array.from({ length: 12 }, () => ({
      at: log.random.below(log.told.length + 1),
      limit: 1 + log.random.below(40),
    }));
    // By turns, and while the log grows.
    for (let turn = 0; readers.some(({ at }) => at < log.told.length); turn++) {
      if (turn < 5) await log.write(5);
      for (const reader of readers) {
        const read = await log.read(events, reader.at, reader.limit);
        const wanted = log.told.slice(reader.at, reader.at + reader.limit);
        if (read === null || read.length === 0) t.strictSame(wanted, [], 'nothing is left out');
        else if (read.join() !== wanted.slice(0, read.length).join()) t.fail(`after ${reader.at}: other events`);
        reader.at += read?.length ?? 0;
      }
    }
    await log.close();
  }
  t.ok(log.told.length > 50, `${log.told.length} events`);
});

t.test('events that were dropped are gone, all others are there', async (t) => {
  const log = new ToldLog(0);
  await log.start();
  const events = await log.open();
  t.equal(events.since, 0);
  await log.outlive(12);
  // The read finds out what has been dropped since the last.
  t.equal(await log.read(events, 0, 10), null);
  t.ok(events.since > 0, `dropped up to ${events.since}`);
  t.equal(await log.read(events, events.since - 1, 10), null);
  for (const afterSeq of [events.since, Math.max(events.since, log.told.length - 3)]) {
    t.strictSame(await log.read(events, afterSeq, 3), log.told.slice(afterSeq, afterSeq + 3));
  }
  t.strictSame(await log.read(events, log.told.length, 3), []);
  await log.close();
});

t.test('a segment that goes while it is read is gone, and not a fault', async (t) => {
  const log = new ToldLog(0);
  await log.start();
  const events = await log.open();
  await log.write(60);
  const { history } = log.process.log;
  t.strictSame(await log.read(events, 0, 2), log.told.slice(0, 2));
  const reading = events.read(2, 10_000, log.process.told);
  await log.outlive(12);
  const read = await log.clock.until(reading);
  t.ok(read === null || read.length > 0);
  t.ok((await log.clock.until(history.droppedThroughSeq())) > 2, 'it was dropped');
});

t.test('a reader is given every event after its own, or none, whenever segments go', async (t) => {
  const { files, epoch, ends } = await madeLog(40_000, true, { segmentBytes: 8_000 });
  const through = ends.at(-1)?.index ?? 0;
  const clock = new SimClock();
  const segments = [...files.keys()].filter((name) => name.startsWith('segment')).sort();
  const stamp = [...files].filter(([name]) => !segments.includes(name));
  let gone = 0;
  for (const isKnown of [true, false]) {
    for (const [what, calls] of [
      ['afterLists', 3],
      ['beforeOpens', 30],
    ] as const) {
      for (let call = 1; call <= calls; call += 1) {
        // Where no segment is known, their headers are yet to be read.
        const disk = new DroppingDisk(isKnown ? files : stamp);
        const events = await LogEvents.open(new LogHistory(disk, epoch), clock, LIMITS);
        for (const [name, bytes] of files) disk.files.set(name, bytes);
        disk.drops = segments.slice(0, 3);
        disk[what] = call;
        const page = await events.read(0, 1_000, through);
        if (page === null) gone += 1;
        else t.equal(page === 'BUSY' ? page : page[0]?.event.seq, 1, `${what} ${call}`);
      }
    }
  }
  t.ok(gone > 3, `${gone} times`);
});

t.test('what is not told yet is not read', async (t) => {
  const log = new ToldLog(Infinity);
  await log.start();
  await log.write(20);
  const events = await log.open();
  const [told, index] = [log.told.length, log.process.told];
  await log.write(20);
  const read = await log.clock.until(events.read(0, 1_000, index));
  t.strictSame(texts(read), log.told.slice(0, told));
  await log.close();
});
