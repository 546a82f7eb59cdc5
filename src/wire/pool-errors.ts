/** Errors by which an option pool of Premia v3 refuses a fill, a cancel, an exercise or a settlement; viem's form. */
export const POOL_ERRORS = [
  'error Pool__AboveQuoteSize(uint256 size, uint256 quoteSize)',
  'error Pool__InvalidAssetUpdate(int256 deltaLongs, int256 deltaShorts)',
  'error Pool__InvalidQuoteOBSignature()',
  'error Pool__InvalidQuoteOBTaker()',
  'error Pool__OptionExpired()',
  'error Pool__OptionNotExpired()',
  'error Pool__OutOfBoundsPrice(uint256 price)',
  'error Pool__QuoteOBCancelled()',
  'error Pool__QuoteOBExpired()',
  'error Pool__QuoteOBOverfilled(uint256 filledAmount, uint256 size, uint256 quoteOBSize)',
  'error Pool__ZeroSize()',
] as const;
