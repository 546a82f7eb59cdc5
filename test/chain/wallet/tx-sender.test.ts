import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import { InsufficientFunds, WouldRevert } from '../../../src/chain/wallet/errors.js';
import { IntentLog } from '../../../src/chain/wallet/intent-log.js';
import { type Fees, WalletTx } from '../../../src/chain/wallet/transaction.js';
import { broadcast, type BroadcastOutcome, FeeEstimator, TxSender } from '../../../src/chain/wallet/tx-sender.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import { address } from '../../engine/samples.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';

const ACCOUNT = privateKeyToAccount(`0x${'17'.repeat(32)}`);
const CHAIN_ID = 7;
const FEES = { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n };
const REQUEST = { to: address(2), data: '0x57', gas: 21_000n } as const;

/** A sender whose node gives this answer to everything. */
function newSender(answer: () => unknown = () => '0x1', values = new MemoryKeyValueStore()) {
  const asked: string[] = [];
  const rpc = {
    request: async ({ method }: { readonly method: string }) => {
      asked.push(method);
      return Promise.resolve(answer());
    },
  };
  return { sender: new TxSender(rpc, CHAIN_ID, ACCOUNT, new IntentLog(values), 1_000n), asked };
}

const failing = (error: Error) => () => {
  throw error;
};

t.test('a transaction may use a quarter more gas than the node estimates', async (t) => {
  t.equal(await newSender(() => '0x186a0').sender.estimate(REQUEST), 125_000n);
});

t.test('an estimate that fails says what would revert, that the money is out, or what the node said', async (t) => {
  const estimate = (error: Error) => newSender(failing(error)).sender.estimate(REQUEST);
  await t.rejects(estimate(new RpcError(3, 'execution reverted', '0x12345678')), new WouldRevert('0x12345678'));
  const { sender } = newSender();
  await t.rejects(
    estimate(new RpcError(-32000, 'insufficient funds for gas * price + value', undefined)),
    new InsufficientFunds(sender.address),
  );
  const other = new RpcError(-32602, 'invalid argument', undefined);
  await t.rejects(estimate(other), other);
});

t.test('its address is as the book has addresses: in lower case', async (t) => {
  t.equal(newSender().sender.address, ACCOUNT.address.toLowerCase());
});

t.test(
  'nothing is sent before it is written down, and what could not be is written down at the next try',
  async (t) => {
    const values = new MemoryKeyValueStore();
    let write: (error?: Error) => void = () => undefined;
    const put = values.put.bind(values);
    values.put = (key, value) =>
      new Promise((resolve, reject) => {
        write = (error) => (error === undefined ? resolve(put(key, value)) : reject(error));
      });
    const { sender, asked } = newSender(() => '0x1', values);
    const tx = new WalletTx(5, REQUEST);
    const full = new Error('the disk is full');
    const refused = sender.send(tx, FEES);
    write(full);
    await t.rejects(refused, { name: 'IntentNotPersisted', cause: full });
    t.strictSame([asked, tx.hashes], [[], []]);
    const sent = sender.send(tx, FEES);
    await new Promise((resolve) => setImmediate(resolve));
    t.strictSame(asked, []);
    write();
    t.equal(await sent, 'SENT');
    t.strictSame([asked, [...values.values.keys()]], [['eth_sendRawTransaction'], ['5']]);
  },
);

t.test('a version that is sent again is written down once, and has one hash', async (t) => {
  const values = new MemoryKeyValueStore();
  let writes = 0;
  const put = values.put.bind(values);
  values.put = (key, value) => {
    writes += 1;
    return put(key, value);
  };
  const { sender } = newSender(() => '0x1', values);
  const tx = new WalletTx(5, REQUEST);
  await sender.send(tx, FEES);
  await sender.send(tx, FEES);
  await sender.learnHashes(tx);
  t.strictSame([writes, tx.hashes.length, tx.intent.versions], [1, 1, [FEES]]);
});

const signed = { txHash: '0x01', raw: '0x02' } as const;
const refusal = (message: string) => new RpcError(-32000, message, null);

