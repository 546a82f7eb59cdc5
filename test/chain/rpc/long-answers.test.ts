import t from 'tap';
import { rpcOptions } from '../../../src/app/chain-wiring.js';
import { HttpRpc } from '../../../src/chain/rpc/rpc-client.js';
import { isExecutionError, RETURN_TOO_LONG } from '../../../src/chain/rpc/rpc-errors.js';
import { limits } from '../../../src/config/limits.js';
import { systemClock, systemRandom } from '../../../src/system/clock.js';
import { RpcProxy } from '../rpc-proxy.js';

const CHAIN_ID = 7;

t.test('code that returns more than is read of a call is broken, and no fault of the node', async (t) => {
  const proxy = await RpcProxy.open('http://127.0.0.1:9');
  t.teardown(() => proxy.close());
  proxy.trick = ({ id, method }) => {
    const result = method === 'eth_call' ? 'x'.repeat(2_000) : CHAIN_ID;
    return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, result }) };
  };
  const patience = { ...rpcOptions(limits, 3), backoffMs: 1, maxCallAnswerBytes: 1_000 };
  const failures: Error[] = [];
  const rpc = new HttpRpc([proxy.url], CHAIN_ID, patience, systemClock, systemRandom, (error) => failures.push(error));
  await t.rejects(rpc.request({ method: 'eth_call' }), { name: 'RpcError', message: RETURN_TOO_LONG });
  t.ok(isExecutionError(RETURN_TOO_LONG));
  t.strictSame(failures, []);
});
