import fc from 'fast-check';
import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { EventPages, type EventPagesLimits } from '../../src/feed/event-pages.js';
import { UNPACED } from '../../src/system/paced-work.js';
import { type BookEventsQuery, EventsPage, type EventsQuery } from '../../src/wire/feed-messages.js';
import { compile } from '../../src/wire/validation.js';
import { CommandMaker, MAKERS, POOLS, steps, TAKERS } from '../engine/random-commands.js';
import { enter, POOL, sampleQuote, TAKER } from '../engine/samples.js';
import { chainId, epoch, FeedFixture, filter, takeMessages } from './feed-fixture.js';
import { HeldLog } from './held-log.js';
import { ModelReader } from './model-reader.js';

type Query = EventsQuery | BookEventsQuery;

const limits: EventPagesLimits = {
  eventsPerPage: 4,
  eventsPerBookPage: 10_000,
  eventsSnapshotQuotes: 1_000,
  wsSnapshotPageQuotes: 3,
  rowsPerSlice: 2,
  wsBookLevels: 1_000,
};
const check = compile(EventsPage, 20);

async function readPage(pages: EventPages, query: Query, work = UNPACED): Promise<EventsPage> {
  const answer = await pages.read(query, work);
  if (!answer.ok) throw new Error(answer.problem);
  const page = check(JSON.parse(Buffer.from(answer.page).toString()));
  if (!page.ok) throw new Error(JSON.stringify(page.errors));
  return page.value;
}

/** Every page up to the present. */
async function readAll(pages: EventPages, query: Query): Promise<EventsPage[]> {
  const read = [await readPage(pages, query)];
  for (let last = read.at(-1); last?.more === true; last = read.at(-1)) {
    read.push(await readPage(pages, { ...query, fromSeq: String(last.seq) }));
  }
  return read;
}

const filters = [
  {},
  { taker: TAKER },
  { taker: '*' as const, side: 'ask' as const },
  { provider: MAKERS[1], size: '3' },
  { poolAddress: POOLS[1]?.poolAddress },
].map((body) => JSON.parse(JSON.stringify(body)) as Omit<EventsQuery, 'channel' | 'fromSeq'>);

t.test('page after page, what a connection under the same filter was sent', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(...filters), fc.nat(1000), async (script, body, share) => {
      const fixture = new FeedFixture();
      const commands = new CommandMaker();
      const live = fixture.authorized();
      live.says(filter('QUOTES', body));
      live.says(filter('RFQ'));
      for (const step of script) {
        if (step.kind === 'restart') continue;
        if (step.kind === 'pass') fixture.clock.advance(step.ms);
        fixture.do(commands.make(step, fixture.engine));
      }
      const told = takeMessages(live).filter((message) => 'prevSeq' in message);
      const fromSeq = Math.floor((fixture.feed.seq * share) / 1000);
      const pages = new EventPages(fixture.feed, limits);
      for (const query of [{ channel: 'QUOTES' as const, ...body }, { channel: 'RFQ' as const }]) {
        const read = await readAll(pages, { ...query, epoch, fromSeq: String(fromSeq) });
        const messages = read.flatMap((page) => page.messages);
        const wanted = told.filter(({ type, seq }) => (type === 'RFQ') === (query.channel === 'RFQ') && seq > fromSeq);
        const bare = (message: object) => JSON.stringify({ ...message, prevSeq: 0 });
        if (JSON.stringify(messages.map(bare)) !== JSON.stringify(wanted.map(bare))) throw new Error('other messages');
        for (const [place, message] of messages.entries()) {
          const prevSeq = wanted[place]?.prevSeq ?? 0;
          const isNext = 'prevSeq' in message && message.prevSeq >= prevSeq && message.prevSeq < message.seq;
          if (!isNext) throw new Error('a gap is reported where none is, or the other way round');
        }
        if (read.at(-1)?.seq !== fixture.feed.seq) throw new Error('not the present');
      }
    }),
    { numRuns: 150, endOnFailure: true },
  );
});

