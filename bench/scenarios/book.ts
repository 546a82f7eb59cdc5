import { limitOrderBook } from '../baselines/limit-order-book.js';
import { contest, rowOf } from '../contest.js';
import { atLeast, type Row, type Scale, type Scenario } from '../scenario.js';
import { writeScript, type ScriptShape } from '../workload/book-script.js';
import { ourBook, ourSides } from '../workload/played-books.js';

interface Case {
  readonly label: string;
  readonly shape: ScriptShape;
  readonly goal: number;
}

const flow: ScriptShape['mix'] = [9, 6, 82, 3, 0];
const replace: ScriptShape['mix'] = [0, 0, 100, 0, 0];
const takes: ScriptShape['mix'] = [0, 0, 0, 0, 100];

const own = { resting: 1000, steps: 30_000, ticksPerSide: 10_000 };
const shared = { resting: 1000, steps: 30_000, ticksPerSide: 200 };
const large = { resting: 100_000, steps: 20_000, ticksPerSide: 500 };

const cases: readonly Case[] = [
  { label: 'insert + cancel, 1,000 resting, own prices', shape: { ...own, maxSize: 1, mix: replace }, goal: 6 },
  { label: 'insert + cancel, 1,000 resting, shared', shape: { ...shared, maxSize: 1, mix: replace }, goal: 6 },
  { label: 'flow, 1,000 resting, own prices', shape: { ...own, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'flow, 1,000 resting, shared', shape: { ...shared, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'flow, 100,000 resting, 1,000 prices', shape: { ...large, maxSize: 1, mix: flow }, goal: 4 },
  { label: 'insert + take, 1,000 resting, own prices', shape: { ...own, maxSize: 10, mix: takes }, goal: 6 },
  { label: 'insert + take, 1,000 resting, shared', shape: { ...shared, maxSize: 10, mix: takes }, goal: 6 },
];

async function rowsOf({ label, shape, goal }: Case, scale: Scale): Promise<Row[]> {
  const isFull = scale === 'full';
  const script = writeScript(isFull ? shape : { ...shape, resting: 200, steps: 500 });
  const baseline = limitOrderBook(script);
  const sides = ourSides(script);
  const [ours = [], again = [], whole = [], theirs = []] = await contest([sides, sides, ourBook(script), baseline], {
    rounds: isFull ? 7 : 1,
    warmUps: isFull ? 2 : 0,
    clock: 'cpu',
  });
  return [
    rowOf(label, { ours, again, theirs }, baseline.name, atLeast(goal), 'op/s'),
    rowOf(`${label}, every index`, { ours: whole, again: null, theirs }, baseline.name, null, 'op/s'),
  ];
}

export const book: Scenario = {
  name: 'book',
  title: 'The book alone',
  workload: `Our book against the npm package \`nodejs-order-book\`, like for like: orders by id, and each side by price and age. The rows *every index*
are what the engine keeps in truth: also by pool, maker, due time, and the blocks of either chain that a reorg can undo. All get the same steps on
the same quotes, written down beforehand: bids and asks half and half, 20 makers, every price of the side as likely. With *own prices* there are 10,000 a
side, so that hardly two quotes share one, as makers' models give prices of 18 decimals; *shared* are 200 a side. *Insert + cancel* cancels a
random quote and inserts one at another price. *Flow* is 9 % inserts, 3 % that insert and take at once (a limit order that crosses: it and what it meets
are gone), 6 % cancels and 82 % replacements, sizes alike. *Insert + take* inserts a quote of 1 to 10 contracts and takes as many from the best of that
side: for us a cover query and the fills it names, for the package a market order. Operations per CPU second.`,
  notes: `How far ahead we are depends on how many prices there are, because the package's tree of prices is the slowest part of it, and our array of levels the
fastest of ours: what remains with shared prices is the map of ids (a quarter), and memory that is not in the processor's caches.`,
  async run(scale) {
    const rows: Row[] = [];
    for (const each of cases) rows.push(...(await rowsOf(each, scale)));
    return { rows };
  },
};
