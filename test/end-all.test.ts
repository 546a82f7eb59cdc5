import t from 'tap';
import { endAll } from '../src/end-all.js';

t.test('what began last ends first, each before the next', async (t) => {
  const calls: string[] = [];
  const slow = async (): Promise<void> => {
    calls.push('slow begins');
    await Promise.resolve();
    calls.push('slow ends');
  };
  await endAll([() => void calls.push('first'), slow]);
  t.strictSame(calls, ['slow begins', 'slow ends', 'first']);
});

t.test('an end that fails keeps none of the others from theirs, and is told of', async (t) => {
  const calls: string[] = [];
  const failing = (name: string) => (): never => {
    calls.push(name);
    throw new Error(name);
  };
  const ends = [() => void calls.push('log'), () => Promise.reject(new Error('late')), failing('socket')];
  await t.rejects(endAll(ends), { message: 'socket' });
  t.strictSame(calls, ['socket', 'log']);
});
