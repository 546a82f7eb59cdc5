import t from 'tap';
import type { BlockId } from '../../../src/chain/contracts/blocks-and-logs.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import { IntentLog } from '../../../src/chain/wallet/intent-log.js';
import { NonceManager } from '../../../src/chain/wallet/nonce-manager.js';
import type { WalletTx } from '../../../src/chain/wallet/transaction.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';
import { NOBODY } from '../wallet-fixture.js';

const REORG_DEPTH = 8;
const REMEMBERED = 3;
const FEES = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
const REQUEST = { to: NOBODY, data: '0x01', gas: 21_000n } as const;

const blockAt = (blockNumber: number, branch = ''): BlockId => ({
  blockNumber,
  blockHash: `0x${blockNumber}${branch}`,
});

/** A nonce manager on a fake chain with a settable transaction count. */
function newLine() {
  /** Transactions that were mined; null: as many as there are in all. */
  const chain: { count: number; mined: number | null } = { count: 0, mined: null };
  const values = new MemoryKeyValueStore();
  const intents = new IntentLog(values);
  const rpc: Rpc = {
    request({ params }) {
      const [, block] = params as readonly unknown[];
      const count = block === 'latest' ? (chain.mined ?? chain.count) : chain.count;
      return Promise.resolve(`0x${count.toString(16)}`);
    },
  };
  const line = new NonceManager(rpc, NOBODY, intents, { reorgDepth: REORG_DEPTH, remembered: REMEMBERED });
  const write = (tx: WalletTx): Promise<void> => intents.write(tx.intentWith(FEES));
  const minedAt = async (blockNumber: number): Promise<WalletTx> => {
    const tx = line.begin(REQUEST);
    await write(tx);
    line.mined(tx, blockAt(blockNumber));
    chain.count += 1;
    return tx;
  };
  /** Nonces of what a reorg took back, as the chain has it now. */
  const takenBack = async (): Promise<number[]> => {
    await line.look();
    return line.takenBack().map(({ nonce }) => nonce);
  };
  const readTo = async (blockNumber: number): Promise<void> => {
    line.read(blockAt(blockNumber));
    await line.forgetSettled();
  };
  const kept = (): string[] => [...values.values.keys()];
  return { chain, line, write, minedAt, takenBack, readTo, kept };
}

t.test('what was mined is remembered while a reorg may take it back, and its nonce is for nothing else', async (t) => {
  const { chain, line, minedAt, takenBack, readTo, kept } = newLine();
  await minedAt(100);
  await readTo(100 + REORG_DEPTH - 1);
  t.strictSame(kept(), ['0'], 'after a crash it is known, too');
  t.strictSame(await takenBack(), []);
  chain.count = 0;
  t.strictSame(await takenBack(), [0]);
  t.equal(line.begin(REQUEST).nonce, 1);
});

t.test('what no reorg can take back is forgotten', async (t) => {
  const { chain, line, minedAt, takenBack, readTo, kept } = newLine();
  await minedAt(100);
  await minedAt(101);
  await readTo(100 + REORG_DEPTH);
  t.strictSame(kept(), ['1']);
  chain.count = 0;
  t.strictSame(await takenBack(), [1]);
  await readTo(101 + REORG_DEPTH);
  t.equal(line.begin(REQUEST).nonce, 0, 'nothing is left of it');
});

t.test('of more than may be remembered the oldest are given up', async (t) => {
  const { line, minedAt, kept } = newLine();
  for (let n = 0; n < REMEMBERED + 2; n += 1) await minedAt(100);
  await line.forgetSettled();
  t.strictSame(kept(), ['2', '3', '4']);
});

t.test('a count far above what was mined is a node’s mistake, and no nonce is taken from it', async (t) => {
  const { chain, line } = newLine();
  chain.count = 2 ** 40;
  chain.mined = 3;
  await t.rejects(line.look(), ChainAnswerError);
  t.equal(line.begin(REQUEST).nonce, 0);
});

