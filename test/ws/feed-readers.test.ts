import t from 'tap';
import { POOL } from '../engine/samples.js';
import { FeedFixture, filter } from '../feed/feed-fixture.js';

t.test('when the last reader has gone, nothing is waited for any more', async (t) => {
  const fixture = new FeedFixture();
  const readers = [fixture.authorized(), fixture.authorized()];
  for (const reader of readers) reader.says(filter('ORDERBOOK', { poolAddress: POOL.poolAddress }));
  fixture.clock.advance(6_000);
  t.equal(fixture.clock.pending, 2, 'the next heartbeat, and the next look at who reads too slowly');
  for (const reader of readers) fixture.net.drop(reader);
  t.equal(fixture.clock.pending, 0);
});
