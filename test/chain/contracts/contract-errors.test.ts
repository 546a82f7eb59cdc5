import t from 'tap';
import { decodeErrorResult, encodeAbiParameters, encodeErrorResult } from 'viem';
import { contractErrorsAbi } from '../../../src/chain/contracts/abi.js';
import {
  chainFailureText,
  isChainFailure,
  revertName,
  revertText,
  failureSummary,
} from '../../../src/chain/contracts/contract-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';

const named = encodeErrorResult({ abi: contractErrorsAbi, errorName: 'Pool__OptionNotExpired' });
/** `Error(string)`, what `require` with a message reverts with. */
const required = `0x08c379a0${encodeAbiParameters([{ type: 'string' }], ['not today']).slice(2)}` as const;
/** `Panic(uint256)`: 0x11 is arithmetic that overflows. */
const panic = `0x4e487b71${encodeAbiParameters([{ type: 'uint256' }], [0x11n]).slice(2)}` as const;

t.test('a revert is reported by the name of its error', async (t) => {
  t.strictSame([revertName(named), revertText(named)], ['Pool__OptionNotExpired', 'Pool__OptionNotExpired']);
  t.strictSame([revertName(panic), revertText(panic)], ['Panic', 'Panic']);
});

t.test("Solidity's own text is reported unchanged", async (t) => {
  t.equal(revertText(required), 'not today');
});

t.test("Solidity's own text is left out where it is cut off", async (t) => {
  const cut = required.slice(0, 74) as Hex;
  t.strictSame([revertName(cut), revertText(cut)], ['Error', 'Error']);
});

t.test('a revert without a known name is reported by its selector, if it has one', async (t) => {
  t.strictSame([revertName('0x'), revertText('0x')], [null, 'Reverted without a reason']);
  t.strictSame(
    [revertName('0xdeadbeef'), revertText('0xdeadbeef')],
    [null, 'Reverted with the unknown error 0xdeadbeef'],
  );
});

t.test('a revert is named without a search through the ABI', async (t) => {
  const data = encodeErrorResult({
    abi: contractErrorsAbi,
    errorName: 'PoolFactory__OptionMaturityNot8UTC',
    args: [1n],
  });
  const byViem = cpuMs(() => decodeErrorResult({ abi: contractErrorsAbi, data }));
  t.ok(cpuMs(() => revertName(data)) < byViem / 4);
  t.ok(cpuMs(() => revertText(data)) < byViem / 4);
});

/** Of a thousand reverts. */
function cpuMs(decode: () => unknown): number {
  const start = process.cpuUsage();
  for (let i = 0; i < 1000; i++) decode();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

t.test("a node's error texts never reach clients", async (t) => {
  const words = 'over the limit of project 0a1b2c, see https://node.example/v3/0a1b2c';
  const whys = [-32005, NaN].map((code) => failureSummary(new RpcError(code, words, null)));
  t.strictSame(whys, ['a node gave error -32005', 'a node gave an error']);
  t.equal(failureSummary(new RpcUnreachable('HTTP 403 to eth_call')), 'HTTP 403 to eth_call', 'in our own words');
});

t.test('a failure of the chain is distinguished from a bug', async (t) => {
  const failures = [new RpcUnreachable('x'), new RpcError(-32005, 'slow down', null), new ChainAnswerError('odd')];
  t.ok(failures.every(isChainFailure));
  t.strictSame(failures.map(chainFailureText), [
    'The chain does not answer',
    'The chain refuses: a node gave error -32005',
    'The chain refuses: odd',
  ]);
  const bug = new TypeError('bug');
  t.notOk(isChainFailure(bug));
  t.throws(() => chainFailureText(bug), bug);
});