t.test('a book that goes on from any number is the present one, by hash', async () => {
  const view = fc.record({
    taker: fc.constantFrom(undefined, ...TAKERS),
    depth: fc.constantFrom(undefined, '1', '2', '5'),
    poolAddress: fc.constantFrom(...POOLS.map(({ poolAddress }) => poolAddress)),
  });
  await fc.assert(
    fc.asyncProperty(steps, view, fc.nat(1000), async (script, { poolAddress, taker, depth }, share) => {
      const fixture = new FeedFixture({ limits: { recentEvents: 30 } });
      const commands = new CommandMaker();
      const reader = new ModelReader();
      const wish = { poolAddress, ...(taker && { taker }) };
      const live = fixture.authorized();
      live.says(filter('ORDERBOOK', { ...wish, ...(depth && { depth: Number(depth) }) }));
      const until = Math.floor((script.length * share) / 1000);
      for (const [place, step] of script.entries()) {
        // The reader is gone from here on.
        if (place === until) reader.take(takeMessages(live));
        if (step.kind === 'restart') continue;
        if (step.kind === 'pass') fixture.clock.advance(step.ms);
        fixture.do(commands.make(step, fixture.engine));
      }
      if (until >= script.length) reader.take(takeMessages(live));
      const query = { channel: 'ORDERBOOK' as const, ...wish, ...(depth && { depth }), epoch };
      const page = await readPage(new EventPages(fixture.feed, limits), {
        ...query,
        fromSeq: String(reader.seq),
      });
      if (page.more || page.seq !== fixture.feed.seq) throw new Error('not the present');
      reader.take(page.messages);
      const joined = fixture.feed.levels.join(
        { poolAddress, taker: taker ?? null, depth: Number(depth ?? limits.wsBookLevels) },
        'json',
        fixture.feed.seq,
        fixture.feed.tsMs,
      );
      if (BigInt(reader.levelsHash) !== fixture.feed.levels.hashOf(joined)) throw new Error('another book');
    }),
    { numRuns: 200, endOnFailure: true },
  );
});

t.test('a page that cannot resume has the reason and the book', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 3 } });
  for (let n = 0; n < 8; n++) fixture.do(enter(sampleQuote({ n })));
  const pages = new EventPages(fixture.feed, limits);
  const cases = [
    ['another log', { epoch: '00000000000000ff', fromSeq: '8' }, 'OTHER_EPOCH'],
    ['too long ago', { epoch, fromSeq: '2' }, 'TOO_OLD'],
    ['a number that has not been given yet', { epoch, fromSeq: '9' }, 'NOT_YET'],
  ] as const;
  const keys = [`quotes:${chainId}:*:*:${ZERO_ADDRESS}`];
  const bookKeys = [`orderbook:${chainId}:${POOL.poolAddress}:*`];
  for (const [name, from, reason] of cases) {
    const page = await readPage(pages, { channel: 'QUOTES', ...from });
    t.match(page, { epoch, seq: 8, more: false }, name);
    t.match(page.messages[0], { type: 'RESYNC', channel: 'QUOTES', keys, seq: 8, epoch, reason });
    const reader = new ModelReader();
    reader.take(page.messages);
    t.equal(reader.allQuotes.length, 8, 'the snapshot has every quote, and its hash is theirs');

    const book = await readPage(pages, { channel: 'ORDERBOOK', poolAddress: POOL.poolAddress, ...from });
    t.match(book.messages[0], { type: 'RESYNC', channel: 'ORDERBOOK', keys: bookKeys, reason });
    t.match(book.messages[1], { type: 'ORDERBOOK_SNAPSHOT', seq: 8, body: { asks: [{ count: 8 }] } });

    const rfq = await readPage(pages, { channel: 'RFQ', ...from });
    t.strictSame(rfq.messages, [
      { type: 'RESYNC', channel: 'RFQ', keys: [`rfq:${chainId}:*:*:*`], seq: 8, epoch, reason },
    ]);
  }
  const from = { channel: 'QUOTES', epoch, fromSeq: '2' } as const;
  const narrow = new EventPages(fixture.feed, { ...limits, eventsSnapshotQuotes: 7 });
  t.match(await narrow.read(from, UNPACED), { ok: false, problem: /Too many quotes for a snapshot: 8, at most 7/ });
  const wide = new EventPages(fixture.feed, { ...limits, eventsSnapshotQuotes: 8 });
  t.match(await wide.read(from, UNPACED), { ok: true });
});

t.test('a snapshot of many pages is written in turns, and is of one moment', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 1 } });
  for (let n = 0; n < 8; n++) fixture.do(enter(sampleQuote({ n })));
  let turns = 0;
  let rows = 0;
  const pages = new EventPages(fixture.feed, { ...limits, wsSnapshotPageQuotes: 1 });
  const page = await readPage(
    pages,
    { channel: 'QUOTES', fromSeq: '0' },
    {
      async turn() {
        fixture.do(enter(sampleQuote({ n: 100 + turns })));
        turns++;
      },
      charge: (more) => (rows += more),
    },
  );
  t.match(page, { seq: 8, more: true, messages: { length: 1 + 8 } });
  t.equal(turns, 8, 'a turn after each message');
  t.equal(rows, 8 + 1, 'each quote is charged, and the reading of the book');
});

