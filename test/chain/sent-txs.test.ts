import t from 'tap';
import { IntentLog } from '../../src/chain/intent-log.js';
import { NonceLine } from '../../src/chain/nonce-line.js';
import { ReceiptWatch } from '../../src/chain/receipt-watch.js';
import { SentTxs } from '../../src/chain/sent-txs.js';
import { devAccounts } from '../../src/chain/dev/accounts.js';
import { txAccount } from '../../src/chain/tx-account.js';
import { TxSender } from '../../src/chain/tx-sender.js';
import type { Rpc } from '../../src/engine/ports.js';
import { ManualClock } from '../system/manual-clock.js';
import { MemoryKeptValues } from './memory-kept-values.js';
import { NOBODY } from './wallet-fixture.js';

const CHAIN_ID = 421_613;
const BLOCK = { blockNumber: '0x7', blockHash: `0x${'7'.repeat(64)}` };
const TX_HASH = `0x${'01'.repeat(32)}` as const;
const RECEIPT = { ...BLOCK, transactionHash: TX_HASH, status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x1' };
const [account] = devAccounts(1);
if (account === undefined) throw new Error('There is an account');
const { privateKey } = account;

/**
 * Two nodes behind one RPC, which take turns in answering. One has the block in which the
 * transaction was mined, the other is behind. `receiptsOf`: which of them is asked for this receipt, the nth.
 */
function twoNodes(receiptsOf: (nth: number) => 'AHEAD' | 'BEHIND'): Rpc {
  let [answering, turn, receipts] = ['AHEAD', 0, 0];
  const ask = (node: 'AHEAD' | 'BEHIND'): boolean => {
    if (node !== answering) turn++;
    answering = node;
    return node === 'AHEAD';
  };
  return {
    get turn() {
      return turn;
    },
    request({ method }) {
      if (method === 'eth_getTransactionCount') return Promise.resolve(ask('AHEAD') ? '0x1' : '0x0');
      return Promise.resolve(ask(receiptsOf(++receipts)) ? RECEIPT : null);
    },
  };
}

/** What becomes of a transaction of nonce 0, for which no time passes. */
async function sendOn(rpc: Rpc) {
  const intents = new IntentLog(new MemoryKeptValues());
  const limits = { resendAfterMs: 0, resends: 0 };
  const line = new NonceLine(rpc, NOBODY, intents, { reorgDepth: 8, remembered: 8 });
  const sender = new TxSender(rpc, CHAIN_ID, txAccount(privateKey), intents, 1n);
  const lost: number[] = [];
  const listener = {
    mined: () => undefined,
    lost(nonce: number) {
      lost.push(nonce);
      return undefined;
    },
    unblock: () => Promise.reject(new Error('Its nonce is used, so it is not sent again')),
  };
  const sent = new SentTxs(
    sender,
    line,
    new ReceiptWatch(rpc, new ManualClock(), 1),
    limits,
    () => undefined,
    listener,
  );
  const tx = line.begin({ to: NOBODY, data: '0x01', gas: 21_000n });
  tx.hashes.push(TX_HASH);
  return { receipt: await sent.untilUsed(tx), lost };
}

t.test('a node that is behind does not make a mined one lost, though another tells of the nonce again', async (t) => {
  const { receipt, lost } = await sendOn(twoNodes((nth) => (nth <= 3 ? 'BEHIND' : 'AHEAD')));
  t.equal(receipt?.blockNumber, 7);
  t.strictSame(lost, []);
});

t.test('one that a node has no receipt of, and tells that its nonce is used, is lost', async (t) => {
  const rpc: Rpc = { request: ({ method }) => Promise.resolve(method === 'eth_getTransactionCount' ? '0x1' : null) };
  t.strictSame(await sendOn(rpc), { receipt: null, lost: [0] });
});
