import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { EventPages } from '../../src/feed/event-pages.js';
import type { EventHistory } from '../../src/feed/event-history.js';
import { eventsRoute } from '../../src/http/events-route.js';
import { enter, POOL, sampleQuote } from '../engine/samples.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { answersAtOnce, ask, requestOf } from './ask-route.js';

/** Too many others read from it. */
const busyLog: EventHistory = {
  since: 0,
  read: async () => 'BUSY',
  readSince() {
    throw new Error('a page is read by numbers');
  },
};

t.test('what the log has no time for is refused for now, what is in memory is not', async (t) => {
  const fixture = new FeedFixture({ older: busyLog, limits: { recentEvents: 1 } });
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  const routes = [eventsRoute(new EventPages(fixture.feed, limits), chainId, limits, answersAtOnce())];
  for (const channel of ['channel=QUOTES', `channel=ORDERBOOK&poolAddress=${POOL.poolAddress}`]) {
    const refused = await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=0`));
    t.match(refused, { status: 503, headers: { 'retry-after': '1' }, text: '{"message":"BUSY"}' });
    t.equal((await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=2`))).status, 200);
  }
});

t.test('each channel has its own parameters; what is wrong with them is 400', async (t) => {
  const asked: unknown[] = [];
  const past = {
    rows: () => 0,
    read: async (query: unknown) => {
      asked.push(query);
      return { ok: true, page: Buffer.from('{}') } as const;
    },
  };
  const read = async (query: string) =>
    ask([eventsRoute(past, chainId, limits, answersAtOnce())], requestOf('GET', `/events?${query}`));
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

t.test('a snapshot that is too large is refused for good', async (t) => {
  const past = {
    rows: () => 0,
    read: async () => ({ ok: false, problem: 'Too many quotes for a snapshot', busy: false }) as const,
  };
  const refused = await ask(
    [eventsRoute(past, chainId, limits, answersAtOnce())],
    requestOf('GET', '/events?channel=QUOTES&fromSeq=0'),
  );
  t.match(refused, { status: 400, text: '{"message":"Too many quotes for a snapshot"}' });
});
