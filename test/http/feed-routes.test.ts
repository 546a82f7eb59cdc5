import { TakerAccess } from '../../src/auth/taker-access.js';
import t from 'tap';
import { limits } from '../../src/config/limits.js';
import type { EventHistory } from '../../src/feed/event-history.js';
import { EventPages } from '../../src/feed/event-pages.js';
import { bookRoute, eventsRoute, tickersRoute } from '../../src/http/feed-routes.js';
import type { LargeAnswerRunner } from '../../src/http/responses.js';
import { enter, POOL, sampleQuote } from '../engine/samples.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { answersAtOnce, ask, requestOf } from './ask-route.js';

const open = new TakerAccess('open', () => null);

/** Too many others read from it. */
const busyLog: EventHistory = {
  since: 0,
  read: async () => 'BUSY',
  readSince() {
    throw new Error('a page is read by numbers');
  },
};

const NAME = 'WETH-USDC-27NOV26-1800-C';
const poolNamed = (name: string) => (name === NAME ? POOL.poolAddress : null);
const eventsParts = { poolNamed, chainId, limits, answers: answersAtOnce(), takers: open };

t.test('what the log has no time for is refused for now, what is in memory is not', async (t) => {
  const fixture = new FeedFixture({ older: busyLog, limits: { recentEvents: 1 } });
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  const routes = [eventsRoute({ ...eventsParts, events: new EventPages(fixture.feed, limits) })];
  for (const channel of ['channel=QUOTES', `channel=ORDERBOOK&poolAddress=${POOL.poolAddress}`]) {
    const refused = await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=0`));
    t.match(refused, { status: 503, headers: { 'retry-after': '1' }, text: '{"message":"BUSY"}' });
    t.equal((await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=2`))).status, 200);
  }
});

/** Events of the past, none of them, and the queries for them. */
function emptyPast() {
  const asked: unknown[] = [];
  const events = {
    rows: () => 0,
    read: async (query: unknown) => {
      asked.push(query);
      return { ok: true, page: Buffer.from('{}') } as const;
    },
  };
  return { events, asked };
}

t.test('each channel has its own parameters; what is wrong with them is 400', async (t) => {
  const { events, asked } = emptyPast();
  const read = async (query: string) =>
    ask([eventsRoute({ ...eventsParts, events })], requestOf('GET', `/events?${query}`));
  const pool = `poolAddress=${POOL.poolAddress}`;
  for (const good of ['channel=RFQ&fromSeq=0&side=ask', `channel=ORDERBOOK&fromSeq=7&${pool}&depth=5`]) {
    t.match(await read(`${good}&chainId=${chainId}`), { status: 200, text: '{}' });
  }
  t.match(asked, [
    { channel: 'RFQ', side: 'ask' },
    { channel: 'ORDERBOOK', depth: '5' },
  ]);
  for (const [wrong, words] of [
    ['channel=QUOTES', "must have required property 'fromSeq'"],
    ['channel=QUOTES&fromSeq=0&depth=5', 'must NOT have additional properties'],
    ['channel=ORDERBOOK&fromSeq=0', "must have required property 'poolAddress'"],
    [`channel=ORDERBOOK&fromSeq=0&${pool}&side=ask`, 'must NOT have additional properties'],
    ['channel=QUOTES&fromSeq=0&chainId=42161', '"allowedValues":["421613"]'],
    [
      'channel=QUOTES&fromSeq=0' + '&side=ask'.repeat(limits.queryPairs),
      `The query has more than ${limits.queryPairs} parameters`,
    ],
  ] as const) {
    t.match(await read(wrong), { status: 400, text: words }, words);
  }
  t.equal(asked.length, 2);
});

t.test('trades go by the name of an option, as in FILTER', async (t) => {
  const { events, asked } = emptyPast();
  const routes = [eventsRoute({ ...eventsParts, events })];
  const read = async (more: string) => ask(routes, requestOf('GET', `/events?channel=TRADES&fromSeq=0${more}`));
  for (const more of [`&instrument=${NAME}`, `&poolAddress=${POOL.poolAddress}`, '']) {
    t.equal((await read(more)).status, 200, more);
  }
  const ofPool = { channel: 'TRADES', fromSeq: '0', poolAddress: POOL.poolAddress };
  t.match(asked, [ofPool, ofPool, { channel: 'TRADES', fromSeq: '0', poolAddress: undefined }]);
  const unknown = '{"message":"No deployed pool is named A-B-27NOV26-2-C"}';
  t.match(await read('&instrument=A-B-27NOV26-2-C'), { status: 400, text: unknown });
  const both = `&instrument=${NAME}&poolAddress=${POOL.poolAddress}`;
  t.match(await read(both), { status: 400, text: 'either poolAddress or instrument' });
  t.equal(asked.length, 3);
});

t.test('a snapshot that is too large is refused for good', async (t) => {
  const events = {
    rows: () => 0,
    read: async () => ({ ok: false, code: 'snapshot_too_large', problem: 'Too many quotes for a snapshot' }) as const,
  };
  const refused = await ask(
    [eventsRoute({ ...eventsParts, events })],
    requestOf('GET', '/events?channel=QUOTES&fromSeq=0'),
  );
  t.match(refused, { status: 400, text: '{"message":"Too many quotes for a snapshot"}' });
});

