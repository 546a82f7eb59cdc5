/**
 * The EIP-712 types that a pool's contract signs, restated here so that the tests do not check the code against itself.
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
