import t from 'tap';
import { FeeQuote, type Fees } from '../../src/chain/fees.js';
import { RpcError } from '../../src/chain/rpc-errors.js';
import type { Rpc } from '../../src/engine/ports.js';

const CEILING = 1_000n;

/** A node that asks so much; `tip` null: it has no word for it. */
function quoteOf(gasPrice: number, tip: number | null): FeeQuote {
  const answers = new Map([
    ['eth_gasPrice', gasPrice],
    ['eth_maxPriorityFeePerGas', tip],
  ]);
  const rpc: Rpc = {
    request({ method }) {
      const answer = answers.get(method);
      if (answer == null) return Promise.reject(new RpcError(-32601, 'the method does not exist', null));
      return Promise.resolve(`0x${answer.toString(16)}`);
    },
  };
  return new FeeQuote(rpc, CEILING);
}

const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees => ({ maxFeePerGas, maxPriorityFeePerGas });

t.test('a new transaction offers twice the price, and never less than its own tip', async (t) => {
  t.strictSame(await quoteOf(100, 7).current(), fees(200n, 7n));
  t.strictSame(await quoteOf(3, 7).current(), fees(7n, 7n));
});

t.test('a node that knows no tips is offered none; one that has no price is an error', async (t) => {
  t.strictSame(await quoteOf(100, null).current(), fees(200n, 0n));
  const silent: Rpc = { request: () => Promise.reject(new RpcError(-32000, 'busy', null)) };
  await t.rejects(new FeeQuote(silent, CEILING).current(), { code: -32000 });
});

t.test('whatever a node asks, no more than the ceiling is offered', async (t) => {
  t.strictSame(await quoteOf(501, 7).current(), fees(CEILING, 7n));
  t.strictSame(await quoteOf(1, 1_001).current(), fees(CEILING, CEILING));
});

t.test(
  'to be sent again for more is an eighth more of each, or what is asked by then where that is higher',
  async (t) => {
    const before = fees(160n, 16n);
    t.strictSame(await quoteOf(10, 1).next(before, true), fees(181n, 19n));
    t.strictSame(await quoteOf(10, 40).next(before, true), fees(181n, 40n));
    t.strictSame(await quoteOf(150, 1).next(before, true), fees(300n, 19n));
  },
);

t.test('without leave to raise them the fees stay, until more is asked than they offer', async (t) => {
  const before = fees(160n, 16n);
  t.equal(await quoteOf(80, 100).next(before, false), before);
  // A node takes the place of one that it has for no less than a tenth more.
  t.strictSame(await quoteOf(81, 1).next(before, false), fees(181n, 19n));
});

t.test('up to the ceiling and no further: what can offer no more stays as it is', async (t) => {
  t.strictSame(await quoteOf(10, 1).next(fees(990n, 16n), true), fees(CEILING, 19n));
  for (const asked of [10, 5_000]) {
    const before = fees(CEILING, 16n);
    t.equal(await quoteOf(asked, 1).next(before, true), before);
  }
});
