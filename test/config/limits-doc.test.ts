import t from 'tap';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { readDocument } from '../app/read-document.js';

const text = readDocument('docs/reference/limits.md');
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));

t.test('docs/reference/limits.md has the quotas of all tiers', async (t) => {
  const told = rows.filter((cells) => cells.length === 5).map(([name, free, paid, self]) => [name, free, paid, self]);
  const quotas = Object.keys(tierQuotas.free) as (keyof typeof tierQuotas.free)[];
  t.strictSame(
    told,
    quotas.map((name) => [
      `\`${name}\``,
      String(tierQuotas.free[name]),
      String(tierQuotas.paid[name]),
      String(tierQuotas.self[name]),
    ]),
  );
});

t.test('docs/reference/limits.md has every limit as it is, in its order, and says what it bounds', async (t) => {
  const told = rows.filter((cells) => cells.length === 3);
  t.strictSame(
    told.map(([name, value]) => [name, value]),
    Object.entries(limits).map(([name, value]) => [`\`${name}\``, String(value)]),
  );
  t.strictSame(
    told.filter(([, , about = '']) => about.length < 5),
    [],
  );
});
