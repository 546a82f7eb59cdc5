import { encode, ExtData } from '@msgpack/msgpack';
import t from 'tap';
import { checkAnnouncedElements, decodeFrame } from '../../src/client/decode.js';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { encodeMessage } from '../../src/wire/feed-msgpack.js';
import { epoch, quote } from './scripted-server.js';

const key = 'quotes:421613:*:*:*';
const cause = { chain: 'settlement', blockNumber: 7, txHash: `0x${'ab'.repeat(32)}`, logIndex: 3 } as const;
const levels = {
  bids: [{ price: '49', size: '0', count: 0 }],
  asks: [{ price: '51', size: `${10n ** 60n}`, count: 2 }],
};
const chain = { block: null, lateMs: 12, stale: 'settlement: no answer', readTo: 7 };
const { poolAddress, poolKey, provider } = quote(1);
const best = { price: '50', size: '7' };
const ticker = {
  poolAddress,
  poolKey,
  bid: best,
  ask: best,
  filledSize24h: `${3n * 10n ** 18n}`,
  volume24h: null,
  openInterest: null,
};
const messages: readonly ServerMessageV2[] = [
  { type: 'INFO', body: { channel: 'QUOTES', keys: [key], seq: 4, epoch }, message: 'Subscribed' },
  { type: 'ERROR', body: null, message: 'Not Authorized', code: 'not_authenticated' },
  { type: 'ERROR', body: null, message: 'RATELIMITED', code: 'rate_limited', id: 'a 1' },
  { type: 'INFO', body: null, message: 'Unsubscribed from QUOTES channel', id: '1' },
  { type: 'POST_QUOTE', key, seq: 5, prevSeq: 4, tsMs: 1, cause, body: quote(1) },
  { type: 'FILL_QUOTE', key, seq: 6, prevSeq: 5, tsMs: 1, cause, size: '10', body: quote(1, '0') },
  {
    type: 'INVALIDATE_QUOTE',
    key,
    seq: 7,
    prevSeq: 6,
    tsMs: 1,
    cause: null,
    reason: 'InsufficientShortBalance',
    body: quote(2),
  },
  { type: 'UNDO_QUOTE', key, seq: 8, prevSeq: 7, tsMs: 1, cause: null, valid: true, body: quote(2) },
  {
    type: 'RFQ',
    key: 'rfq:421613:*:*:*',
    seq: 8,
    prevSeq: 7,
    tsMs: 1,
    cause: null,
    body: { poolAddress, side: 'ask', chainId: '421613', size: `${10n ** 18n}`, taker: provider },
  },
  { type: 'TICKER_SNAPSHOT', key: 'ticker:421613:*', seq: 8, tsMs: 1, more: true, body: [ticker] },
  {
    type: 'TICKER',
    key: 'ticker:421613:*',
    seq: 9,
    tsMs: 1,
    body: { ...ticker, bid: null, filledSize24h: '0', volume24h: null, openInterest: null },
  },
  {
    type: 'QUOTES_SNAPSHOT',
    key,
    seq: 8,
    tsMs: 1,
    hash: `0x${'cd'.repeat(32)}`,
    more: false,
    body: [quote(1), quote(2)],
  },
  { type: 'ORDERBOOK_SNAPSHOT', key, seq: 8, tsMs: 1, levelsHash: `0x${'00'.repeat(32)}`, body: levels },
  { type: 'ORDERBOOK_UPDATE', key, seq: 9, prevSeq: 8, tsMs: 1, body: levels },
  { type: 'ORDERBOOK_UPDATE', key, seq: 9, prevSeq: 2, tsMs: 1, from: 3, body: levels },
  { type: 'RESYNC', channel: 'RFQ', keys: [key], seq: 9, epoch, reason: 'TOO_OLD' },
  {
    type: 'HEARTBEAT',
    seq: 9,
    serverTimeMs: 2,
    chains: { settlement: chain, stream: chain },
    books: [{ key, hash: `0x${'ef'.repeat(32)}` }],
  },
];

