import { parseAbi } from 'viem';

/**
 * Errors of libraries that are linked into the contracts: they surface from a pool, a vault or the factory, although
 * no interface of theirs declares them.
 */
export const libraryErrorsAbi = parseAbi([
  'error ECDSA__InvalidS()',
  'error ECDSA__InvalidSignature()',
  'error ECDSA__InvalidV()',
  'error OptionMath__NonPositiveVol()',
  'error OptionMath__OutOfBoundsPrice(uint256 min, uint256 max, uint256 price)',
  'error OptionMath__Underflow()',
]);
