import assert from 'node:assert/strict';
import { decode, encode as msgpack } from '@msgpack/msgpack';
import * as fc from 'fast-check';
import t, { type Test } from 'tap';
import { getAddress } from 'viem/utils';
import type { ChainRole } from '../../../src/engine/command.js';
import type { JournalRecord } from '../../../src/engine/ports.js';
import type { Hex } from '../../../src/engine/quote.js';
import { MsgpackError } from '../../../src/persistence/codec/msgpack-reader.js';
import { RecordReader, RecordWriter } from '../../../src/persistence/codec/record-codec.js';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { MAKER, POOL, quoteIdOf, START, unpacked } from '../../engine/samples.js';
import { quote, record } from './arbitrary.js';
import { rfqRecords } from './rfq-records.js';
import { tradeRecords } from './trade-records.js';

const out = new GrowingBuffer(64);
const writer = new RecordWriter(out);
const reader = new RecordReader();

function encode(value: JournalRecord): Buffer {
  out.clear(64);
  writer.write(value);
  return Buffer.from(out.view());
}

/** `golden`: the bytes of each record, in hexadecimal digits. */
function compareGolden(t: Test, records: readonly JournalRecord[], golden: readonly string[]): void {
  t.strictSame(
    records.map((each) => encode(each).toString('hex')),
    golden,
  );
  t.strictSame(
    golden.map((bytes) => unpacked(reader.read(Buffer.from(bytes, 'hex')))),
    records,
  );
}

t.test('what is written is read back, field by field', async () => {
  fc.assert(
    fc.property(record, (value) => assert.deepStrictEqual(unpacked(reader.read(encode(value))), value)),
    { numRuns: 200 },
  );
});

t.test('equal records have equal bytes, also when their quotes and pools are other objects', async () => {
  fc.assert(
    fc.property(record, (value) => {
      const bytes = encode(value);
      assert.ok(encode(structuredClone(value)).equals(bytes));
      assert.ok(encode(reader.read(bytes)).equals(bytes));
    }),
    { numRuns: 100 },
  );
});

t.test('the end of a record can be written alone, as a replay does', async () => {
  fc.assert(
    fc.property(record, (value) => {
      const bytes = encode(value);
      const { command } = reader.readCommand(bytes);
      const start = reader.eventsAt;
      out.clear(64);
      writer.writeEvents(command, value.events);
      assert.ok(out.view().equals(bytes.subarray(start)));
    }),
    { numRuns: 200 },
  );
});

/** Every text that comes of changing one digit. */
function nearlyAlike(hex: Hex): Hex[] {
  return Array.from({ length: hex.length - 2 }, (_, digit): Hex => {
    const at = 2 + digit;
    return `0x${hex.slice(2, at)}${hex[at] === 'f' ? '0' : 'f'}${hex.slice(at + 1)}`;
  });
}

t.test('a text that is remembered is never taken for one that differs in a digit', async (t) => {
  const [enter] = fc.sample(quote, { numRuns: 1, seed: 7 });
  assert.ok(enter !== undefined);
  const [hash, other] = nearlyAlike(`0x${'5c'.repeat(32)}`);
  assert.ok(hash !== undefined && other !== undefined);
  const readBack = (provider: Hex, txHash: Hex, blockHash: Hex, chain: ChainRole) => {
    const asked = { ...enter, provider, origin: { ...enter.origin, txHash } };
    const position = { chain, blockNumber: 1, blockHash, logIndex: null };
    const state = { fillableSize: asked.size, reason: null };
    const command = { type: 'ENTER_QUOTE', quote: asked, state, settlementBlock: 1, position } as const;
    const read = reader.read(encode({ stamp: { index: 1, tsMs: 1 }, command, events: [] })).command;
    t.same(unpacked(read), command);
  };
  for (const maker of [enter.provider, ...nearlyAlike(enter.provider), enter.provider]) {
    readBack(maker, hash, other, 'stream');
  }
  for (const changed of [hash, ...nearlyAlike(hash)]) {
    // What is remembered is the one without a change.
    readBack(enter.provider, hash, hash, 'stream');
    readBack(enter.provider, changed, changed, 'stream');
    readBack(enter.provider, changed, other, 'settlement');
  }
});

