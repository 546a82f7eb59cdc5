import t from 'tap';
import { Arrivals } from '../../src/persistence/arrivals.js';

async function read(arrivals: Arrivals<number>): Promise<number[]> {
  const items: number[] = [];
  for await (const item of arrivals) items.push(item);
  return items;
}

t.test('what has come before anybody reads, and what comes then, is read in order', async (t) => {
  const arrivals = new Arrivals<number>();
  arrivals.push(1);
  arrivals.push(2);
  const reading = read(arrivals);
  await new Promise((resolve) => setImmediate(resolve));
  arrivals.push(3);
  arrivals.push(4);
  await new Promise((resolve) => setImmediate(resolve));
  arrivals.push(5);
  arrivals.end();
  t.strictSame(await reading, [1, 2, 3, 4, 5]);
});

t.test('nothing at all ends, too', async (t) => {
  const [over, later] = [new Arrivals<number>(), new Arrivals<number>()];
  over.end();
  t.strictSame(await read(over), []);
  const reading = read(later);
  await new Promise((resolve) => setImmediate(resolve));
  later.end();
  t.strictSame(await reading, []);
});
