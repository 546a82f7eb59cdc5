import { limitOrderBook } from '../baselines/limit-order-book.js';
import { contest, rowOf } from '../contest.js';
import { atLeast, type Row, type Scale, type Scenario } from '../scenario.js';
import { writeScript, type ScriptShape } from '../workload/book-script.js';
import { ourBook, ourSides } from '../workload/played-books.js';

interface Case {
  readonly label: string;
  readonly shape: ScriptShape;
  readonly goal: number;
  /** With every index. */
  readonly wholeGoal?: number;
}

const flow: ScriptShape['mix'] = [9, 6, 82, 3, 0];
const replace: ScriptShape['mix'] = [0, 0, 100, 0, 0];
const takes: ScriptShape['mix'] = [0, 0, 0, 0, 100];

const own = { resting: 1000, steps: 30_000, ticksPerSide: 10_000 };
const shared = { resting: 1000, steps: 30_000, ticksPerSide: 200 };
const large = { resting: 100_000, steps: 20_000, ticksPerSide: 500 };

const cases: readonly Case[] = [
  {
    label: 'insert + cancel, 1,000 resting, own prices',
    shape: { ...own, maxSize: 1, mix: replace },
    goal: 6,
    wholeGoal: 8,
  },
  {
    label: 'insert + cancel, 1,000 resting, shared',
    shape: { ...shared, maxSize: 1, mix: replace },
    goal: 6,
    wholeGoal: 4,
  },
  { label: 'flow, 1,000 resting, own prices', shape: { ...own, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'flow, 1,000 resting, shared', shape: { ...shared, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'flow, 100,000 resting, 1,000 prices', shape: { ...large, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'insert + take, 1,000 resting, own prices', shape: { ...own, maxSize: 10, mix: takes }, goal: 6 },
  { label: 'insert + take, 1,000 resting, shared', shape: { ...shared, maxSize: 10, mix: takes }, goal: 6 },
];

async function rowsOf({ label, shape, goal, wholeGoal }: Case, scale: Scale): Promise<Row[]> {
  const isFull = scale === 'full';
  const script = writeScript(isFull ? shape : { ...shape, resting: 200, steps: 500 });
  const baseline = limitOrderBook(script);
  const sides = ourSides(script);
  const [ours = [], again = [], whole = [], theirs = []] = await contest([sides, sides, ourBook(script), baseline], {
    rounds: isFull ? 7 : 1,
    warmUps: isFull ? 2 : 0,
    clock: 'cpu',
  });
  const goalOfWhole = wholeGoal === undefined ? null : atLeast(wholeGoal);
  return [
    rowOf(label, { ours, again, theirs }, baseline.name, atLeast(goal), 'op/s'),
    rowOf(`${label}, every index`, { ours: whole, again: null, theirs }, baseline.name, goalOfWhole, 'op/s'),
  ];
}

export const book: Scenario = {
  name: 'book',
  title: 'The book alone',
  workload: `Our book against the npm package \`nodejs-order-book\`: orders by id, each side by price and age, the same scripted
steps for both. *Every index* adds what the engine keeps beside that: by pool, maker, due time, and the blocks that a
reorg can undo. *Own prices* are 10,000 a side, *shared* ones 200. *Flow* is 9 % inserts, 3 % inserts that trade at
once, 6 % cancels and 82 % replacements. *Insert + take* inserts 1 to 10 contracts and takes as many from the best of
that side. Operations per CPU second.`,
  async run(scale) {
    const rows: Row[] = [];
    for (const each of cases) rows.push(...(await rowsOf(each, scale)));
    return { rows };
  },
};
