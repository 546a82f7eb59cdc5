import t from 'tap';
import { tierQuotas } from '../../src/config/limits.js';
import { TurnBudget } from '../../src/system/turn-budget.js';
import { LargeAnswers } from '../../src/quota/large-answers.js';
import { Quotas, type QuotaTable } from '../../src/quota/rate-limits.js';
import type { PacedWork } from '../../src/system/paced-work.js';

const table: QuotaTable = {
  ...tierQuotas,
  free: { ...tierQuotas.free, rowsPerSecond: 100, answerBytesPerSecond: 1_000, answersWaiting: 2 },
};
const free = { id: 'a', tier: 'free' } as const;
const paid = { id: 'p', tier: 'paid' } as const;

/** Lets every promise that can settle do so. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

function world(slicesPerTurn = 1_000) {
  let due: (() => void)[] = [];
  // A task of a turn that asks for another turn gets it in the next one. Those that wait for longer never run.
  const clock = {
    after(delayMs: number, task: () => void) {
      if (delayMs === 0) due.push(task);
      return () => undefined;
    },
  };
  const refused: string[] = [];
  const quotas = new Quotas(table, 1, (quota, tier) => refused.push(`${quota} ${tier}`));
  const answers = new LargeAnswers(quotas, new TurnBudget(clock, slicesPerTurn), clock);
  const log: string[] = [];
  /** An answer of so many slices, which notes when each is made. */
  const answer =
    (name: string, slices: number, rows = 0) =>
    async (work: PacedWork): Promise<string> => {
      for (let i = 0; i < slices; i++) {
        if (i > 0) await work.turn();
        work.charge(rows, 0);
        log.push(name);
      }
      return name;
    };
  /** So many turns of the event loop. */
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      await settled();
      const tasks = due;
      due = [];
      for (const task of tasks) task();
    }
    await settled();
  };
  return { answers, quotas, log, refused, answer, turns };
}

t.test(
  'a key has one answer made at a time; the next ones wait in order, and are refused beyond the queue',
  async (t) => {
    const { answers, log, refused, answer, turns } = world(1);
    const made = ['1', '2', '3'].map(async (name) => answers.run(free, answer(name, 2)));
    const tooMany = answers.run(free, answer('4', 2));
    t.match(tooMany, { retryAfterMs: 1_000 });
    t.strictSame(refused, ['answers free']);
    await turns(10);
    t.strictSame(log.join(''), '112233');
    t.strictSame(await Promise.all(made), ['1', '2', '3']);
    t.equal(await answers.run(free, () => 'later'), 'later', 'there is room again');
  },
);

t.test('keys take turns, slice by slice', async (t) => {
  const { answers, log, answer, turns } = world(1);
  const made = [free, paid].map(async (holder) => answers.run(holder, answer(holder.id, 3)));
  await turns(10);
  t.equal(log.join(''), 'apapap');
  await Promise.all(made);
});

t.test('no more slices than `slicesPerTurn` are made between two turns of the event loop', async (t) => {
  const { answers, log, answer, turns } = world(2);
  const made = ['a', 'b', 'c'].map(async (id) => answers.run({ id, tier: 'paid' }, answer(id, 2)));
  await settled();
  t.equal(log.join(''), 'ab');
  await turns(1);
  t.equal(log.join(''), 'abca');
  await turns(5);
  await Promise.all(made);
});

t.test('a key that is over its rows waits between two slices, others do not', async (t) => {
  const { answers, quotas, log, answer, turns } = world();
  const slow = answers.run(free, answer('f', 3, 60));
  await turns(1);
  t.equal(log.join(''), 'ff', 'a second of rows at once');
  t.ok(quotas.debtMs(free) > 0);
  await answers.run(paid, answer('p', 2, 60));
  t.equal(log.join(''), 'ffpp');
  void slow;
});

t.test('an answer that fails lets the next one begin', async (t) => {
  const { answers } = world();
  const failing = answers.run(free, () => Promise.reject(new Error('EIO')));
  const next = answers.run(free, () => 'made');
  await t.rejects(failing as Promise<never>, { message: 'EIO' });
  t.equal(await next, 'made');
});
