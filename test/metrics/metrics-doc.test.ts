import t from 'tap';
import { Metrics } from '../../src/metrics/metrics.js';
import { readDocument } from '../app/read-document.js';

const text = readDocument('docs/reference/metrics.md');
const monitoring = readDocument('docs/how-to/monitor.md');

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** prom-client keeps these by name; its types leave them out. */
const described = (): Described[] =>
  (new Metrics().registry.getMetricsAsArray() as unknown as Described[]).filter(({ name }) =>
    name.startsWith('quotebook_'),
  );

t.test('docs/reference/metrics.md has every metric in its order, with its labels and in its words', (t) => {
  const rows = described().map(({ name, help, labelNames }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${labels === '' ? '-' : labels} | ${help} |`;
  });
  t.strictSame(
    text.split('\n').filter((line) => line.startsWith('| `quotebook_')),
    rows,
  );
  t.end();
});

t.test('the rules of docs/how-to/monitor.md use metrics that exist', (t) => {
  const names = new Set(new Metrics().registry.getMetricsAsArray().map(({ name }) => name));
  const rules = /```yaml\n([\s\S]*?)```/.exec(monitoring)?.[1] ?? '';
  const asked = [...rules.matchAll(/\b(?:quotebook|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
  t.ok(asked.length > 5, `${asked.length} names`);
  for (const name of asked) t.ok(names.has(name) || names.has(name.replace(/_(?:bucket|count|sum)$/, '')), name);
  t.end();
});
