import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { RpcError } from '../../src/chain/rpc-errors.js';
import { IntentLog } from '../../src/chain/intent-log.js';
import { OwnTx } from '../../src/chain/own-tx.js';
import { TxSender } from '../../src/chain/tx-sender.js';
import { NoGasMoney, WouldRevert } from '../../src/chain/wallet-errors.js';
import { address } from '../engine/samples.js';
import { MemoryKeptValues } from './memory-kept-values.js';

const ACCOUNT = privateKeyToAccount(`0x${'17'.repeat(32)}`);
const CHAIN_ID = 7;
const FEES = { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n };
const REQUEST = { to: address(2), data: '0x57', gas: 21_000n } as const;

/** A sender whose node gives this answer to everything. */
function newSender(answer: () => unknown = () => '0x1', values = new MemoryKeptValues()) {
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
    new NoGasMoney(sender.address),
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
    const values = new MemoryKeptValues();
    let write: (error?: Error) => void = () => undefined;
    const put = values.put.bind(values);
    values.put = (key, value) =>
      new Promise((resolve, reject) => {
        write = (error) => (error === undefined ? resolve(put(key, value)) : reject(error));
      });
    const { sender, asked } = newSender(() => '0x1', values);
    const tx = new OwnTx(5, REQUEST);
    const full = new Error('the disk is full');
    const refused = sender.send(tx, FEES);
    write(full);
    await t.rejects(refused, { name: 'NotWrittenDown', cause: full });
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
  const values = new MemoryKeptValues();
  let writes = 0;
  const put = values.put.bind(values);
  values.put = (key, value) => {
    writes += 1;
    return put(key, value);
  };
  const { sender } = newSender(() => '0x1', values);
  const tx = new OwnTx(5, REQUEST);
  await sender.send(tx, FEES);
  await sender.send(tx, FEES);
  await sender.learnHashes(tx);
  t.strictSame([writes, tx.hashes.length, tx.intent.versions], [1, 1, [FEES]]);
});