const CHAIN_ID = '421613';
const target = `/tickers?chainId=${CHAIN_ID}`;

/** So many tickers, two in a piece. */
function tickers(tickerCount: number) {
  return {
    epoch: '00000000000000e2',
    tickerCount,
    tickerPools: () => [],
    *tickersJson(more?: unknown) {
      yield { rows: 0, text: more === undefined ? '[' : '[more,' };
      for (let n = 0; n < tickerCount; n += 2) yield { rows: 2, text: n > 0 ? ',1,2' : '1,2' };
      yield { rows: 0, text: ']' };
    },
  };
}

/** Nobody asks for any. */
const noValuations = { prepare: () => Promise.reject(new Error('a valuation was not asked for')) };
const tickersParts = {
  valuations: noValuations,
  chainId: CHAIN_ID,
  limits: { queryPairs: 20, schemaErrors: 5, rowsPerSlice: 2 },
  past: null,
};

/** Notes turns and what is charged. */
function answering(): { answers: LargeAnswerRunner; log: string[] } {
  const log: string[] = [];
  const work = {
    turn: async () => void log.push('turn'),
    charge: (rows: number, bytes: number) => void log.push(`${rows} rows, ${bytes} bytes`),
  };
  return { answers: { run: async (_, make) => make(work) }, log };
}

t.test('few tickers are answered at once', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(2), answers })];
  t.match(await ask(routes, requestOf('GET', target)), { status: 200, text: '[1,2]' });
  t.strictSame(log, []);
});

t.test('many are written in slices that are charged', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(4), answers })];
  t.match(await ask(routes, requestOf('GET', target)), { status: 200, text: '[1,2,1,2]' });
  t.strictSame(log, ['2 rows, 3 bytes', 'turn', '2 rows, 4 bytes', 'turn']);
});

t.test('many are refused where too many large answers of the key wait', async (t) => {
  const routes = [
    tickersRoute({ ...tickersParts, tickers: tickers(4), answers: { run: () => ({ retryAfterMs: 1_000 }) } }),
  ];
  t.match(await ask(routes, requestOf('GET', target)), { status: 429, headers: { 'retry-after': '1' } });
});

t.test('another chain is refused before anything is written', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(4), answers })];
  t.equal((await ask(routes, requestOf('GET', '/tickers?chainId=1'))).status, 400);
  t.strictSame(log, []);
});

t.test('nothing is written for a client that went away while it waited', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(4), answers })];
  await ask(routes, { ...requestOf('GET', target), aborted: true });
  t.strictSame(log, []);
});

t.test('valuations are prepared for the clients that ask for them alone', async (t) => {
  const { answers } = answering();
  const valuations = { prepare: () => Promise.resolve(() => ({ instrument: null })) };
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(2), valuations, answers })];
  t.match(await ask(routes, requestOf('GET', target)), { text: '[1,2]' });
  t.match(await ask(routes, requestOf('GET', `${target}&fields=valuation`)), { text: '[more,1,2]' });
  const other = await ask(routes, requestOf('GET', `${target}&fields=other`));
  t.match(JSON.parse(other.text), [{ keyword: 'enum', instancePath: '/fields' }]);
});

t.test('tickers of the past are refused without a log, with two points, and with valuations', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute({ ...tickersParts, tickers: tickers(2), answers })];
  const cases: [string, number, RegExp][] = [
    ['asOfSeq=1', 410, /This service keeps no log/],
    ['asOfSeq=1&asOfTime=5', 400, /asOfSeq, asOfBlock and asOfTime exclude each other/],
    ['asOfBlock=1&fields=valuation', 400, /Valuations are of the present alone/],
    ['asOfTime=1.5', 400, /pattern/],
  ];
  for (const [more, status, text] of cases) {
    t.match(await ask(routes, requestOf('GET', `${target}&${more}`)), { status, text }, more);
  }
  t.strictSame(log, []);
});

t.test('the question about a past book names the log, the pool and the levels', async (t) => {
  const asked: unknown[] = [];
  const past = {
    ask: async (question: object) => {
      asked.push(question);
      return { type: 'NO_POOL', pool: 'SOME-NAME' } as const;
    },
  };
  const fixture = new FeedFixture();
  const pools = { addressOf: () => POOL.poolAddress, instrumentAt: () => null };
  const routes = [
    bookRoute({
      books: fixture.feed,
      pools,
      chainId: CHAIN_ID,
      limits: { ...limits, wsBookLevels: 9 },
      past,
      answers: answersAtOnce(),
    }),
  ];
  const named = await ask(routes, requestOf('GET', `/book/SOME-NAME?chainId=${CHAIN_ID}&depth=3&asOfSeq=7`));
  t.match(named, { status: 400, text: /SOME-NAME/ });
  const { epoch } = fixture.feed;
  t.strictSame(asked, [{ type: 'BOOK', epoch, pool: 'SOME-NAME', depth: 3, point: { type: 'SEQ', seq: 7 } }]);
  const deep = await ask(routes, requestOf('GET', `/book/SOME-NAME?chainId=${CHAIN_ID}&depth=10&asOfSeq=7`));
  t.match(deep, { status: 400, text: /depth is 10, at most 9/ });
  t.equal(asked.length, 1);
});