/** A node that refuses the transaction in these words; `found`: what it says of it, or why nothing. */
function node(why: Error, found: unknown): Rpc {
  return {
    async request({ method, params }) {
      if (method === 'eth_sendRawTransaction') throw why;
      t.strictSame([method, params], ['eth_getTransactionByHash', [signed.txHash]]);
      if (found instanceof Error) throw found;
      return found;
    },
  };
}

t.test('a refusal is read by its words', async (t) => {
  for (const [message, outcome] of [
    ['already known', 'SENT'],
    ['nonce too high: address 0x01, tx: 8 state: 7', 'SENT'],
    ['context deadline exceeded', 'SENT'],
    ['request timed out', 'SENT'],
    ['nonce too low: next nonce 5, tx nonce 4', 'NONCE_USED'],
    ['replacement transaction underpriced', 'NONCE_PENDING'],
    ['transaction underpriced', 'UNDERPRICED'],
    ['max fee per gas less than block base fee', 'UNDERPRICED'],
  ] satisfies [string, BroadcastOutcome][]) {
    t.equal(await broadcast(node(refusal(message), null), signed), outcome, message);
  }
});

t.test('what a node took is sent, and so may be what no answer came to', async (t) => {
  const asked: unknown[] = [];
  const taking: Rpc = { request: (request) => Promise.resolve(asked.push(request)) };
  t.equal(await broadcast(taking, signed), 'SENT');
  t.strictSame(asked, [{ method: 'eth_sendRawTransaction', params: ['0x02'] }]);
  const limit = new RpcError(-32005, 'limit exceeded', null);
  for (const why of [new RpcUnreachable('no answer'), limit]) {
    t.equal(await broadcast(node(why, null), signed), 'SENT', why.message);
  }
});

t.test('what is refused, and known to the node, was taken by an earlier try', async (t) => {
  for (const message of ['nonce too low', 'insufficient funds for gas']) {
    t.equal(await broadcast(node(refusal(message), { hash: signed.txHash }), signed), 'SENT', message);
  }
});

t.test('where another node took over meanwhile, the one before may have taken what this one refuses', async (t) => {
  for (const [message, takesOverAt] of [
    ['nonce too low', 'eth_sendRawTransaction'],
    ['nonce too low', 'eth_getTransactionByHash'],
    ['replacement transaction underpriced', 'eth_sendRawTransaction'],
    ['insufficient funds for gas', 'eth_sendRawTransaction'],
  ] as const) {
    const refusing = node(refusal(message), null);
    let switches = 3;
    const rpc: Rpc = {
      get switches() {
        return switches;
      },
      request(asked) {
        if (asked.method === takesOverAt) switches += 1;
        return refusing.request(asked);
      },
    };
    t.equal(await broadcast(rpc, signed), 'SENT', `${message}, ${takesOverAt}`);
  }
});

t.test('where the node does not say whether it knows it, it may have been taken', async (t) => {
  const silence = new RpcUnreachable('no answer');
  t.equal(await broadcast(node(refusal('nonce too low'), silence), signed), 'SENT');
});

t.test('reports any other refusal of a transaction unknown to the node', async (t) => {
  const why = refusal('insufficient funds for gas');
  await t.rejects(broadcast(node(why, null), signed), why);
});

const CEILING = 1_000n;

/** A node that asks so much; `tip` null: it has no word for it. */
function quoteOf(gasPrice: number, tip: number | null): FeeEstimator {
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
  return new FeeEstimator(rpc, CEILING);
}

const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees => ({ maxFeePerGas, maxPriorityFeePerGas });

t.test('a new transaction offers twice the price, and never less than its own tip', async (t) => {
  t.strictSame(await quoteOf(100, 7).current(), fees(200n, 7n));
  t.strictSame(await quoteOf(3, 7).current(), fees(7n, 7n));
});

t.test('a node that knows no tips is offered none; one that has no price is an error', async (t) => {
  t.strictSame(await quoteOf(100, null).current(), fees(200n, 0n));
  const silent: Rpc = { request: () => Promise.reject(new RpcError(-32000, 'busy', null)) };
  await t.rejects(new FeeEstimator(silent, CEILING).current(), { code: -32000 });
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
