import t from 'tap';
import { limitOrderBook } from '../../bench/baselines/limit-order-book.js';
import { book } from '../../bench/scenarios/book.js';
import { Step, writeScript } from '../../bench/workload/book-script.js';
import { testTiny } from './run-tiny.js';

testTiny(book);

t.test('a script cancels only what is in the book and uses every kind of step of its mix', async (t) => {
  const shape = { resting: 50, steps: 2000, ticksPerSide: 20, maxSize: 3 };
  const script = writeScript({ ...shape, mix: [9, 6, 82, 3, 0] });
  const live = new Set(Array.from({ length: shape.resting }, (_, n) => n));
  const counts = new Map<Step, number>();
  for (const [i, step] of script.steps.entries()) {
    const subject = script.subjects[i] ?? -1;
    counts.set(step, (counts.get(step) ?? 0) + 1);
    // Only the book knows which quotes a crossing one met, so from the first on only what cannot be wrong is looked
    // at.
    if ((counts.get(Step.Cross) ?? 0) > 0) continue;
    if (step === Step.Insert) live.add(subject);
    else t.ok(live.delete(subject), `step ${i} takes out what is in`);
    if (step === Step.Replace) live.add(script.others[i] ?? -1);
  }
  t.same([...counts.keys()].sort(), [Step.Insert, Step.Cancel, Step.Replace, Step.Cross].sort());
});

t.test('the baseline does every step', async (t) => {
  const script = writeScript({ resting: 50, steps: 300, ticksPerSide: 20, maxSize: 3, mix: [10, 10, 40, 10, 30] });
  const work = await limitOrderBook(script).prepare();
  t.equal(await work(), 300);
});
