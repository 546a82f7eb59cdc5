import type { BlockId } from '../../src/chain/contracts/blocks-and-logs.js';
import {
  ChainCursor,
  type CursorListener,
  type CursorOptions,
  type CursorStart,
} from '../../src/chain/follow/cursor.js';
import { HeardHeads } from '../../src/chain/follow/heard-heads.js';
import { ManualClock } from '../system/manual-clock.js';
import { ScriptedChain } from './scripted-chain.js';

const OPTIONS = { confirmations: 0, reorgDepth: 8, maxRange: 100, lowerHeadMs: 1000, nearBlocks: 1, blocksInFlight: 2 };
const NOTHING: CursorStart = { trail: [], isPartial: false };

/** A cursor of a chain that counts what it tells. */
export function cursorOn(chain: ScriptedChain, options: Partial<CursorOptions> = {}, resume = NOTHING) {
  const clock = new ManualClock();
  const heard = new HeardHeads(clock, { checkMs: 5_000, lagMs: 1_000 });
  const heads: number[] = [];
  let lags = 0;
  const reorgs: BlockId[] = [];
  let reads = 0;
  const all = { ...OPTIONS, firstBlock: () => Promise.resolve(10), ...options };
  const listener: CursorListener = {
    onAsk: () => undefined,
    onHead: ({ number }) => void heads.push(number),
    onLag: () => lags++,
    onReorg: (ancestor) => reorgs.push(ancestor),
    onRead: () => reads++,
  };
  const cursor = new ChainCursor(chain.reader, all, resume, clock, listener, heard);
  return { cursor, clock, heard, heads, reorgs, lags: () => lags, reads: () => reads };
}

/** Reads until there is nothing left; the ranges it took. */
export async function readAll(cursor: ChainCursor): Promise<[from: number, to: number][]> {
  const ranges: [number, number][] = [];
  for (;;) {
    const step = await cursor.poll();
    if (step.type === 'IDLE') return ranges;
    if (step.type === 'REORG') throw new Error('No reorg was expected');
    if (step.type === 'BEGIN') {
      cursor.moveTo(step.at);
      continue;
    }
    ranges.push([step.fromBlock, step.to.number]);
    cursor.advance(step, []);
  }
}

/** A cursor that has read a chain to block `height`, and then so many blocks one by one. */
async function oneByOne(height: number, blocks: number) {
  const chain = new ScriptedChain(height);
  const on = cursorOn(chain);
  await readAll(on.cursor);
  for (let n = 0; n < blocks; n++) {
    chain.mine(1);
    await readAll(on.cursor);
  }
  return { chain, ...on };
}

/** A cursor that has read blocks 21 and 22 one by one, and a head well above them. */
export async function cursorAt22() {
  const on = await oneByOne(20, 2);
  on.chain.mine(3);
  return on;
}

/** A cursor that has read to block 40, and block by block as far down as reorgs are followed. */
export function cursorFarAhead() {
  return oneByOne(30, 10);
}
