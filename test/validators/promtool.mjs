// promtool, which comes with Prometheus, on the files of deploy/ and on what a service says at /metrics. It is skipped where
// there is no promtool in the PATH.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';

const promtool = (words, input) => spawnSync('promtool', words, { encoding: 'utf8', input });
const skip = promtool(['--version']).status === 0 ? false : 'promtool is not installed';

/** Findings of `promtool check metrics` that stay, with the reason. */
const ACCEPTED = new Map(
  ['handles', 'requests', 'resources'].map((what) => [
    `nodejs_active_${what}_total non-counter metrics should not have "_total" suffix`,
    "prom-client gives Node's own gauges this name, and public dashboards ask for it.",
  ]),
);

function accepts(t, ...words) {
  const { status, stdout, stderr } = promtool(words);
  t.equal(status, 0, `promtool ${words.join(' ')}`, { stdout, stderr });
}

t.test('it accepts the configuration and the rules', { skip }, (t) => {
  accepts(t, 'check', 'config', 'deploy/monitoring/prometheus.yml');
  // Their rules are where a container has them.
  for (const file of ['deploy/monitoring/prometheus-compose.yml', 'deploy/cluster/prometheus.yml']) {
    accepts(t, 'check', 'config', '--syntax-only', file);
  }
  for (const file of ['deploy/monitoring/rules.yml', 'deploy/cluster/alerts.yml']) accepts(t, 'check', 'rules', file);
  t.end();
});

t.test('each alert fires on its condition, and not before', { skip }, (t) => {
  for (const file of ['deploy/monitoring/rules.test.yml', 'deploy/cluster/alerts.test.yml']) {
    accepts(t, 'test', 'rules', file);
  }
  t.end();
});

t.test('it accepts the metrics of a service that has published a quote', { skip }, async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'quotebook-promtool-'));
  const readyFile = path.join(dir, 'ready.json');
  const flags = ['--port', '0', '--metrics-port', '0', '--data-dir', dir, '--ready-file', readyFile];
  const service = spawn(process.execPath, ['dist/src/cli/quotebook.js', 'serve', '--profile', 'local', ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(service, 'exit');
  t.teardown(async () => {
    service.kill('SIGINT');
    await ended;
    rmSync(dir, { recursive: true, force: true });
  });
  let port;
  createInterface(service.stderr).on('line', (line) => {
    if (line.includes('"metrics listening"')) ({ port } = JSON.parse(line));
  });
  while (!existsSync(readyFile) && service.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(spawnSync(process.execPath, ['examples/post-quote.mjs', readyFile]).status, 0, 'a quote is published');
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  t.match(text, 'quotebook_publication_seconds_count{result="answered"} 1');
  const { stdout, stderr } = promtool(['check', 'metrics'], text);
  const findings = (stdout + stderr).trim().split('\n');
  t.strictSame(
    findings.filter((finding) => !ACCEPTED.has(finding)),
    [],
  );
  for (const finding of ACCEPTED.keys()) t.ok(findings.includes(finding), `still there: ${finding}`);
});
