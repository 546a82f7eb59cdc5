import t from 'tap';
import { systemClock } from '../../src/system/clock.js';
import { TurnBudget } from '../../src/system/turn-budget.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Requests of one budget: `take` says whether one may be answered in this turn. */
function requests(perTurn: number) {
  const turns = new TurnBudget(systemClock, perTurn);
  const take = (): boolean => {
    if (!turns.hasRoom) return false;
    turns.spend();
    return true;
  };
  const wait = (task: () => void): void =>
    void turns.wait(() => {
      turns.spend();
      task();
    });
  return { take, wait };
}

t.test('in each turn there is room for so many, those that wait before all others', async (t) => {
  const { take, wait } = requests(2);
  const begun: string[] = [];
  t.strictSame([take(), take(), take()], [true, true, false]);
  for (const name of ['a', 'b', 'c']) wait(() => begun.push(name));
  t.strictSame(begun, []);
  await turn();
  t.strictSame(begun, ['a', 'b']);
  t.notOk(take());
  await turn();
  t.strictSame(begun, ['a', 'b', 'c']);
  t.strictSame([take(), take()], [true, false]);
});

t.test('the count goes on over turns until half of it is used, then it begins anew', async (t) => {
  const { take } = requests(4);
  t.ok(take());
  await turn();
  t.strictSame([take(), take(), take(), take()], [true, true, true, false]);
  await turn();
  t.strictSame([take(), take(), take(), take(), take()], [true, true, true, true, false]);
});

t.test('who comes in a turn that those before have used up waits for the next', async (t) => {
  const { take, wait } = requests(2);
  const begun: string[] = [];
  take();
  take();
  for (const name of ['a', 'b']) wait(() => begun.push(name));
  await turn();
  t.strictSame(begun, ['a', 'b']);
  t.notOk(take());
  wait(() => begun.push('c'));
  await turn();
  t.strictSame(begun, ['a', 'b', 'c']);
});

/** Readers that each want so many pages, and the turns in which each page was made. */
function reading(pagesPerTurn: number, wanted: readonly number[]) {
  let turnTasks: (() => void)[] = [];
  const after = (_: number, task: () => void) => {
    turnTasks.push(task);
    return () => undefined;
  };
  const turns = new TurnBudget({ after }, pagesPerTurn);
  const made: string[][] = [[]];
  const cancels: (() => void)[] = [];
  const run = (reader: number, left: number): void => {
    for (let pages = left; pages > 0; pages--) {
      if (!turns.hasRoom) return void (cancels[reader] = turns.wait(() => run(reader, pages)));
      turns.spend();
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
