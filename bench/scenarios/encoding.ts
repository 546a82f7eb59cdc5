import { Encoder } from '@msgpack/msgpack';
import { limits } from '../../src/config/limits.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Order } from '../../src/engine/quote.js';
import type { TimedEvent } from '../../src/feed/event-history.js';
import { type Encoding, JsonEncoding, MsgpackEncoding } from '../../src/feed/event-messages.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { contest, type Contestant, durationRow } from '../contest.js';
import { atMost, type Row, type Scenario } from '../scenario.js';
import { CONTRACT, hex, makerOf, poolOf, quoteOf, START_SECONDS } from '../workload/quotes.js';

const CHAIN_ID = '421613';
const PLACE = { key: `quotes:${CHAIN_ID}:*:*:0x${'0'.repeat(40)}`, prevSeq: 123_456 } as const;
const pool = poolOf(1);

/** Half of it filled: a fill is the event of which one quote has most. */
function fillOf(n: number): TimedEvent {
  const price = 10n ** 16n * BigInt(1 + (n % 90)) + BigInt(n);
  const quote = quoteOf({ n, pool, price, isBuy: n % 2 === 0, provider: makerOf(n % 100) });
  const order: Order = { quote, fillableSize: CONTRACT / 2n, state: 'live', reason: null };
  const event: EngineEvent = {
    type: 'QUOTE_FILLED',
    seq: 123_457 + n,
    cause: { chain: 'settlement', blockNumber: 250_000_000 + n, txHash: hex(n, 64), logIndex: n % 40 },
    order,
    fillableSize: CONTRACT / 2n,
    size: CONTRACT / 2n,
    valid: true,
  };
  return { event, tsMs: START_SECONDS * 1000 + n };
}

function encoded(encoding: Encoding, fill: TimedEvent): Uint8Array {
  const placedIn = encoding.event(fill);
  if (placedIn === null) throw new Error('the encoding left out a fill');
  return placedIn(PLACE);
}

/** `isFirst`: nothing of the quotes has been written before; else they have been, as when they were posted. */
function ours(fills: readonly TimedEvent[], make: (quotes: QuoteJson) => Encoding, isFirst: boolean): Contestant {
  const run = (encoding: Encoding) => (): number => {
    for (const fill of fills) encoded(encoding, fill);
    return fills.length;
  };
  return {
    name: 'ours',
    prepare() {
      const encoding = make(new QuoteJson(CHAIN_ID, limits.writtenQuotes));
      if (!isFirst) run(encoding)();
      return run(encoding);
    },
  };
}

function theirs(name: string, values: readonly unknown[], encode: (value: unknown) => Uint8Array): Contestant {
  return {
    name,
    prepare: () => () => {
      for (const value of values) encode(value);
      return values.length;
    },
  };
}

export const encoding: Scenario = {
  name: 'encoding',
  title: 'Bytes and time of an event',
  workload: `FILL_QUOTE as the feed encodes it, per CPU second. *First* is the first message of a quote, *again* one of a quote
that was encoded before, as it was when it was posted. The baselines get the finished message as a value:
\`JSON.stringify\`, and the MessagePack library with names.`,
  async run(scale) {
    const isFull = scale === 'full';
    const fills = Array.from({ length: isFull ? 4_000 : 100 }, (_, n) => fillOf(n));
    const options = { rounds: isFull ? 9 : 1, warmUps: isFull ? 2 : 0, clock: 'cpu' as const };
    const json = (quotes: QuoteJson): Encoding => new JsonEncoding(quotes);
    const msgpack = (quotes: QuoteJson): Encoding => new MsgpackEncoding(quotes, limits.writtenQuotes);
    const texts = fills.map((fill) => Buffer.from(encoded(json(new QuoteJson(CHAIN_ID, limits.writtenQuotes)), fill)));
    const values = texts.map((text) => JSON.parse(text.toString()) as unknown);
    const library = new Encoder();
    const stringify = theirs('JSON.stringify', values, (value) => Buffer.from(JSON.stringify(value)));
    const maps = theirs('the library', values, (value) => library.encode(value));

    const row = async (form: string, make: typeof json, baseline: Contestant, isFirst: boolean): Promise<Row> => {
      const own = ours(fills, make, isFirst);
      const [first = [], again = [], other = []] = await contest([own, own, baseline], options);
      const label = `an event in ${form}, ${isFirst ? 'first' : 'again'}`;
      return durationRow(label, { ours: first, again, theirs: other }, baseline.name, isFirst ? null : atMost(1));
    };
    const bytes = (label: string, lengths: readonly number[], name: string, others: readonly number[]): Row => {
      const mean = (all: readonly number[]) => all.reduce((sum, length) => sum + length, 0) / all.length;
      const value = mean(lengths);
      const baseline = { value: mean(others), unit: 'bytes', name };
      return {
        label,
        ours: { value, unit: 'bytes' },
        baseline,
        ratio: value / baseline.value,
        goal: atMost(0.55),
        noise: null,
      };
    };
    const packed = fills.map((fill) => encoded(msgpack(new QuoteJson(CHAIN_ID, limits.writtenQuotes)), fill).length);
    return {
      rows: [
        await row('JSON', json, stringify, false),
        await row('JSON', json, stringify, true),
        await row('MessagePack', msgpack, maps, false),
        await row('MessagePack', msgpack, maps, true),
        bytes(
          'an event in MessagePack',
          packed,
          'JSON',
          texts.map(({ length }) => length),
        ),
        bytes(
          'an event in MessagePack, beside names and all',
          packed,
          'the library',
          values.map((value) => library.encode(value).length),
        ),
      ],
    };
  },
};
