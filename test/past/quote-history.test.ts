import t from 'tap';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Hex } from '../../src/engine/quote.js';
import type { TimedEvent } from '../../src/feed/event-history.js';
import { segmentName } from '../../src/persistence/format/file-names.js';
import { LogHistory } from '../../src/persistence/log/log-history.js';
import { type QuoteSearchResult, findQuoteEvents, quoteHistoryJson } from '../../src/past/quote-history.js';
import { QuoteHistoryResult } from '../../src/wire/history.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { compile } from '../../src/wire/validation.js';
import { madeLog } from '../persistence/made-log.js';
import { MemoryDisk } from '../persistence/memory-disk.js';

const EVERYTHING = 1 << 30;
const { files, epoch, ends } = await madeLog(60_000, true, { segmentBytes: 8_000 });
const throughIndex = ends.at(-1)?.index ?? 0;

function idOf(event: EngineEvent): Hex | null {
  if (event.type === 'TRADE_RECORDED') return event.trade.quoteId;
  return 'order' in event ? event.order.quote.quoteId : null;
}

/** Every event of the log after `seq`, as a reader of all of it finds them. */
async function eventsAfter(history: LogHistory, seq: number): Promise<TimedEvent[]> {
  const all: TimedEvent[] = [];
  for await (const records of history.recordsAfter(seq, throughIndex)) {
    for (const { stamp, events } of records) {
      for (const event of events) if (event.seq > seq) all.push({ event, tsMs: stamp.tsMs });
    }
  }
  return all;
}

function found(answer: QuoteSearchResult): Extract<QuoteSearchResult, { readonly type: 'FOUND' }> {
  if (answer.type !== 'FOUND') throw new Error(`the answer is ${answer.type}`);
  return answer;
}

await t.test('the history of each quote is its events in the log, in pages and by parts of the log, too', async (t) => {
  const history = new LogHistory(new MemoryDisk(files), epoch);
  const all = await eventsAfter(history, 0);
  const ids = [...new Set(all.flatMap(({ event }) => idOf(event) ?? []))];
  t.ok(ids.length > 15, `${ids.length} quotes`);
  const types = new Set(all.map(({ event }) => event.type));
  t.ok(types.size > 5, [...types].join(', '));
  const check = compile(QuoteHistoryResult, 5);
  const quoteJson = new QuoteJson('421613', 100);
  for (const quoteId of ids) {
    const wanted = all.filter(({ event }) => idOf(event) === quoteId);
    const whole = found(
      await findQuoteEvents(history, { quoteId, afterSeq: null, takers: null, limit: 1_000, throughIndex }, EVERYTHING),
    );
    t.strictSame(whole.events, wanted);
    t.equal(whole.next, null);
    const json: unknown = JSON.parse(JSON.stringify(quoteHistoryJson(quoteId, whole, quoteJson)));
    t.ok(check(json).ok, 'as the document says');
    const pages: TimedEvent[] = [];
    for (let afterSeq: number | null = null; ;) {
      const page = found(
        await findQuoteEvents(history, { quoteId, afterSeq, takers: null, limit: 2, throughIndex }, 10_000),
      );
      t.ok(page.events.length <= 2);
      pages.push(...page.events);
      if (page.next === null) break;
      t.ok(page.next > (afterSeq ?? -1), 'each page goes further');
      afterSeq = page.next;
    }
    t.strictSame(pages, wanted);
  }
});

await t.test('a quote that the log does not know has no events', async (t) => {
  const history = new LogHistory(new MemoryDisk(files), epoch);
  const quoteId: Hex = `0x${'ab'.repeat(32)}`;
  const answer = found(
    await findQuoteEvents(history, { quoteId, afterSeq: null, takers: null, limit: 10, throughIndex }, EVERYTHING),
  );
  t.strictSame([answer.events, answer.next, answer.since], [[], null, 0]);
});

await t.test('where the log begins later, only quotes that were posted since have a whole history', async (t) => {
  const kept = new Map(files);
  for (const number of [1, 2, 3]) kept.delete(segmentName(number));
  const history = new LogHistory(new MemoryDisk(kept), epoch);
  const since = await history.droppedThroughSeq();
  t.ok(since > 0);
  const rest = await eventsAfter(history, since);
  let [whole, cut] = [0, 0];
  for (const quoteId of new Set(rest.flatMap(({ event }) => idOf(event) ?? []))) {
    const wanted = rest.filter(({ event }) => idOf(event) === quoteId);
    const about = { quoteId, takers: null, limit: 1_000, throughIndex };
    const answer = await findQuoteEvents(history, { ...about, afterSeq: null }, EVERYTHING);
    if (wanted.some(({ event }) => event.type === 'QUOTE_POSTED')) {
      t.strictSame(found(answer).events, wanted);
      whole += 1;
    } else {
      t.strictSame(answer, { type: 'GONE', since });
      cut += 1;
    }
    t.strictSame(found(await findQuoteEvents(history, { ...about, afterSeq: since }, EVERYTHING)).events, wanted);
    const tooEarly = await findQuoteEvents(history, { ...about, afterSeq: since - 1 }, EVERYTHING);
    t.strictSame(tooEarly, { type: 'GONE', since });
  }
  t.ok(whole > 0 && cut > 0, `${whole} whole, ${cut} cut`);
});
