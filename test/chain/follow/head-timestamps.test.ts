import t from 'tap';
import type { BlockHead } from '../../../src/chain/contracts/blocks-and-logs.js';
import { HeadTimestamps } from '../../../src/chain/follow/head-timestamps.js';
import { blockHashOf, START } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const LEAP_MS = 60_000;
const YEAR = 365 * 24 * 3600;

/** Block `number`, so many seconds after the first. */
function head(number: number, seconds: number, branch = 0): BlockHead {
  const hash = blockHashOf(number, branch);
  return { number, hash, parentHash: blockHashOf(number - 1), timestamp: START + seconds };
}

/** After block 1, of second 0. `other`: the blocks that another node has. */
async function begun(...other: readonly BlockHead[]) {
  const clock = new ManualClock();
  const followed: number[] = [];
  const asked: number[] = [];
  const timestamps = new HeadTimestamps(
    clock,
    LEAP_MS,
    async (blockNumber) => {
      asked.push(blockNumber);
      const block = other.find(({ number }) => number === blockNumber);
      if (block === undefined) throw new Error('the node does not have that block');
      return block;
    },
    (timestamp) => followed.push(timestamp - START),
  );
  const add = async (...heads: readonly BlockHead[]): Promise<number[]> => {
    for (const each of heads) await timestamps.add(each);
    return followed;
  };
  await add(head(1, 0));
  return { clock, add, asked };
}

t.test('newer timestamps are followed at once, and no other ones', async (t) => {
  const { add, asked } = await begun();
  t.strictSame(await add(head(2, 1), head(2, 1), head(1, 0), head(3, 61)), [0, 1, 61]);
  t.strictSame(asked, []);
});

t.test('one wrong timestamp is not followed, and those after it are', async (t) => {
  const { add, asked } = await begun(head(2, 1));
  t.strictSame(await add(head(2, YEAR), head(3, 1), head(4, 2)), [0, 1, 2]);
  t.strictSame(asked, [2]);
  t.strictSame(await add(head(5, YEAR)), [0, 1, 2], 'the doubt begins anew');
});

t.test('a leap is followed where another node has the same block of the same time', async (t) => {
  const { add } = await begun(head(2, YEAR));
  t.strictSame(await add(head(2, YEAR), head(3, YEAR + 1)), [0, YEAR, YEAR + 1]);
  const branch = await begun(head(2, YEAR, 1));
  t.strictSame(await branch.add(head(2, YEAR)), [0], 'it has another one');
});

t.test('a leap is followed once a later block shows it, too', async (t) => {
  const { add } = await begun();
  t.strictSame(await add(head(2, YEAR), head(2, YEAR, 1)), [0], 'another block of the same height is none');
  t.strictSame(await add(head(3, YEAR)), [0, YEAR]);
});

t.test('time that has passed is no leap', async (t) => {
  const { clock, add } = await begun();
  clock.advance(YEAR * 1000);
  t.strictSame(await add(head(2, YEAR + 60)), [0, YEAR + 60]);
});
