/**
 * What a pool's contract has signed (EIP-712): written down for the tests, so that what is tested is not its own
 * witness.
 */
export const QUOTE_TYPES = {
  FillQuoteOB: [
    { name: 'provider', type: 'address' },
    { name: 'taker', type: 'address' },
    { name: 'price', type: 'uint256' },
    { name: 'size', type: 'uint256' },
    { name: 'isBuy', type: 'bool' },
    { name: 'deadline', type: 'uint256' },
    { name: 'salt', type: 'uint256' },
  ],
} as const;