const OF_WITHDRAWN: ReadonlySet<string> = new Set([
  'WITHDRAWN_QUOTE_FILLED',
  'WITHDRAWN_QUOTE_RESTATED',
  'QUOTE_WITHDRAWN',
]);
const PROTECTING: ReadonlySet<string> = new Set(['AUTHORIZE_KEY', 'SET_TIMER', 'SET_FILL_LIMIT']);

t.test('a record is msgpack to any other reader', async () => {
  fc.assert(
    fc.property(record, (value) => {
      const [version, index, tsMs, command, events] = decode(encode(value)) as unknown[];
      const { type } = value.command;
      const hasTrades = 'trade' in value.command || 'undoesTrades' in value.command;
      const isOfWithdrawn =
        (type === 'FILL_QUOTE' || type === 'REWIND_SETTLEMENT') &&
        value.events.some(({ type }) => OF_WITHDRAWN.has(type));
      const withdraws = isOfWithdrawn || type === 'WITHDRAW_QUOTES' || type === 'RESTORE_QUOTES';
      const hasRfqs = 'terms' in value.command || type === 'CANCEL_RFQ';
      const features: readonly [boolean, number][] = [
        ['message' in value.command, 8],
        [PROTECTING.has(type), 7],
        [hasRfqs, 6],
        [withdraws, 5],
        [hasTrades, 4],
        ['early' in value.command, 3],
        [type === 'EXPIRE_QUOTES', 2],
      ];
      const wanted = features.find(([has]) => has)?.[1] ?? 1;
      assert.deepEqual([version, index, tsMs], [wanted, value.stamp.index, value.stamp.tsMs]);
      assert.ok(Array.isArray(command));
      assert.equal((events as unknown[]).length, value.events.length);
    }),
  );
});

t.test('a record that was cut or goes on is refused, one that was changed is refused or another record', async () => {
  fc.assert(
    fc.property(record, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, place, flip) => {
      const bytes = encode(value);
      const at = place % bytes.length;
      assert.throws(() => reader.read(bytes.subarray(0, at)), MsgpackError);
      assert.throws(() => reader.read(Buffer.concat([bytes, Buffer.of(flip)])), MsgpackError);
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ flip;
      const read = readOrFault(changed);
      if (!(read instanceof MsgpackError)) assert.notDeepStrictEqual(read, value);
    }),
    { numRuns: 300 },
  );
});

function readOrFault(bytes: Buffer): unknown {
  try {
    return reader.read(bytes);
  } catch (error) {
    const { code } = error as { code?: string };
    if (error instanceof MsgpackError || code === 'NEWER_FORMAT') return error;
    throw error;
  }
}

t.test('golden bytes: records with trades are written and read so by every later program', async (t) => {
  const golden = [
    [
      '950407cf0000018bcfe568009601c4201d00000000000000000000000000000000000000000000000000000000000001c40814d1120d7b16',
      '0000933dc4207c0000000000000000000000000000000000000000000000000000000000003d0394013dc420000000000000000000000000',
      '000000000000000000000000000000000000003dc09797c414a000000000000000000000000000000000000900c414a00000000000000000',
      '0000000000000000000001c414a000000000000000000000000000000000000002c414a000000000000000000000000000000000000003c4',
      '0203e8ce65633340c3c414a000000000000000000000000000000000000010c414a000000000000000000000000000000000000020c407b1',
      'a2bc2ec50000c40702d79883d20000c3ce6553f1079197090c9201933dc4207c000000000000000000000000000000000000000000000000',
      '0000000000003d03c4201d00000000000000000000000000000000000000000000000000000000000001c40814d1120d7b160000c4200000',
      '00000000000000000000000000000000000000000000000000000000003d9700c414a000000000000000000000000000000000000010c414',
      'a000000000000000000000000000000000000020c407b1a2bc2ec50000c40702d79883d20000c3ce6553f107',
    ].join(''),
    [
      '950408cf0000018bcfe569f4950694013cc420000000000000000000000000000000000000000000000000000000000000003cc03c90c391',
      '940a0dc03c',
    ].join(''),
  ];
  compareGolden(t, tradeRecords, golden);
});

