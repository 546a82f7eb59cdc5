import t from 'tap';
import { LevelBook } from '../../src/client/level-book.js';
import { FollowedEvents, QuoteEventsState } from '../../src/client/followed.js';
import type { QuoteEvent } from '../../src/client/messages.js';
import { OrderbookClient } from '../../src/client/node.js';
import { Subscription } from '../../src/client/subscription.js';
import { epoch, quote, ScriptedServer } from './scripted-server.js';

const key = 'orderbook';
const { poolAddress } = quote(1);
const levels = (...prices: number[]) => ({
  bids: prices.map((price) => ({ price: String(price), size: '7', count: 1 })),
  asks: [],
});

function snapshot(seq: number, ...prices: number[]): object {
  const book = new LevelBook();
  book.set(levels(...prices));
  return { type: 'ORDERBOOK_SNAPSHOT', key, seq, tsMs: 0, levelsHash: book.hash, body: levels(...prices) };
}

function update(seq: number, prevSeq: number, ...prices: number[]): object {
  return { type: 'ORDERBOOK_UPDATE', key, seq, prevSeq, tsMs: 0, body: levels(...prices) };
}

/** A book that is asked for over an open socket; `heard`: of each change its type, and the bids as they are by then. */
function followed() {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const book = client.followBook({ poolAddress });
  const heard: [string, number[]][] = [];
  const stop = book.onChange(({ type }) => heard.push([type, book.book.bids.map(({ price }) => Number(price))]));
  server.socket.authorizes().grants(10, [key]);
  return { server, book, heard, stop };
}

t.test('a listener runs after the change is in the book', (t) => {
  const { server, heard, stop } = followed();
  server.socket.says(snapshot(10, 5), update(11, 10, 6));
  t.strictSame(heard, [
    ['ORDERBOOK_SNAPSHOT', [5]],
    ['ORDERBOOK_UPDATE', [6, 5]],
  ]);
  stop();
  server.socket.says(update(12, 11, 7));
  t.equal(heard.length, 2);
  t.end();
});

t.test('a snapshot that was not asked for takes the place of the book', (t) => {
  const { server, heard } = followed();
  server.socket.says(snapshot(10, 5), snapshot(20, 8), update(21, 20, 9));
  t.strictSame(heard.slice(1), [
    ['ORDERBOOK_SNAPSHOT', [8]],
    ['ORDERBOOK_UPDATE', [9, 8]],
  ]);
  t.end();
});

t.test('after a lost connection a book goes on where it was', (t) => {
  const { server, heard } = followed();
  server.socket.says(snapshot(10, 5));
  server.socket.drops();
  server.clock.advance(1_000);
  t.match(server.socket.authorizes().grants(10, [key]), { epoch, fromSeq: 10 });
  server.socket.says(update(11, 10, 6));
  t.strictSame(heard.slice(1), [['ORDERBOOK_UPDATE', [6, 5]]]);
  t.end();
});

t.test('whenLive waits until the book is complete', async (t) => {
  const { server, book } = followed();
  let isLive = false;
  const live = book.whenLive().then(() => (isLive = true));
  await Promise.resolve();
  t.notOk(isLive);
  server.socket.says(snapshot(10, 5));
  await live;
  await t.resolves(book.whenLive(), 'and not at all when it is live already');
});

function eventsOf(contents: QuoteEventsState): AsyncGenerator<QuoteEvent, void, void> {
  const subscription = new Subscription('QUOTES', {}, contents);
  const nothing = (): void => undefined;
  return new FollowedEvents(contents, subscription, nothing, nothing).events();
}

t.test('a loop that is too slow throws at its next step, before it has read all that came in time', async (t) => {
  const contents = new QuoteEventsState();
  const events = eventsOf(contents);
  const first = events.next();
  const event = { type: 'POST_QUOTE', body: quote(1) } as unknown as QuoteEvent;
  for (let i = 0; i < 3; i++) contents.events.emit(event);
  t.strictSame(await first, { value: event, done: false });
  for (let i = 0; i < 100_001; i++) contents.events.emit(event);
  await t.rejects(events.next(), { message: 'More than 100000 events wait for their reader' });
});

t.test('a loop that leaves 100,000 events waiting throws', async (t) => {
  const contents = new QuoteEventsState();
  const events = eventsOf(contents);
  const first = events.next();
  const event = { type: 'POST_QUOTE', body: quote(1) } as unknown as QuoteEvent;
  contents.events.emit(event);
  t.strictSame(await first, { value: event, done: false });
  for (let i = 0; i < 100_001; i++) contents.events.emit(event);
  await t.rejects(events.next(), { message: 'More than 100000 events wait for their reader' });
});
