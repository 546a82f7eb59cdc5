import t from 'tap';
import { SliceTurns } from '../../src/quota/slice-turns.js';

/** Readers that each want so many pages, and the turns in which each page was made. */
function reading(pagesPerTurn: number, wanted: readonly number[]) {
  let turnTasks: (() => void)[] = [];
  const after = (_: number, task: () => void) => {
    turnTasks.push(task);
    return () => undefined;
  };
  const turns = new SliceTurns({ after }, pagesPerTurn);
  const made: string[][] = [[]];
  const cancels: (() => void)[] = [];
  const run = (reader: number, left: number): void => {
    for (let pages = left; pages > 0; pages--) {
      if (!turns.hasRoom) return void (cancels[reader] = turns.wait(() => run(reader, pages)));
      turns.made();
      made.at(-1)?.push(`${reader}`);
    }
  };
  for (const [reader, pages] of wanted.entries()) run(reader, pages);
  const nextTurn = (): boolean => {
    const tasks = turnTasks;
    turnTasks = [];
    if (tasks.length === 0) return false;
    made.push([]);
    for (const task of tasks) task();
    return true;
  };
  return { made, nextTurn, cancels };
}

t.test('so many pages are made in a turn, and who comes to wait first has the next ones', async (t) => {
  const { made, nextTurn } = reading(2, [5, 1, 2]);
  while (nextTurn());
  t.strictSame(
    made.map((pages) => pages.join('')),
    ['00', '00', '12', '02', ''],
  );
});

t.test('one who leaves while it waits takes nobody’s room', async (t) => {
  const { made, nextTurn, cancels } = reading(1, [1, 1, 1]);
  cancels[1]?.();
  while (nextTurn());
  t.strictSame(
    made.map((pages) => pages.join('')),
    ['0', '2', ''],
  );
});

t.test('a turn in which nothing was made is not waited for', async (t) => {
  t.equal(reading(1, [0]).nextTurn(), false);
});