t.test('the key of an account that has sent a lot is used from where it is', async (t) => {
  const { chain, line } = newLine();
  chain.count = 70_000;
  await line.look();
  t.equal(line.begin(REQUEST).nonce, 70_000);
});

t.test('lists the gaps before a nonce, up to a limit', async (t) => {
  const { chain, line } = newLine();
  const near = line.beginAt(3, REQUEST);
  t.strictSame(await line.gapsBefore(near), [0, 1, 2]);
  const far = line.beginAt(2 ** 40, REQUEST);
  t.equal(await line.gapsBefore(far), null);
  chain.count = 3;
  t.strictSame(await line.gapsBefore(near), []);
});

t.test('what is ours is no gap, be it under way or mined', async (t) => {
  const { chain, line, minedAt } = newLine();
  await minedAt(100);
  line.beginAt(2, REQUEST);
  const last = line.beginAt(4, REQUEST);
  chain.count = 0;
  t.strictSame(await line.gapsBefore(last), [1, 3]);
});

t.test('a nonce is given out once, also while the chain has not counted it', (t) => {
  const { line } = newLine();
  t.strictSame(
    [line.begin(REQUEST), line.begin(REQUEST)].map(({ nonce }) => nonce),
    [0, 1],
  );
  t.end();
});

t.test('one that was refused is free again, and nothing is kept of it', async (t) => {
  const { line, kept, write } = newLine();
  const refused = line.begin(REQUEST);
  await write(refused);
  await line.forget(refused);
  t.strictSame(kept(), []);
  t.equal(line.begin(REQUEST).nonce, refused.nonce);
});

t.test('what was mined since the chain was asked was not taken back', (t) => {
  const { line } = newLine();
  const [first, second] = [line.begin(REQUEST), line.begin(REQUEST)];
  line.mined(second, blockAt(100));
  line.mined(first, blockAt(100)); // receipts come in any order
  t.strictSame(line.takenBack(), []);
  t.end();
});

t.test('a reorg may have taken back what was mined after the block that it goes back to', async (t) => {
  const { line, minedAt } = newLine();
  await minedAt(100);
  const [second, third] = [await minedAt(101), await minedAt(102)];
  t.strictSame(line.goBackTo(100), [second, third]);
  line.track(second);
  t.strictSame(line.goBackTo(100), [third], 'what is on its way already is not');
});

t.test(
  'what is in a block that was not read yet is looked at once more when it was, unless it is that block',
  async (t) => {
    const { line, minedAt } = newLine();
    line.read(blockAt(100));
    await minedAt(99);
    await minedAt(100);
    const [third, fourth, fifth] = [await minedAt(101), await minedAt(102), await minedAt(103)];
    t.strictSame(line.read(blockAt(102)), [third], 'it may be that 101 was another when 102 was read');
    t.strictSame(line.read(blockAt(102)), [], 'once');
    t.strictSame(line.read(blockAt(103, 'f')), [fifth]);
    line.goBackTo(102);
    line.mined(fourth, blockAt(102));
    t.strictSame(line.read(blockAt(102, 'f')), [fourth], 'after a reorg nothing counts as read');
  },
);

t.test('however far the head is, what a reader that is behind may yet tell of is remembered', async (t) => {
  const { line, minedAt, readTo, kept } = newLine();
  const tx = await minedAt(100);
  await readTo(101);
  line.goBackTo(101);
  await line.forgetSettled();
  t.strictSame(kept(), ['0']);
  t.strictSame(line.goBackTo(99), [tx]);
});

t.test('what is sent again is no longer among what was taken back', async (t) => {
  const { chain, line, minedAt, takenBack } = newLine();
  const tx = await minedAt(100);
  chain.count = 0;
  t.strictSame(await takenBack(), [0]);
  line.track(tx);
  t.strictSame(await takenBack(), []);
});

t.test('a nonce is used once something was mined under it', async (t) => {
  const { chain, line } = newLine();
  const tx = line.beginAt(3, REQUEST);
  chain.count = 4;
  chain.mined = 3;
  t.notOk(await line.isUsed(tx));
  chain.mined = 4;
  t.ok(await line.isUsed(tx));
});