t.test(
  'golden bytes: records of requests that are followed are written and read so by every later program',
  async (t) => {
    const golden = [
      [
        '950609cf0000018bcfe568009708c414a000000000000000000000000000000000000900c2c40814d1120d7b160000c41400000000000000',
        '00000000000000000000000000ae7b2273696465223a2261736b227d98d92030313233343536373839616263646566303132333435363738',
        '39616263646566a435663361a768656467652d37ce6553f13cc414a0000000000000000000000000000000000000200291c414a000000000',
        '00000000000000000000000000001093d920666564636261393837363534333231306665646362613938373635343332313001029199080e',
        'c0c414a000000000000000000000000000000000000900c2c40814d1120d7b160000c4140000000000000000000000000000000000000000',
        'ae7b2273696465223a2261736b227d98d9203031323334353637383961626364656630313233343536373839616263646566a435663361a7',
        '68656467652d37ce6553f13cc414a0000000000000000000000000000000000000200291c414a00000000000000000000000000000000000',
        '001093d92066656463626139383736353433323130666564636261393837363534333231300102',
      ].join(''),
      [
        '95060acf0000018bcfe569f4920dd9203031323334353637383961626364656630313233343536373839616263646566929e0f0f92009364',
        'c4207c0000000000000000000000000000000000000000000000000000000000006404d92030313233343536373839616263646566303132',
        '33343536373839616263646566c414a000000000000000000000000000000000000900c2c40814d1120d7b160000c4140000000000000000',
        '00000000000000000000000091c414a000000000000000000000000000000000000010c001c4000193c4201d000000000000000000000000',
        '00000000000000000000000000000000000001c407b1a2bc2ec50000c4010a9e0f10c0d92030313233343536373839616263646566303132',
        '33343536373839616263646566c414a000000000000000000000000000000000000900c2c40814d1120d7b160000c4140000000000000000',
        '00000000000000000000000090c414a00000000000000000000000000000000000002003c40814d1120d7b16000000c0',
      ].join(''),
    ];
    compareGolden(t, rfqRecords, golden);
  },
);

t.test('golden bytes: records with signed messages are written and read so by every later program', async (t) => {
  const stamp = { index: 9, tsMs: START * 1000 };
  const signed = { nonce: 7n, deadline: START + 60 };
  const [known, unknown] = [quoteIdOf(1), quoteIdOf(2)];
  const message = { quoteIds: [known, unknown], signature: { r: quoteIdOf(3), s: quoteIdOf(4), v: 28 } };
  const named = { provider: MAKER, quoteIds: [known], signed, message };
  const records: readonly JournalRecord[] = [
    { stamp, command: { type: 'WITHDRAW_QUOTES', ...named, reason: 'REQUESTED' }, events: [] },
    { stamp, command: { type: 'RESTORE_QUOTES', ...named }, events: [] },
  ];
  const golden: readonly string[] = [
    '950809cf0000018bcfe56800960bc414a00000000000000000000000000000000000001091c4201d000000000000000000000000000000000000000000000000000000000000010092c40107ce6553f13c9492c4201d00000000000000000000000000000000000000000000000000000000000001c4201d00000000000000000000000000000000000000000000000000000000000002c4201d00000000000000000000000000000000000000000000000000000000000003c4201d000000000000000000000000000000000000000000000000000000000000041c90',
    '950809cf0000018bcfe56800950cc414a00000000000000000000000000000000000001091c4201d0000000000000000000000000000000000000000000000000000000000000192c40107ce6553f13c9492c4201d00000000000000000000000000000000000000000000000000000000000001c4201d00000000000000000000000000000000000000000000000000000000000002c4201d00000000000000000000000000000000000000000000000000000000000003c4201d000000000000000000000000000000000000000000000000000000000000041c90',
  ];
  compareGolden(t, records, golden);
});

