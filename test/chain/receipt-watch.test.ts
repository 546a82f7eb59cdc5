import t from 'tap';
import { ReceiptWatch } from '../../src/chain/receipt-watch.js';
import { WalletStopped } from '../../src/chain/wallet-errors.js';
import { ManualClock } from '../system/manual-clock.js';

const POLL_MS = 100;
const WITHIN_MS = 1_000;
const HASHES = [`0x${'1'.repeat(64)}`] as const;
const BLOCK = { blockNumber: '0x7', blockHash: `0x${'7'.repeat(64)}` };
const RECEIPT = { ...BLOCK, transactionHash: HASHES[0], status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x1' };

/** Looks for one receipt, on a chain that has it once the test says so. */
async function looking() {
  const clock = new ManualClock();
  const chain = { receipt: null as unknown, looks: 0 };
  const request = (): Promise<unknown> => {
    chain.looks += 1;
    return chain.receipt instanceof Error ? Promise.reject(chain.receipt) : Promise.resolve(chain.receipt);
  };
  const watch = new ReceiptWatch({ request }, clock, POLL_MS);
  const end = { found: undefined as unknown };
  const found = watch.find(HASHES, WITHIN_MS);
  found.then(
    (receipt) => (end.found = receipt),
    () => undefined,
  );
  await answers();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await answers();
  };
  return { clock, chain, watch, found, end, pass };
}

/** Resolves when what the chain has answered is heard of. */
function answers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

t.test('a receipt is looked for at once, and again with every poll', async (t) => {
  const { chain, end, pass } = await looking();
  t.equal(chain.looks, 1);
  await pass(POLL_MS - 1);
  t.equal(chain.looks, 1);
  await pass(1);
  t.equal(chain.looks, 2);
  chain.receipt = RECEIPT;
  await pass(POLL_MS);
  t.match(end.found, { blockNumber: 7 });
});

t.test('a new block is looked at at once, and the poll that it comes before does not come besides', async (t) => {
  const { clock, chain, watch, end } = await looking();
  chain.receipt = RECEIPT;
  watch.onHead();
  await answers();
  t.match(end.found, { blockNumber: 7 });
  t.equal(clock.pending, 0);
});

t.test('there is none when there was none in all the time', async (t) => {
  const { end, pass } = await looking();
  for (let ms = POLL_MS; ms < WITHIN_MS; ms += POLL_MS) await pass(POLL_MS);
  t.equal(end.found, undefined);
  await pass(POLL_MS);
  t.equal(end.found, null);
});

t.test('a node that does not answer is asked again', async (t) => {
  const { chain, end, pass } = await looking();
  chain.receipt = new Error('It does not answer');
  await pass(POLL_MS);
  t.equal(end.found, undefined);
  chain.receipt = RECEIPT;
  await pass(POLL_MS);
  t.match(end.found, { blockNumber: 7 });
});

t.test('who looks when it is stopped is let go, and nobody looks after that', async (t) => {
  const { chain, clock, watch, found } = await looking();
  watch.stop();
  await t.rejects(found, WalletStopped);
  t.equal(clock.pending, 0);
  await t.rejects(watch.find(HASHES, WITHIN_MS), WalletStopped);
  t.throws(() => watch.checkRunning(), WalletStopped);
  t.equal(chain.looks, 1);
});

t.test('so is who hears only then that there is none', async (t) => {
  const { chain, clock, watch, found, pass } = await looking();
  let answer: (receipt: null) => void = () => undefined;
  chain.receipt = new Promise((resolve) => (answer = resolve));
  await pass(POLL_MS);
  watch.stop();
  answer(null);
  await answers();
  t.equal(clock.pending, 0);
  await t.rejects(found, WalletStopped);
});
