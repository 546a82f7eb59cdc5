import t from 'tap';
import { Metrics } from '../../src/metrics/metrics.js';
import { readDocument } from '../app/read-document.js';

const text = readDocument('docs/reference/metrics.md');

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
