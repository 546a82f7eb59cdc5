import t from 'tap';
import { LogEvents } from '../../src/past/log-event-history.js';
import { limits } from '../../src/config/limits.js';
import type { PastEventsPage } from '../../src/feed/event-history.js';
import { LogHistory } from '../../src/persistence/log/log-history.js';
import { CountedDisk } from '../persistence/counted-disk.js';
import { madeLog } from '../persistence/made-log.js';
import { SimClock } from '../simulation/sim-clock.js';

const { files, epoch, ends } = await madeLog(40_000, true, { segmentBytes: 16_000 });
const lastIndex = ends.at(-1)?.index ?? 0;

/** The log that was made, with a reader of its events that has read none yet. */
async function readers() {
  const disk = new CountedDisk(files);
  const clock = new SimClock();
  const events = await LogEvents.open(new LogHistory(disk, epoch), clock, limits);
  const numbers = (page: PastEventsPage) =>
    page === 'BUSY' || page === null ? undefined : page.map(({ event }) => event.seq);
  disk.take();
  return {
    disk,
    clock,
    events,
    read: async (afterSeq: number, limit: number, throughIndex = lastIndex) =>
      numbers(await events.read(afterSeq, limit, throughIndex)),
  };
}

/** Bytes that one reader alone reads. */
async function bytesOfOne(afterSeq: number, limit: number): Promise<number> {
  const { disk, read } = await readers();
  await read(afterSeq, limit);
  return disk.take().readBytes;
}

await t.test('readers at the same place have it read once, together or one after another', async (t) => {
  const { disk, read } = await readers();
  const pages = await Promise.all(Array.from({ length: 10 }, () => read(5, 20)));
  t.strictSame(new Set(pages.map(String)).size, 1);
  t.equal(pages[0]?.length, 20);
  t.equal(disk.take().readBytes, await bytesOfOne(5, 20));
  t.strictSame(await read(5, 20), pages[0]);
  t.equal(disk.take().readBytes, 0);
  t.strictSame(await read(5, 10), pages[0]?.slice(0, 10), 'a page of another size is another page');
});

await t.test('a page that ended with the log hides nothing that came after', async (t) => {
  const { read } = await readers();
  const all = (await read(0, 10_000)) ?? [];
  const middle = ends[Math.floor(ends.length / 2)]?.index ?? 0;
  const early = (await readers()).read;
  const before = (await early(0, 10_000, middle)) ?? [];
  t.ok(before.length > 0 && before.length < all.length);
  t.strictSame(await early(0, 10_000), all);
});

await t.test('a request that joins a pending read gets the events of that read or later ones', async (t) => {
  const { read } = await readers();
  const [nothing, joined] = await Promise.all([read(0, 10_000, 0), read(0, 10_000)]);
  t.strictSame(nothing, []);
  t.ok(joined?.length, 'no empty page where there are events');
});

await t.test('pages are forgotten: beyond the bound the one used longest ago, and all after a while', async (t) => {
  const { disk, clock, read } = await readers();
  for (let afterSeq = 0; afterSeq <= limits.logPages; afterSeq += 1) await read(afterSeq, 5);
  disk.take();
  await read(limits.logPages, 5);
  t.equal(disk.take().readBytes, 0);
  await read(0, 5);
  t.ok(disk.take().readBytes > 0);
  await clock.advance(limits.logPageMs);
  await read(limits.logPages, 5);
  t.ok(disk.take().readBytes > 0);
});

await t.test('beyond the bound a read is refused, but for those whose page is read anyway', async (t) => {
  const { events } = await readers();
  const waiting = Array.from({ length: limits.logReads }, (_, afterSeq) => events.read(afterSeq, 5, lastIndex));
  const [refused, joined] = [events.read(limits.logReads, 5, lastIndex), events.read(3, 5, lastIndex)];
  t.equal(await refused, 'BUSY');
  t.equal(await joined, await waiting[3]);
  t.notOk((await Promise.all(waiting)).includes('BUSY'));
  t.not(await events.read(limits.logReads, 5, lastIndex), 'BUSY', 'later there is room');
});

await t.test('a read that fails does so for those who wait for it, and for nobody after them', async (t) => {
  const { disk, events, read } = await readers();
  const open = disk.open.bind(disk);
  disk.open = () => Promise.reject(new Error('EIO'));
  const [first, second] = [events.read(0, 5, lastIndex), events.read(0, 5, lastIndex)];
  const other = events.read(9, 5, lastIndex);
  await t.rejects(first, { message: 'EIO' });
  await t.rejects(second, { message: 'EIO' });
  await t.rejects(other, { message: 'EIO' });
  disk.open = open;
  t.equal((await read(0, 5))?.length, 5);
});

await t.test('once closed it reads no more, and leaves nothing that would keep the process alive', async (t) => {
  const { disk, clock, events } = await readers();
  const waiting = [0, 1, 2].map((afterSeq) => events.read(afterSeq, 5, lastIndex));
  // The first is being read by then.
  await Promise.resolve();
  events.close();
  const [first, ...others] = await Promise.all(waiting);
  t.ok(Array.isArray(first));
  t.strictSame(others, ['BUSY', 'BUSY']);
  t.ok(disk.take().readBytes <= (await bytesOfOne(0, 5)));
  t.notOk(await clock.step());
});
