import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { EventPages } from '../../src/feed/event-pages.js';
import type { EventHistory } from '../../src/feed/event-history.js';
import { eventsRoute } from '../../src/http/events-route.js';
import { enter, POOL, sampleQuote } from '../engine/samples.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { ask, requestOf } from './ask-route.js';

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
  const routes = [eventsRoute(new EventPages(fixture.feed, limits), chainId, limits)];
  for (const channel of ['channel=QUOTES', `channel=ORDERBOOK&poolAddress=${POOL.poolAddress}`]) {
    const refused = await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=0`));
    t.match(refused, { status: 503, headers: { 'retry-after': '1' }, text: '{"message":"BUSY"}' });
    t.equal((await ask(routes, requestOf('GET', `/events?${channel}&fromSeq=2`))).status, 200);
  }
});
