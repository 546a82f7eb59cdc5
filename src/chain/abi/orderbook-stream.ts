import { parseAbi } from 'viem';
import { poolKeyStruct, streamSignatureStruct } from './structs.js';

/** Stream chain: publishing a quote is calling `add`; anyone may call it, with anything in it. */
export const orderbookStreamAbi = parseAbi([
  poolKeyStruct,
  streamSignatureStruct,
  'struct StreamQuote { PoolKey poolKey; address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; StreamSignature signature; }',
  'function add(StreamQuote[] quote)',
  'event PublishQuote(PoolKey indexed poolKeyHash, address indexed provider, address taker, uint256 price, uint256 size, bool isBuy, uint256 deadline, uint256 salt, StreamSignature signature, PoolKey poolKey)',
]);
