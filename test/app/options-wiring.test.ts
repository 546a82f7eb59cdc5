import t from 'tap';
import { loggedRefusals } from '../../src/app/options-wiring.js';
import { RpcError, RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../src/chain/rpc/rpc-response.js';

const call = { to: '0x01', data: '0x' } as const;

/** Of a reader that fails with that error: what its caller gets, and what `onRefusal` gets. */
async function failing(error: Error) {
  const told: Error[] = [];
  const fail = () => Promise.reject(error);
  const reader = loggedRefusals({ call: fail, multicall: fail, nativeBalance: fail }, (refusal) => told.push(refusal));
  const thrown: unknown[] = [];
  await reader.call(call).catch((caught: unknown) => thrown.push(caught));
  await reader.multicall([call]).catch((caught: unknown) => thrown.push(caught));
  await reader.nativeBalance('0x01').catch((caught: unknown) => thrown.push(caught));
  return { told, thrown };
}

t.test('a refusal and a malformed answer go to the caller and to onRefusal', async (t) => {
  for (const error of [new RpcError(-32000, 'header not found', null), new ChainAnswerError('no array')]) {
    t.strictSame(await failing(error), { told: [error, error, error], thrown: [error, error, error] });
  }
});

t.test('an unreachable endpoint, which the endpoint pool reports, and a bug do not go to onRefusal', async (t) => {
  for (const error of [new RpcUnreachable('No answer'), new Error('a bug')]) {
    t.strictSame(await failing(error), { told: [], thrown: [error, error, error] });
  }
});

t.test('answers pass', async (t) => {
  const answer = { reverted: false, data: '0x01' } as const;
  const reader = loggedRefusals(
    {
      call: () => Promise.resolve(answer),
      multicall: () => Promise.resolve([answer]),
      nativeBalance: () => Promise.resolve(7n),
    },
    () => t.fail('onRefusal is not called'),
  );
  t.strictSame(
    [await reader.call(call), await reader.multicall([call]), await reader.nativeBalance('0x01')],
    [answer, [answer], 7n],
  );
});
