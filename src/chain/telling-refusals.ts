import type { ChainReader } from './contracts/chain-reader.js';
import { isChainFailure } from './contracts/contract-errors.js';
import { RpcUnreachable } from './rpc/rpc-errors.js';

type Asked = Pick<ChainReader, 'call' | 'multicall'>;

/**
 * The same reader for who asks on behalf of clients: they are told little of a node's refusal, and `onRefusal` all of
 * it. That no answer came at all is heard of from the endpoints.
 */
export function tellingRefusals(reader: Asked, onRefusal: (error: Error) => void): Asked {
  const told = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      if (isChainFailure(error) && !(error instanceof RpcUnreachable)) onRefusal(error);
      throw error;
    }
  };
  return {
    call: (...asked) => told(reader.call(...asked)),
    multicall: (...asked) => told(reader.multicall(...asked)),
  };
}