t.test('a book that missed more events than a page merges is given anew, however many are at hand', async (t) => {
  const fixture = new FeedFixture();
  for (let n = 0; n < 8; n++) fixture.do(enter(sampleQuote({ n })));
  const pages = new EventPages(fixture.feed, { ...limits, eventsPerBookPage: 3 });
  const book = (fromSeq: string) => readPage(pages, { channel: 'ORDERBOOK', poolAddress: POOL.poolAddress, fromSeq });
  t.match((await book('5')).messages, [{ type: 'ORDERBOOK_UPDATE', seq: 8, prevSeq: 5 }]);
  t.match((await book('4')).messages, [
    { type: 'RESYNC', channel: 'ORDERBOOK', seq: 8, reason: 'TOO_OLD' },
    { type: 'ORDERBOOK_SNAPSHOT', seq: 8, body: { asks: [{ count: 8 }] } },
  ]);
});

t.test('without an epoch the present log is meant, and the answer names it', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  const page = await readPage(new EventPages(fixture.feed, limits), { channel: 'QUOTES', fromSeq: '0' });
  t.match(page, { epoch, seq: 1, more: false, messages: [{ type: 'POST_QUOTE', seq: 1, prevSeq: 0 }] });
});

t.test('what is not durable yet is not on a page', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  fixture.submit(enter(sampleQuote({ n: 2 })));
  const page = await readPage(new EventPages(fixture.feed, limits), { channel: 'QUOTES', fromSeq: '0' });
  t.equal(page.messages.length, 1);
  t.equal(page.more, false);
});

t.test('a book that is asked for deeper than it is shown is refused', async (t) => {
  const query = { channel: 'ORDERBOOK', poolAddress: POOL.poolAddress, fromSeq: '0', depth: '1001' } as const;
  const answer = await new EventPages(new FeedFixture().feed, limits).read(query, UNPACED);
  t.strictSame(answer, {
    ok: false,
    code: 'invalid_parameter',
    problem: 'depth is 1001, at most 1000',
  });
});

t.test('a page of a book leaves no subscription', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  const pages = new EventPages(fixture.feed, limits);
  const { poolAddress } = POOL;
  for (const fromSeq of ['0', '1', '2']) await readPage(pages, { channel: 'ORDERBOOK', poolAddress, fromSeq });
  t.equal(fixture.feed.levels.size, 0);
});

t.test('what the log drops while it is read is made up for by the book as it is', async (t) => {
  const log = new HeldLog();
  const fixture = new FeedFixture({ older: log, limits: { recentEvents: 1 } });
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  const pages = new EventPages(fixture.feed, limits);
  for (const [channel, snapshot] of [
    ['QUOTES', 'QUOTES_SNAPSHOT'],
    ['ORDERBOOK', 'ORDERBOOK_SNAPSHOT'],
  ] as const) {
    const page = readPage(pages, { channel, poolAddress: POOL.poolAddress, fromSeq: '0' });
    await log.answer(null);
    t.match(await page, {
      seq: 3,
      more: false,
      messages: [
        { type: 'RESYNC', channel, reason: 'TOO_OLD' },
        { type: snapshot, seq: 3 },
      ],
    });
  }
});

t.test('a page of many events is written in slices, of which each is charged', async (t) => {
  const fixture = new FeedFixture();
  for (let n = 0; n < 4; n++) fixture.do(enter(sampleQuote({ n })));
  const log: string[] = [];
  const work = {
    turn: async () => void log.push('turn'),
    charge: (rows: number, bytes: number) => void log.push(`${rows} rows${bytes > 1_000 ? ' and their bytes' : ''}`),
  };
  const pages = new EventPages(fixture.feed, limits);
  const page = await readPage(pages, { channel: 'QUOTES', fromSeq: '0' }, work);
  t.equal(page.messages.length, 4);
  t.strictSame(log, ['3 rows and their bytes', 'turn', '3 rows and their bytes'], 'two messages, and one for reading');
  log.length = 0;
  await readPage(pages, { channel: 'ORDERBOOK', poolAddress: POOL.poolAddress, fromSeq: '0' }, work);
  t.strictSame(log, ['1 rows', '3 rows'], 'four events were read, and one level was shown');
});

t.test('how many rows a page reads is known before it is read', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 6 } });
  for (let n = 0; n < 8; n++) fixture.do(enter(sampleQuote({ n })));
  const pages = new EventPages(fixture.feed, { ...limits, eventsPerBookPage: 5 });
  const { poolAddress } = POOL;
  const rows = (query: Query) => pages.rows(query);
  t.equal(rows({ channel: 'QUOTES', fromSeq: '6' }), 2, 'the events after that');
  t.equal(rows({ channel: 'QUOTES', fromSeq: '3' }), limits.eventsPerPage, 'a page of events');
  t.equal(rows({ channel: 'QUOTES', fromSeq: '0' }), 8, 'the book, where events are gone');
  t.equal(rows({ channel: 'RFQ', fromSeq: '0' }), 0);
  t.equal(rows({ channel: 'ORDERBOOK', fromSeq: '7', poolAddress }), 1 + 3, 'an event, and its level');
  t.equal(rows({ channel: 'ORDERBOOK', fromSeq: '2', poolAddress }), Infinity, 'more than a page merges');
});
