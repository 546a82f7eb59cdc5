import t from 'tap';
import { revertData } from '../../../src/chain/contracts/chain-reader.js';
import { RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { httpRpc } from '../following.js';
import { RpcProxy } from '../rpc-proxy.js';

/** What is thrown where a node refuses so. */
async function refused(message: string, data: unknown): Promise<RpcError> {
  const proxy = await RpcProxy.open('http://127.0.0.1:9');
  proxy.trick = ({ id, method }) =>
    method === 'eth_chainId'
      ? { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, result: 7 }) }
      : { error: { code: 3, message, data } };
  try {
    await httpRpc([proxy.url], undefined, 7).request({ method: 'eth_estimateGas' });
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  } finally {
    proxy.close();
  }
  throw new Error('It was not refused');
}

t.test('of what a node says with a refusal no more is kept than people read: all of it would be logged', async (t) => {
  const data: Hex = `0x${'ab'.repeat(500_000)}`;
  const long = await refused(`execution reverted: ${'no '.repeat(500_000)}`, data);
  t.ok(long.message.length < 10_000);
  t.match(revertData(long), /^0x(ab){500,5000}$/, 'whose beginning names its error');
  const short = await refused('execution reverted', '0x1234');
  t.strictSame([short.message, short.data], ['execution reverted', '0x1234']);
  t.equal((await refused('no', { trace: ['x'.repeat(100_000)] })).data, null);
});