for (const message of messages) {
  t.test(`${message.type} means the same as text and as MessagePack`, async (t) => {
    t.strictSame(decodeFrame(JSON.stringify(message)), message);
    t.strictSame(decodeFrame(bufferOf(encodeMessage(message))), message);
  });
}

t.test('a message of a newer server is left alone', async (t) => {
  t.strictSame(decodeFrame('{"type":"SOMETHING_NEW","body":1}'), { type: null });
  t.strictSame(decodeFrame('{"type":"toString"}'), { type: null }, 'not a name that all objects have');
  t.strictSame(decodeFrame(Uint8Array.from([0x92, 0x7f, 0x01]).buffer), { type: null });
});

t.test('what is no message is an error', async (t) => {
  t.throws(() => decodeFrame('{"type":'), SyntaxError);
  t.throws(() => decodeFrame('[]'), TypeError);
  t.throws(() => decodeFrame(Uint8Array.from([0x01]).buffer), TypeError);
  t.throws(() => decodeFrame(Uint8Array.from([0xa1, 0x61]).buffer), TypeError, 'text, which has elements too');
  t.throws(() => decodeFrame(7), TypeError);
});

function bufferOf(bytes: Uint8Array): unknown {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

/** Arrays in arrays, each of so many elements by its head, and nothing in the innermost. */
function nested(depth: number, elements: number): Uint8Array {
  const frame = Buffer.alloc(5 * depth);
  for (let level = 0; level < depth; level++) {
    frame.writeUInt8(0xdd, 5 * level);
    frame.writeUInt32BE(elements, 5 * level + 1);
  }
  return frame;
}

t.test('a frame of a hundred bytes that announces gigabytes is refused, and costs nothing', (t) => {
  for (const [depth, elements] of [
    [20, 30_000_000],
    [1_000, 100_000],
    [10_000, 40_000],
  ] as const) {
    const frame = Uint8Array.from(nested(depth, elements)).buffer;
    const before = process.memoryUsage().rss;
    t.throws(() => decodeFrame(frame), RangeError, `${depth} arrays of ${elements}`);
    t.ok(process.memoryUsage().rss - before < 100e6, 'no room was made for them');
  }
  t.end();
});

t.test('maps announce keys and values', (t) => {
  t.throws(() => checkAnnouncedElements(Uint8Array.of(0xde, 0, 2, 1, 1, 1)), RangeError);
  t.doesNotThrow(() => checkAnnouncedElements(Uint8Array.of(0xde, 0, 2, 1, 1, 1, 1)));
  t.throws(() => checkAnnouncedElements(Uint8Array.of(0x81, 1)), RangeError);
  t.throws(() => checkAnnouncedElements(Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)), RangeError);
  t.end();
});

t.test('whatever a frame may hold is no more than it announces', (t) => {
  const sizes = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536];
  const values: unknown[] = [
    null,
    true,
    ...[0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32, -1, -32, -33, -128, -129, -40_000, -(2 ** 33), 0.5],
    ...sizes.flatMap((size) => [
      'x'.repeat(size),
      // Bytes which would announce the most, were they taken for heads.
      new Uint8Array(size).fill(0xdd),
      Array.from({ length: size }, () => 0),
      Object.fromEntries(Array.from({ length: size }, (_, key) => [`${key}`, key])),
      new ExtData(7, new Uint8Array(size).fill(0xdd)),
    ]),
    ...[2, 4, 8].map((size) => new ExtData(7, new Uint8Array(size).fill(0xdd))),
  ];
  for (const value of values) {
    for (const frame of [encode(value), encode([value, [value], 1]), encode(0.5, { forceFloat32: true })]) {
      t.doesNotThrow(() => checkAnnouncedElements(frame));
      // Within another's memory, as a frame may be.
      const shared = new Uint8Array(frame.length + 3);
      shared.set(frame, 3);
      t.doesNotThrow(() => checkAnnouncedElements(shared.subarray(3)));
    }
  }
  t.throws(() => checkAnnouncedElements(new Uint8Array(0)), RangeError);
  t.end();
});
