import t from 'tap';
import { IntentLog } from '../../src/chain/intent-log.js';
import { NonceLine } from '../../src/chain/nonce-line.js';
import type { OwnTx } from '../../src/chain/own-tx.js';
import { MemoryKeptValues } from './memory-kept-values.js';
import { NOBODY } from './wallet-fixture.js';

const REORG_DEPTH = 8;
const REMEMBERED = 3;
const FEES = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
const REQUEST = { to: NOBODY, data: '0x01', gas: 21_000n } as const;

/** A line of nonces on a chain that counts as many transactions as it is told to. */
function newLine() {
  const chain = { count: 0 };
  const values = new MemoryKeptValues();
  const intents = new IntentLog(values);
  const rpc = { turn: 0, request: () => Promise.resolve(`0x${chain.count.toString(16)}`) };
  const line = new NonceLine(rpc, NOBODY, intents, { reorgDepth: REORG_DEPTH, remembered: REMEMBERED });
  const minedAt = async (blockNumber: number): Promise<OwnTx> => {
    const tx = line.begin(REQUEST);
    await intents.write(tx.intentWith(FEES));
    line.mined(tx, blockNumber);
    chain.count += 1;
    return tx;
  };
  /** Nonces of what a reorg took back, as the chain has it now. */
  const takenBack = async (): Promise<number[]> => {
    await line.look();
    return line.takenBack().map(({ nonce }) => nonce);
  };
  const kept = (): string[] => [...values.values.keys()];
  return { chain, line, minedAt, takenBack, kept };
}

t.test('what was mined is remembered while a reorg may take it back, and its nonce is for nothing else', async (t) => {
  const { chain, line, minedAt, takenBack, kept } = newLine();
  await minedAt(100);
  await line.forgetSettled(100 + REORG_DEPTH - 1);
  t.strictSame(kept(), ['0'], 'after a crash it is known, too');
  t.strictSame(await takenBack(), []);
  chain.count = 0;
  t.strictSame(await takenBack(), [0]);
  t.equal(line.begin(REQUEST).nonce, 1);
});

t.test('what no reorg can take back is forgotten', async (t) => {
  const { chain, line, minedAt, takenBack, kept } = newLine();
  await minedAt(100);
  await minedAt(101);
  await line.forgetSettled(100 + REORG_DEPTH);
  t.strictSame(kept(), ['1']);
  chain.count = 0;
  t.strictSame(await takenBack(), [1]);
});

t.test('of more than may be remembered the oldest are given up', async (t) => {
  const { line, minedAt, kept } = newLine();
  for (let n = 0; n < REMEMBERED + 2; n += 1) await minedAt(100);
  await line.forgetSettled(100);
  t.strictSame(kept(), ['2', '3', '4']);
});
