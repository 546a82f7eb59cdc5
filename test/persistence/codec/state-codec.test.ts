import t from 'tap';
import { getAddress } from 'viem/utils';
import { type Hex, InvalidReason, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import type { RfqRow } from '../../../src/engine/rfq-store.js';
import type { OrderRow, PoolRow } from '../../../src/engine/state-rows.js';
import { MsgpackError } from '../../../src/persistence/codec/msgpack-reader.js';
import { decodeState, encodeState, type StateRows } from '../../../src/persistence/codec/state-codec.js';

let words = 0;
const hex = (bytes: number): Hex => `0x${(words += 1).toString(16).padStart(2 * bytes, '0')}`;
/** Few, since a checksum takes its time. */
const TOKENS = [getAddress(hex(20)), getAddress(hex(20)), getAddress(hex(20))] as const;
/** Of every field another value, and null or "no block" where a row may say so. */
const poolRow = (isDeployed: boolean): PoolRow => {
  const deployed = isDeployed ? ([11, 12, hex(32), 13] as const) : null;
  return [hex(20), ...TOKENS, 10n ** 30n, 14, isDeployed, deployed];
};
const orderRow = (isKnown: boolean): OrderRow => {
  const taker = isKnown ? hex(20) : ZERO_ADDRESS;
  const posted = [hex(32), hex(32), 27, 23, 24, hex(32), 25] as const;
  const rest = isKnown
    ? ([0n, InvalidReason.InsufficientShortBalance, 26, 28] as const)
    : ([5n, null, -1, -1] as const);
  return [2 ** 20, hex(32), hex(20), taker, 1n, 2n ** 200n, isKnown, 21, 22, ...posted, ...rest];
};
const rfqRow = (isWhole: boolean): RfqRow => [
  { poolAddress: hex(20), side: isWhole ? 'bid' : 'ask', size: 31n, taker: hex(20), body: '{"a":"ä"}' },
  {
    rfqId: hex(16).slice(2),
    owner: 'key',
    clientId: isWhole ? 'mine' : null,
    validUntil: 32,
    taker: isWhole ? hex(20) : null,
    minQuotes: 33,
    makers: isWhole ? [hex(20), hex(20)] : [],
    leg: isWhole ? { packageId: hex(16).slice(2), place: 1, legs: 2 } : null,
  },
  34,
  isWhole,
  isWhole
    ? [
        [hex(32), hex(20), 35n, 36n, true, [[37, 38, 39n]]],
        [hex(32), hex(20), 35n, 0n, false, []],
      ]
    : [],
];
const state: StateRows = {
  stream: [
    7,
    [9, hex(32), 3],
    [
      [8, hex(32)],
      [9, hex(32)],
    ],
  ],
  settlement: [0, [5, hex(32), null], []],
  pools: [poolRow(true), poolRow(false)],
  orders: [orderRow(true), orderRow(false)],
  withdrawals: [
    [hex(32), hex(20), 31],
    [hex(32), hex(20), 2 ** 40],
  ],
  nonces: [
    [hex(20), 0n, 32],
    [hex(20), 2n ** 256n - 1n, 33],
  ],
  rfqs: [rfqRow(true), rfqRow(false)],
  authorizations: [
    [hex(20), 'key', 40, 41, 0],
    [hex(20), 'ä', 2 ** 40, 0, 42],
  ],
  fillLimits: [
    [hex(20), hex(20), 2n ** 200n, 0, 43, 44, [[45, 46, 47n, 48]]],
    [hex(20), hex(20), 0n, 49, 50, 51, []],
  ],
};
const EMPTY: StateRows = {
  stream: [-1, null, []],
  settlement: [-1, null, []],
  pools: [],
  orders: [],
  withdrawals: [],
  nonces: [],
  rfqs: [],
  authorizations: [],
  fillLimits: [],
};

const chunksOf = (rows: StateRows): Buffer[] => Array.from(encodeState(rows), (chunk) => Buffer.from(chunk));

t.test('a state is read back row by row, with all that each says', async (t) => {
  t.strictSame(decodeState(chunksOf(state)), state);
  t.strictSame(decodeState(chunksOf(EMPTY)), EMPTY);
});

t.test('no chunk has more than a thousand rows, and all of them come back in order', async (t) => {
  for (const [count, chunks] of [
    [1000, 1],
    [1001, 2],
    [2001, 3],
  ] as const) {
    const pools = Array.from({ length: count }, () => poolRow(false));
    const orders = Array.from({ length: count }, () => orderRow(false));
    const rfqs = Array.from({ length: count }, () => rfqRow(false));
    const withdrawals = Array.from({ length: count }, (_, n) => [hex(32), hex(20), n] as const);
    const nonces = Array.from({ length: count }, (_, n) => [hex(20), BigInt(n), n] as const);
    const authorizations = Array.from({ length: count }, (_, n) => [hex(20), 'key', n, 0, 0] as const);
    const fillLimits = Array.from({ length: count }, (_, n) => [hex(20), hex(20), 0n, 1, n, n, []] as const);
    const all = { ...state, pools, orders, withdrawals, nonces, rfqs, authorizations, fillLimits };
    const encoded = chunksOf(all);
    t.equal(encoded.length, 1 + 7 * chunks);
    t.strictSame(decodeState(encoded), all);
  }
});

t.test('chunks that are no whole state are refused', async (t) => {
  const [chains = Buffer.alloc(0), ...others] = chunksOf(state);
  const withByte = (at: number, value: number): Buffer => {
    const changed = Buffer.from(chains);
    changed[at] = value;
    return changed;
  };
  const refused = (chunks: Buffer[], message: RegExp): void => {
    t.throws(() => decodeState(chunks), { message, constructor: MsgpackError });
  };
  // Behind the array's head: the version, the part, and how many rows it has.
  refused([withByte(0, 0x94), ...others], /4 fields instead of 3/);
  refused([withByte(1, 2), ...others], /a state of version 2/);
  refused([withByte(2, 3), ...others], /a state of version 1/);
  refused([withByte(2, 8), ...others], /unknown part 8/);
  refused([withByte(3, 0x91), ...others], /bytes too many/);
  refused([Buffer.concat([chains, Buffer.alloc(1)]), ...others], /1 bytes too many/);
  refused(others, /0 chains/);
  refused([chains, chains, ...others], /4 chains/);
  t.throws(() => decodeState([chains.subarray(0, -1), ...others]), MsgpackError);
});