t.test('golden bytes: records that set protections are written and read so by every later program', async (t) => {
  const stamp = { index: 9, tsMs: START * 1000 };
  const signed = { nonce: 7n, deadline: START + 60 };
  const bounds = { contracts: 2_000_000_000_000_000_000n, fills: 3, seconds: 60 };
  const { poolAddress } = POOL;
  const records: readonly JournalRecord[] = [
    {
      stamp,
      command: { type: 'AUTHORIZE_KEY', provider: MAKER, owner: '5f3a', until: START + 60, signed },
      events: [],
    },
    {
      stamp,
      command: { type: 'SET_TIMER', provider: MAKER, owner: '5f3a', kind: 'CONNECTION', seconds: 9 },
      events: [],
    },
    {
      stamp,
      command: { type: 'SET_FILL_LIMIT', provider: MAKER, poolAddress, until: START + 90, bounds, signed: null },
      events: [],
    },
    {
      stamp,
      command: { type: 'SET_FILL_LIMIT', provider: MAKER, poolAddress, until: START + 90, bounds: null, signed },
      events: [],
    },
  ];
  const golden: readonly string[] = [
    '950709cf0000018bcfe56800950ec414a000000000000000000000000000000000000010a435663361ce6553f13c92c40107ce6553f13c90',
    '950709cf0000018bcfe56800950fc414a000000000000000000000000000000000000010a435663361010990',
    '950709cf0000018bcfe568009610c414a000000000000000000000000000000000000010c414a000000000000000000000000000000000000900ce6553f15a93c4081bc16d674ec80000033cc090',
    '950709cf0000018bcfe568009610c414a000000000000000000000000000000000000010c414a000000000000000000000000000000000000900ce6553f15ac092c40107ce6553f13c90',
  ];
  compareGolden(t, records, golden);
});

t.test('a newer version is refused by its number', async (t) => {
  const message = 'a record of version 9, this program reads up to 8';
  t.throws(() => reader.read(Buffer.from([0x95, 0x09, 0x01])), { code: 'NEWER_FORMAT', message });
});

t.test('a number that its table does not have is refused, and so is another number of fields', async (t) => {
  const word = Buffer.alloc(32, 1);
  const address = Buffer.alloc(20, 2);
  const position = [0, 1, word, null];
  const pool = [address, address, address, address, word, 1, true];
  const origin = [1, word, 0];
  const quote = [word, pool, address, null, word, word, true, 1, 1, word, word, 27, 1, origin];
  const advance = [7, position];
  const outcome = (command: unknown[], events: unknown[] = [], version = 1, ...more: unknown[]): string => {
    const read = readOrFault(Buffer.from(msgpack([version, 1, 1, command, events, ...more])));
    return read instanceof MsgpackError ? read.message : 'a record';
  };
  const validity = (reason: number): string => outcome([3, word, reason, null, position]);
  const removal = (why: number): string => outcome(advance, [[2, 1, null, quote, word, why, true]]);
  t.same([outcome(advance), validity(7), validity(11), removal(0), removal(3)], Array(5).fill('a record'));
  t.equal(outcome([17]), 'unknown command 17');
  t.equal(outcome([7, [2, 1, word, null]]), 'unknown chain 2');
  t.equal(validity(6), 'unknown reason 6');
  t.equal(validity(12), 'unknown reason 12');
  t.equal(outcome(advance, [[16, 1, null]]), 'unknown event 16');
  t.equal(removal(4), 'unknown removal 4');
  t.equal(outcome([4, 0, 1, origin, position]), 'unknown pool 0');
  t.equal(outcome(advance, [[4, 1, null, 0, word]]), 'unknown quote 0');
  t.equal(outcome([7, position, null]), 'ADVANCE_POSITION with 2 fields');
  t.equal(outcome(advance, [[6, 1, null, pool, null]]), 'POOL_DEPLOYED with 2 fields');
  t.equal(outcome([7, [0, 1, word]]), '3 fields instead of 4');
  t.equal(outcome(advance, [], 0), 'no record of version 0');
  t.equal(outcome(advance, [], 1, null), 'no record of version 1');
  t.equal(outcome(advance, [], 2), 'no record of version 2', 'the version goes by the command');
  t.equal(outcome([10, 1, [word]], [], 2), 'a record');
  const fill = [1, word, word, origin, position];
  const fillOfWithdrawn = [13, 1, null, quote, word, word];
  t.equal(outcome(fill, [fillOfWithdrawn], 5), 'a record');
  t.equal(outcome(fill, [fillOfWithdrawn], 1), 'no record of version 1', 'the version goes by the events, too');
  t.equal(outcome(fill, [], 5), 'no record of version 5');
  t.equal(outcome([11, address, [word], 3, null], [], 5), 'a record');
  t.equal(outcome([11, address, [word], 4, null], [], 5), 'unknown reason of a withdrawal 4');
  const message = [[word], word, word, 27];
  t.equal(outcome([11, address, [word], 0, [word, 1], message], [], 8), 'a record');
  t.equal(outcome([11, address, [word], 0, [word, 1], message], [], 5), 'no record of version 5');
  const nothingSigned = outcome([12, address, [word], null, message], [], 8);
  t.equal(nothingSigned, 'RESTORE_QUOTES with a message and without its nonce');
  t.equal(outcome([10, 1, [word]], [], 1), 'no record of version 1');
  t.equal(outcome([15, address, 'key', 1, 9], [], 7), 'a record');
  t.equal(outcome([15, address, 'key', 2, 9], [], 7), 'unknown kind of a timer 2');
});

