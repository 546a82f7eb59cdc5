import { createHash } from 'node:crypto';
import t from 'tap';
import type { Order, Quote } from '../../src/engine/quote.js';
import { OrderbookQuote } from '../../src/wire/orderbook.js';
import { AsciiMessages, AsciiWriter, QuoteJson } from '../../src/wire/quote-json.js';
import { compile } from '../../src/wire/validation.js';
import { orderbookQuote } from './samples.js';

const { poolAddress, poolKey, chainId, price, size, fillableSize, ...rest } = orderbookQuote;

const quote = {
  ...rest,
  pool: { poolAddress, poolKey: { ...poolKey, strike: BigInt(poolKey.strike) } },
  price: BigInt(price),
  size: BigInt(size),
  origin: { blockNumber: 1, txHash: '0x00', logIndex: 0 },
} as Quote;

const order: Order = { quote, fillableSize: BigInt(fillableSize), state: 'live', reason: null };

t.test('what is written is the schema’s OrderbookQuote, with nothing missing and nothing more', async (t) => {
  const written: unknown = JSON.parse(new QuoteJson(chainId, 100).encode(order));
  t.strictSame(compile(OrderbookQuote, 20)(written), { ok: true, value: written });
  t.same(written, orderbookQuote);
});

t.test('it is written as JSON has its fields, of either side, alone and among others', async (t) => {
  const json = new QuoteJson(chainId, 100);
  for (const isBuy of [false, true]) {
    const of: Order = { ...order, quote: { ...quote, isBuy } };
    const text = JSON.stringify({ ...json.fixed(of.quote), fillableSize });
    t.equal(json.encode(of), text);
    const out = new AsciiWriter(10);
    for (const left of [BigInt(fillableSize), 7n]) json.write(out, of, left);
    t.equal(out.finish().toString(), text + json.encode(of, 7n));
  }
});

t.test('only what is left to fill changes from one writing to the next', async (t) => {
  const json = new QuoteJson(chainId, 100);
  t.match(JSON.parse(json.encode(order)), { fillableSize });
  t.match(JSON.parse(json.encode({ ...order, fillableSize: 7n })), { fillableSize: '7' });
  t.match(JSON.parse(json.encode(order, 5n)), { fillableSize: '5', size });
});

t.test('two orders have the same mark just when they are written the same', async (t) => {
  const json = new QuoteJson(chainId, 100);
  const digest = (text: string) => createHash('sha256').update(text).digest('base64url');
  const mark = (of: Order, fillableSize = of.fillableSize) => json.mark(of, fillableSize, digest);
  const otherWith = (changed: Partial<Quote>): Order => ({ ...order, quote: { ...quote, ...changed } });
  t.equal(mark(order), mark(order));
  t.equal(mark(otherWith({})), mark(order), 'whatever the object');
  const others = [
    mark(order, order.fillableSize + 1n),
    mark(otherWith({ ts: quote.ts + 1 })),
    mark(otherWith({ signature: { ...quote.signature, v: 55 - quote.signature.v } })),
    mark(otherWith({ pool: { ...quote.pool, poolAddress: quote.provider } })),
  ];
  t.equal(new Set([mark(order), ...others]).size, 1 + others.length);
});

/** What is written of these texts with room for so many bytes to begin with. */
function written(capacity: number, texts: readonly string[]): string {
  const out = new AsciiWriter(capacity);
  for (const text of texts) out.write(text);
  return out.finish().toString();
}

t.test('texts come one behind the other, and nothing after them', async (t) => {
  t.equal(written(100, ['[', '"a"', '', ']']), '["a"]');
  t.equal(written(5, ['12345']), '12345');
  t.equal(written(5, []), '');
});

t.test('what outgrows its room stays whole, however it comes', async (t) => {
  const long = Array.from({ length: 1_000 }, (_, i) => `${i},`);
  for (const capacity of [1, 2, 10, 3_889]) t.equal(written(capacity, long), long.join(''), `from ${capacity} bytes`);
  const large = 'x'.repeat(10_000);
  t.equal(written(4, ['ab', large, 'c']), `ab${large}c`, 'more at once than twice the room');
});

t.test('messages in shared memory stay as they are, whatever is written after them', async (t) => {
  const messages = new AsciiMessages();
  const texts = ['', 'a', 'x'.repeat(40_000), 'y'.repeat(40_000), 'z'.repeat(300_000), 'b'];
  const taken = texts.map((text) => {
    // In pieces, the second of which may not fit beside the first.
    for (const piece of [text.slice(0, 3), text.slice(3)]) messages.write(piece);
    return messages.take();
  });
  t.same(
    taken.map((message) => Buffer.from(message).toString()),
    texts,
  );
});
