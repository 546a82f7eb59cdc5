/** Values that the schemas take. The signature is of the right shape only. */
const address = (digit: string): `0x${string}` => `0x${digit.repeat(40)}`;

export const postedQuote = {
  poolKey: {
    base: address('1'),
    quote: address('2'),
    oracleAdapter: address('3'),
    strike: '1800000000000000000000',
    maturity: 1_701_417_600,
    isCallPool: true,
  },
  chainId: '421613',
  provider: address('A'),
  taker: address('0'),
  price: '50000000000000000',
  size: '1000000000000000000',
  isBuy: false,
  deadline: 1_700_000_000,
  salt: 1_699_000_000,
  signature: { r: `0x${'4'.repeat(64)}`, s: `0x${'5'.repeat(64)}`, v: 27 },
};

export const orderbookQuote = {
  quoteId: `0x${'6'.repeat(64)}`,
  poolAddress: address('7'),
  ...postedQuote,
  ts: 1_699_000_001,
  fillableSize: '1000000000000000000',
};

export const option = { base: 'WETH', quote: 'USDC', expiration: '03NOV23', strike: 1800, type: 'C' };
