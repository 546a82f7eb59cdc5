import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import type { TimedEvent } from '../../src/feed/event-history.js';
import { JsonEncoding, MsgpackEncoding } from '../../src/feed/event-messages.js';
import { MESSAGE_TYPES } from '../../src/wire/feed-layout.js';
import { ServerMessageV2, type ServerMessageV2 as Message } from '../../src/wire/feed-messages.js';
import { encodeMessage } from '../../src/wire/feed-msgpack.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { compile } from '../../src/wire/validation.js';
import { CommandMaker, steps } from '../engine/random-commands.js';
import { plainCause, sampleQuote } from '../engine/samples.js';
import { decodeMessage } from '../feed/decode-message.js';
import { chainId, FeedFixture } from '../feed/feed-fixture.js';
import { valueOf } from './arbitrary.js';

interface Vector {
  readonly name: string;
  readonly json: Message;
  /** Hexadecimal. */
  readonly msgpack: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../../test/vectors/feed-messages.json', import.meta.url), 'utf8'),
) as readonly Vector[];
const schemas = ServerMessageV2.anyOf;
const typeOf = (schema: (typeof schemas)[number]): string => schema.properties.type.const;
const check = compile(ServerMessageV2, 1);
const texts = (message: Message) => JSON.stringify(message);

t.test('the layout has each type of message, and the golden vectors show each', async (t) => {
  const types = schemas.map(typeOf).sort();
  t.strictSame([...MESSAGE_TYPES].sort(), types);
  t.strictSame([...new Set(vectors.map(({ json }) => json.type))].sort(), types);
});

t.test('golden vectors: what is on the wire stays so', async (t) => {
  for (const { name, json, msgpack } of vectors) {
    t.ok(check(json).ok, `${name} is a message`);
    t.equal(Buffer.from(encodeMessage(json)).toString('hex'), msgpack, `${name} is written so`);
    t.strictSame(decodeMessage(Buffer.from(msgpack, 'hex')), json, `${name} is read so`);
  }
});

t.test('a quote from a server that does not name instruments yet is read', async (t) => {
  const removed = vectors.find(({ json }) => json.type === 'REMOVE_QUOTE');
  if (removed === undefined) throw new Error('there is a vector of REMOVE_QUOTE');
  // The body is the message's last element: 15 elements, of which the last is nil.
  const now = removed.msgpack;
  const body = now.indexOf('9fc420');
  t.ok(body > 0 && now.endsWith('c0'));
  const before = `${now.slice(0, body)}9e${now.slice(body + 2, -2)}`;
  t.strictSame(decodeMessage(Buffer.from(before, 'hex')), { ...removed.json });
});

t.test(
  'a ticker from a server that reads no open interest or counts no volumes yet is read without them',
  async (t) => {
    const ticker = vectors.find(({ json }) => json.type === 'TICKER');
    if (ticker?.json.type !== 'TICKER') throw new Error('there is a vector of TICKER');
    // The body's last elements are volume and open interest: 0.75 and 1.25 contracts, bins of 8 bytes.
    const [, head, tail, volume] =
      /^(.*)97(c414.*)(c4080a688906bd8b0000)c4081158e460913d0000$/.exec(ticker.msgpack) ?? [];
    const { body, ...others } = ticker.json;
    t.strictSame(decodeMessage(Buffer.from(`${head}96${tail}${volume}`, 'hex')), {
      ...others,
      body: { ...body, openInterest: null },
    });
    t.strictSame(decodeMessage(Buffer.from(`${head}95${tail}`, 'hex')), {
      ...others,
      body: { ...body, volume24h: null, openInterest: null },
    });
  },
);

t.test('a request from a server that does not follow requests yet is read', async (t) => {
  const request = vectors.find(({ name }) => name === 'request');
  if (request === undefined) throw new Error('there is a vector of a request');
  // One element fewer: the terms, which are nil.
  t.match(request.msgpack, /^98.*c0$/);
  t.strictSame(decodeMessage(Buffer.from(`97${request.msgpack.slice(2, -2)}`, 'hex')), request.json);
});

t.test('a message of any type and with any values is the same in both forms', async () => {
  for (const schema of schemas) {
    fc.assert(
      fc.property(valueOf(schema), (value) => {
        const message = value as Message;
        if (texts(decodeMessage(encodeMessage(message))) !== texts(message)) {
          throw new Error('another value');
        }
      }),
      { numRuns: 100, endOnFailure: true },
    );
  }
});

const PREV_SEQ = 7;