t.test('a value outside the vocabulary is a bug that shows at once', async (t) => {
  const rfq = {
    poolAddress: `0x${'11'.repeat(20)}`,
    side: 'bid',
    size: 1n,
    taker: `0x${'22'.repeat(20)}`,
    body: '{}',
  } as const;
  const append = (change: object): void => {
    encode({ stamp: { index: 1, tsMs: 1 }, command: { type: 'PUBLISH_RFQ', rfq: { ...rfq, ...change } }, events: [] });
  };
  append({});
  t.throws(() => append({ size: -1n }), RangeError);
  t.throws(() => append({ taker: '0x1234' }), RangeError);
  t.throws(() => append({ taker: `0x${'zz'.repeat(20)}` }), RangeError);
  t.throws(() => append({ body: '\ud800' }), RangeError);
  t.throws(() => encode({ stamp: { index: 1, tsMs: 1.5 }, command: { type: 'TICK' }, events: [] }), RangeError);
});

t.test('pool addresses have to be checksums, since those alone can be restored', async (t) => {
  const token = getAddress(`0x${'ab'.repeat(20)}`);
  const poolKey = { base: token, quote: token, oracleAdapter: token, strike: 1n, maturity: 1, isCallPool: true };
  const origin = { blockNumber: 1, txHash: `0x${'00'.repeat(32)}`, logIndex: 0 } as const;
  const position = { chain: 'settlement', blockNumber: 1, blockHash: origin.txHash, logIndex: null } as const;
  const deploy = (base: `0x${string}`): void => {
    const pool = { poolAddress: `0x${'cd'.repeat(20)}`, poolKey: { ...poolKey, base } } as const;
    const command = { type: 'DEPLOY_POOL', pool, deployedAt: 1, origin, position } as const;
    encode({ stamp: { index: 1, tsMs: 1 }, command, events: [] });
  };
  deploy(token);
  t.throws(() => deploy(`0x${'ab'.repeat(20)}`), /EIP-55/);
});

t.test('bytes that are no UTF-8 are no text, however many bytes their stand-in would take', async (t) => {
  const rfq = { poolAddress: `0x${'11'.repeat(20)}`, side: 'bid', size: 1n, taker: `0x${'22'.repeat(20)}` } as const;
  const body = '\ufffd';
  const bytes = encode({
    stamp: { index: 1, tsMs: 1 },
    command: { type: 'PUBLISH_RFQ', rfq: { ...rfq, body } },
    events: [],
  });
  t.match(reader.read(bytes), { command: { rfq: { body } } });
  // The first three bytes of four: they read as U+FFFD, which takes three.
  Buffer.from([0xf0, 0x9f, 0x98]).copy(bytes, bytes.indexOf(body));
  t.throws(() => reader.read(bytes), MsgpackError);
});
