import t from 'tap';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { DESKTOP, until, withPage } from './in-page.js';
import { RecordedFeed } from './recorded-feed.js';

const ONE = 10n ** 18n;
const EVENTS_PER_SECOND = 200;
/** Of one round. */
const ROUND_MS = 4_000;
/** QUOTEBOOK_PAGE_SECONDS=600 is the long form. */
const SECONDS = Number(process.env.QUOTEBOOK_PAGE_SECONDS ?? 20);
const LONGEST_TASK_MS = 50;
const HEAP_GROWTH_BYTES = 2_000_000;

/** An entry of the browser's trace; times in microseconds, `tdur` of the processor. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

await withPage(async ({ browser, service, maker, call }) => {
  const ofOneExpiry = service.chain.pools.slice(0, 10);

  await t.test('the page keeps up with 200 events a second', async (t) => {
    const feed = await RecordedFeed.start(service.httpUrl);
    t.teardown(() => feed.close());
    const context = await browser.newContext({ viewport: DESKTOP });
    t.teardown(() => context.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(`${feed.url}/#${call.poolAddress}`);
    await page.waitForSelector('#pool[aria-busy=false]');
    for (const [levels, price] of [
      [4, 1n],
      [6, 2n],
    ] as const) {
      await maker.quote(ofOneExpiry, levels);
      await maker.ask(call, ONE / 40n + price, ONE);
      await maker.fill(call, ONE / 100n);
    }
    await until(page, '#tape-rows', 'Fill');
    t.ok(feed.events > 200, `${feed.events} events are in the record`);

    const devtools = await context.newCDPSession(page);
    const playing = feed.play(EVENTS_PER_SECOND);
    await page.waitForTimeout(ROUND_MS);
    const beganMs = performance.now();
    const rounds: Round[] = [];
    while (performance.now() - beganMs < SECONDS * 1000) {
      rounds.push(await measure(browser, page, devtools));
    }
    const rate = playing.stop();
    const heap = rounds.map(({ heapBytes }) => heapBytes);
    t.comment(`${rounds.length} rounds, ${rate.toFixed(0)} events/s`);
    t.comment(`longest tasks ${rounds.map(({ longestMs }) => longestMs.toFixed(0)).join()} ms`);
    t.comment(`busy ${rounds.map(({ busy }) => (busy * 100).toFixed(0)).join()} %`);
    t.comment(`heap ${heap.map((bytes) => (bytes / 1e6).toFixed(2)).join()} MB`);
    t.ok(rate > EVENTS_PER_SECOND * 0.9, 'as many events as meant');
    t.ok(median(rounds.map(({ longestMs }) => longestMs)) <= LONGEST_TASK_MS, 'no task is long');
    t.ok(median(rounds.map(({ busy }) => busy)) < 0.5, 'busy for less than half of the time');
    const half = Math.ceil(heap.length / 2);
    const growth = median(heap.slice(half)) - median(heap.slice(0, half));
    t.ok(growth < HEAP_GROWTH_BYTES, `the heap is flat: ${growth} bytes more in the second half`);
    t.equal(feed.filters, 0, 'every message was the next one');
    t.strictSame(problems, []);
    feed.quote(987_654n * ONE);
    // The page has drawn what came last.
    await until(page, '#tape-rows tr:first-child', '987.6k');
  });
});

interface Round {
  /** Processor time of the longest task of the main thread. */
  readonly longestMs: number;
  /** Share of the time that the main thread worked. */
  readonly busy: number;
  /** After a garbage collection. */
  readonly heapBytes: number;
}

/** Processor time, so that other programs of the machine do not count. */
async function measure(browser: Browser, page: Page, devtools: CDPSession): Promise<Round> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
  const beganMs = performance.now();
  await page.waitForTimeout(ROUND_MS);
  const lastedMs = performance.now() - beganMs;
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(({ name, pid, tid }) => name === 'RunTask' && threads.has(`${pid} ${tid}`));
  const timesMs = tasks.map(({ tdur = 0 }) => tdur / 1000);
  if (timesMs.length === 0) throw new Error('the trace has no task of the main thread');
  return {
    longestMs: Math.max(...timesMs),
    busy: timesMs.reduce((sum, each) => sum + each, 0) / lastedMs,
    heapBytes: usedSize,
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
