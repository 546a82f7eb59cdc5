import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { parse } from 'yaml';
import { Metrics } from '../../src/metrics/metrics.js';
import { readDocument } from '../app/read-document.js';

const run = promisify(execFile);
const inRoot = (file: string): string => fileURLToPath(new URL(`../../../${file}`, import.meta.url));
const read = (file: string): string => readFileSync(inRoot(file), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

/** Rules of a service and of a cluster, each beside its unit tests. */
const RULES = ['deploy/monitoring/rules.yml', 'deploy/cluster/alerts.yml'];

function rulesOf(file: string): readonly Rule[] {
  const { groups } = parse(read(file)) as { groups: readonly { readonly rules: readonly Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}
const rules = RULES.flatMap(rulesOf);

interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts: readonly unknown[];
}

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const { panels } = JSON.parse(read('deploy/monitoring/dashboards/quotebook.json')) as {
  panels: readonly Panel[];
};

/** Labels by the names that queries have of a metric; a histogram has three. */
const known = new Map<string, ReadonlySet<string>>([['up', new Set()]]);
for (const metric of new Metrics().registry.getMetricsAsArray()) {
  const { name, labelNames = [] } = metric as { name: string; labelNames?: readonly string[] };
  const labels = new Set([...labelNames, 'instance', 'job']);
  known.set(name, labels);
  for (const part of ['count', 'sum']) known.set(`${name}_${part}`, labels);
  known.set(`${name}_bucket`, new Set([...labels, 'le']));
}

/** What is wrong with the names of metrics and labels in a query. */
function problemsOf(query: string): string[] {
  const names = [...query.matchAll(/\b((?:quotebook|nodejs|process)_\w+|up)\b/g)].map(([name]) => name);
  const labels = [...query.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"/g), ...query.matchAll(/\b(?:by|on)\s*\(([\w\s,]+)\)/g)]
    .flatMap(([, list = '']) => list.split(','))
    .map((label) => label.trim());
  const ofNames = names.flatMap((name) => [...(known.get(name) ?? [])]);
  return [
    ...(names.length === 0 ? [`no metric in ${query}`] : []),
    ...names.filter((name) => !known.has(name)),
    ...labels.filter((label) => !['instance', 'job', ...ofNames].includes(label)),
  ];
}

t.test('every rule names metrics and labels that exist, and has a severity, a summary and a runbook', (t) => {
  t.ok(rules.length > 10, `${rules.length} rules`);
  const runbook = readDocument('docs/how-to/respond-to-alerts.md');
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  t.strictSame([...new Set(rules.map(({ alert }) => alert))], sections, 'a section each');
  for (const { alert, expr, labels, annotations } of rules) {
    t.strictSame(problemsOf(expr), [], alert);
    t.ok(['critical', 'warning'].includes(labels.severity), alert);
    t.match(runbook, new RegExp(`## ${alert}\n\n${labels.severity}\\.`, 'i'), 'the runbook says the same severity');
    t.match(annotations.summary, /\.$/, alert);
    t.equal(annotations.runbook_url, `docs/how-to/respond-to-alerts.md#${alert.toLowerCase()}`);
  }
  t.end();
});

t.test('every panel of the dashboard asks for metrics that exist', (t) => {
  t.ok(panels.length > 20, `${panels.length} panels`);
  for (const { title, targets } of panels) {
    t.ok(targets.length > 0, title);
    for (const { expr, legendFormat } of targets) {
      t.strictSame(problemsOf(expr), [], title);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => `x{${label}="1"} quotebook_ready`);
      const own = [...expr.matchAll(/\bquotebook_\w+/g)].map(([name]) => name).join(' ');
      for (const label of shown) t.strictSame(problemsOf(`${label} ${own}`), [], `${title}: ${legendFormat}`);
    }
  }
  t.end();
});

t.test('a query with a metric or a label that does not exist is found', (t) => {
  t.strictSame(problemsOf('rate(quotebook_commits_bucket[5m])'), ['quotebook_commits_bucket']);
  t.strictSame(problemsOf('quotebook_chain_stale{role="stream"} == 1'), ['role']);
  t.strictSame(problemsOf('sum by (le) (quotebook_commit_seconds_count)'), ['le']);
  t.end();
});

/** Null: the program is not installed. */
async function check(program: string, ...words: string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(program, words);
    return stdout + stderr;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

t.test('every alert has a unit test that it fires, and one that it does not', (t) => {
  for (const file of RULES) {
    const { tests } = parse(read(file.replace('.yml', '.test.yml'))) as {
      tests: readonly { readonly alert_rule_test: readonly AlertTest[] }[];
    };
    const all = tests.flatMap(({ alert_rule_test: each }) => each);
    for (const { alert } of rulesOf(file)) {
      const expected = all
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts }) => exp_alerts.length > 0);
      t.strictSame(new Set(expected), new Set([false, true]), `${file}: ${alert}`);
    }
  }
  t.end();
});

t.test('systemd accepts the unit', async (t) => {
  const unit = read('deploy/systemd/quotebook.service');
  t.match(unit, /^LimitNOFILE=65536$/m);
  t.match(unit, /^NoNewPrivileges=true$/m);
  t.match(unit, /^StartLimitIntervalSec=0$/m, 'it starts a member again for as long as NATS is out');
  const found = await check('systemd-analyze', 'verify', inRoot('deploy/systemd/quotebook.service')).catch(
    (error: unknown) => String((error as { stderr?: string }).stderr),
  );
  // Node may be elsewhere on this machine.
  const complaints = (found ?? '')
    .split('\n')
    .filter((line) => line.includes('quotebook.service') && !line.includes('/usr/bin/node'));
  t.strictSame(complaints, []);
});
