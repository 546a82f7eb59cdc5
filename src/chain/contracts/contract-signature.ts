import { encodeFunctionData, hashMessage, parseAbi } from 'viem';
import type { Hex } from '../../engine/quote.js';
import type { ChainReader } from './chain-reader.js';
import { unlessChainFails } from './contract-errors.js';

const abi = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
/** Result of the function for a valid signature, padded to a word (EIP-1271). */
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;

/** Whether the contract at that address accepts the signature of a personal message (EIP-1271). */
export async function acceptsSignature(
  reader: Pick<ChainReader, 'multicall'>,
  address: Hex,
  message: string,
  signature: Hex,
): Promise<boolean | 'UNAVAILABLE'> {
  const args = [hashMessage(message), signature] as const;
  const data = encodeFunctionData({ abi, functionName: 'isValidSignature', args });
  return unlessChainFails(async () => {
    const [answer] = await reader.multicall([{ to: address, data, runsForeignCode: true, isOfClient: true }]);
    return answer?.reverted === false && answer.data.startsWith(MAGIC);
  }, 'UNAVAILABLE');
}