/** An event and the book after it, in both encodings that serve readers. */
function bothForms() {
  const quoteJson = new QuoteJson(chainId, 100);
  const [json, msgpack] = [new JsonEncoding(quoteJson), new MsgpackEncoding(quoteJson, 100)];
  const parsed = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as Message;
  return {
    event(timed: TimedEvent) {
      const place = { key: `quotes:${chainId}:*:*:*`, prevSeq: PREV_SEQ };
      const [text, bytes] = [json.event(timed)?.(place), msgpack.event(timed)?.(place)];
      return text === undefined || bytes === undefined ? null : { text, bytes, message: parsed(text) };
    },
    page(quotes: Parameters<JsonEncoding['quotes']>[0]) {
      const [text, bytes] = [json.quotes(quotes), msgpack.quotes(quotes)];
      return { text, bytes, message: parsed(text) };
    },
  };
}

t.test(
  'what readers are sent of an event names its number and cause, and is the same in both forms, half as long in MessagePack',
  async (t) => {
    const forms = bothForms();
    const lengths = new Map<string, { count: number; json: number; msgpack: number }>();
    const compare = ({ text, bytes, message }: ReturnType<typeof forms.page>): void => {
      if (texts(decodeMessage(bytes)) !== texts(message)) throw new Error('another value');
      const sum = lengths.get(message.type) ?? { count: 0, json: 0, msgpack: 0 };
      lengths.set(message.type, {
        count: sum.count + 1,
        json: sum.json + text.length,
        msgpack: sum.msgpack + bytes.length,
      });
    };
    fc.assert(
      fc.property(steps, (script) => {
        const fixture = new FeedFixture();
        const commands = new CommandMaker();
        for (const step of script) {
          if (step.kind === 'restart') continue;
          if (step.kind === 'pass') fixture.clock.advance(step.ms);
          fixture.do(commands.make(step, fixture.engine));
        }
        for (const { events, stamp } of fixture.committed) {
          for (const event of events) {
            const both = forms.event({ event, tsMs: stamp.tsMs });
            if (both === null) continue;
            compare(both);
            const { seq, prevSeq, tsMs, cause } = both.message as Extract<Message, { cause: unknown }>;
            const told = {
              seq: event.seq,
              prevSeq: PREV_SEQ,
              tsMs: stamp.tsMs,
              cause: event.cause && plainCause(event.cause),
            };
            assert.deepEqual({ seq, prevSeq, tsMs, cause }, told);
          }
        }
        const all = { poolAddress: null, side: null, taker: '*' as const, narrowing: { provider: null, minSize: 0n } };
        const held = fixture.feed.book.take(all, '*').held;
        const head = {
          key: `quotes:${chainId}:*:*:*`,
          seq: 9,
          tsMs: 10,
          hash: `0x${'0'.repeat(64)}`,
          more: false,
        } as const;
        compare(forms.page({ ...head, held }));
      }),
      { numRuns: 200, endOnFailure: true },
    );
    const ofEvents = MESSAGE_TYPES.filter(
      (type) => type.endsWith('_QUOTE') || type === 'QUOTES_SNAPSHOT' || type === 'RFQ',
    );
    for (const type of ofEvents) {
      const { count, json, msgpack } = lengths.get(type) ?? { count: 0, json: 0, msgpack: 0 };
      t.ok(count > 0, `${type} came up`);
      t.comment(`${type}: ${Math.round(json / count)} bytes of JSON, ${Math.round(msgpack / count)} of MessagePack`);
      if (type !== 'RFQ') t.ok(msgpack < 0.55 * json, `${type} is about half as long`);
    }
  },
);

t.test('a page of quotes may have any number of them', async (t) => {
  const forms = bothForms();
  const head = { key: 'k', seq: 9, tsMs: 10, hash: `0x${'0'.repeat(64)}`, more: false } as const;
  for (const count of [0, 15, 16, 255, 256, 1_000]) {
    const held = Array.from({ length: count }, (_, n) => ({ quote: sampleQuote({ n }), fillableSize: BigInt(n) }));
    const { bytes, message } = forms.page({ ...head, held });
    t.equal(texts(decodeMessage(bytes)), texts(message), `${count} quotes`);
  }
});

t.test('bytes that are no message are refused', async (t) => {
  for (const hex of ['90', '9163', '91ff', 'c0', '80', '']) {
    t.throws(() => decodeMessage(Buffer.from(hex, 'hex')), { name: /Error$/ }, hex);
  }
});
