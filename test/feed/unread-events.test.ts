import t from 'tap';
import type { Feed } from '../../src/feed/feed.js';
import { at, enter, originAt, quoteIdOf, sampleQuote } from '../engine/samples.js';
import { FeedFixture, filter, takeMessages } from './feed-fixture.js';
import { quotesHash } from './model-reader.js';

const everything = { poolAddress: null, side: null, taker: null, narrowing: { provider: null, minSize: 0n } } as const;

/** All that a reader may ask of what the events add up to. */
function shownBy(feed: Feed) {
  const held = feed.book.take(everything, '*').held.map(({ quote, fillableSize }) => [quote.quoteId, fillableSize]);
  return { held, sum: feed.book.sum(everything, '*'), tickers: [...feed.tickersJson()] };
}

for (let count = 0; count <= 8; count++) {
  t.test(
    `after ${count} events that nobody followed, the book is as if each had been taken over at once`,
    async (t) => {
      const waiting = new FeedFixture({ limits: { unreadEvents: 5 } });
      const atOnce = new FeedFixture({ limits: { unreadEvents: 1 } });
      for (const fixture of [waiting, atOnce]) {
        for (let n = 1; n <= count; n++) {
          const position = at('settlement', 9, n);
          const cancel = { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(n - 2), origin: originAt(9, n), position } as const;
          fixture.do(n % 3 === 0 ? cancel : enter(sampleQuote({ n })));
        }
      }
      t.strictSame(shownBy(waiting.feed), shownBy(atOnce.feed));
      t.equal(waiting.feed.seq, count);
    },
  );
}

t.test('a new reader gets no earlier events, and the hash of the whole book', async (t) => {
  const fixture = new FeedFixture({ limits: { unreadEvents: 5 } });
  for (const n of [1, 2]) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.says(filter('QUOTES'));
  takeMessages(reader);
  fixture.do(enter(sampleQuote({ n: 3 })));
  t.match(takeMessages(reader), [{ type: 'POST_QUOTE', seq: 3, prevSeq: 2 }]);
  fixture.clock.advance(5_000);
  const quotes = [1, 2, 3].map((n) => ({ quoteId: quoteIdOf(n), fillableSize: '10' }));
  t.match(takeMessages(reader), [{ type: 'HEARTBEAT', seq: 3, books: [{ hash: quotesHash(quotes) }] }]);
});
