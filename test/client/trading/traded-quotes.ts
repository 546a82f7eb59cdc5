import { type Hex, keccak256, toHex } from 'viem';
import type { OrderbookQuote } from '../../../src/wire/orderbook.js';

export const ONE = 10n ** 18n;
export const MAKER: Hex = '0x1111111111111111111111111111111111111111';
export const TAKER: Hex = '0x2222222222222222222222222222222222222222';
export const NOBODY: Hex = '0x0000000000000000000000000000000000000000';
export const POOL: Hex = '0x3333333333333333333333333333333333333333';

const HASH: Hex = `0x${'00'.repeat(32)}`;
let made = 0;

/** An ask of one contract at 0.1 of a call at 2000, public and far from its end, unless told otherwise. */
export function quoteOf(terms: Partial<OrderbookQuote> = {}): OrderbookQuote {
  made += 1;
  return {
    quoteId: keccak256(toHex(made)),
    poolAddress: POOL,
    poolKey: {
      base: '0x4444444444444444444444444444444444444444',
      quote: '0x5555555555555555555555555555555555555555',
      oracleAdapter: '0x6666666666666666666666666666666666666666',
      strike: (2000n * ONE).toString(),
      maturity: 2_000_000_000,
      isCallPool: true,
    },
    chainId: '421613',
    provider: MAKER,
    taker: NOBODY,
    price: (ONE / 10n).toString(),
    size: ONE.toString(),
    isBuy: false,
    deadline: 1_900_000_000,
    salt: made,
    signature: { r: HASH, s: HASH, v: 27 },
    ts: 1_700_000_000 + made,
    fillableSize: terms.size ?? ONE.toString(),
    ...terms,
  };
}
