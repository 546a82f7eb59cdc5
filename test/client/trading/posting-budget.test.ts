import t from 'tap';
import { PostingBudget } from '../../../src/client/trading/posting-budget.js';

const DAY_MS = 86_400_000;
const quotes = (left: number, perSecond = 2) => new Map([['quotes', { left, perSecond }]]);

t.test('before the first answer little is posted', async (t) => {
  t.equal(new PostingBudget(15_000, 0).available(0), 20);
});

t.test('any 24 hours stay within the number of a day', async (t) => {
  const budget = new PostingBudget(150, 0);
  budget.answered(quotes(1_000_000), 0);
  let taken = 0;
  for (let ms = 0; ms < DAY_MS; ms += 60_000) {
    const count = budget.available(ms);
    budget.take(count, ms);
    taken += count;
  }
  t.ok(taken <= 150 && taken >= 140, `${taken}`);
});

t.test('no more is posted than the service says is left, with what has returned since', async (t) => {
  const budget = new PostingBudget(15_000, 0);
  budget.answered(quotes(5), 0);
  t.equal(budget.available(0), 5);
  t.equal(budget.available(11_000), 25);
});

t.test('without requests left, and after a 429, nothing is posted', async (t) => {
  const budget = new PostingBudget(15_000, 0);
  budget.answered(new Map([['requests', { left: 1, perSecond: 20 }]]), 0);
  t.equal(budget.available(500), 0);
  t.ok(budget.available(2_000) > 0);
  budget.refused(9_000);
  t.equal(budget.available(8_999), 0);
  t.ok(budget.available(9_000) > 0);
});
