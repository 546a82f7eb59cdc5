import t from 'tap';
import { MemoryJournal } from './memory-journal.js';

const record = (index: number) => ({ stamp: { index, tsMs: 0 }, command: { type: 'TICK' }, events: [] }) as const;

t.test('what one turn appends is one group', async (t) => {
  const journal = new MemoryJournal();
  const commits: number[] = [];
  journal.onCommit((index) => commits.push(index));
  journal.append(record(1));
  journal.append(record(2));
  t.same(commits, []);
  await journal.flush();
  t.same(commits, [2]);
  t.equal(journal.refusal(), null);
});

t.test('flush waits for what is appended while a group is committed', async (t) => {
  const journal = new MemoryJournal();
  const commits: number[] = [];
  journal.onCommit((index) => {
    commits.push(index);
    if (index === 1) journal.append(record(2));
  });
  journal.append(record(1));
  await journal.close();
  t.same(commits, [1, 2]);
});
