import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { doctorCommand } from '../../src/cli/doctor.js';
import { runCommand } from '../../src/cli/run.js';

const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-doctor-'));
t.teardown(() => rm(dataDir, { recursive: true }));

async function run(...words: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand(['doctor', ...words], [doctorCommand], '1.2.3', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment: {},
    readText: () => Promise.reject(Object.assign(new Error('missing'), { code: 'ENOENT' })),
  });
  return { code, out, err };
}

t.test('findings are lines with what to do below, or one line of JSON', async (t) => {
  const words = ['--profile', 'local', '--data-dir', dataDir];
  const lines = await run(...words);
  t.equal(lines.code, 0, lines.err.join('\n'));
  t.match(lines.out[0], /^OK +endpoint +The profile local has a chain of its own/);
  const json = await run('--json', ...words);
  t.equal(json.out.length, 1);
  const { ok, findings } = JSON.parse(json.out[0] ?? '') as { ok: boolean; findings: object[] };
  t.ok(ok);
  t.match(findings[0], { check: 'endpoint', level: 'OK', remedy: null });
});

t.test('an endpoint that does not answer fails, with exit code 1', async (t) => {
  const nobody = 'http://127.0.0.1:1';
  const { code, out } = await run(
    ...['--profile', 'arbitrum', '--settlement-rpc-urls', nobody, '--stream-rpc-urls', nobody, '--data-dir', dataDir],
  );
  t.equal(code, 1);
  t.match(out[0], /^FAIL +endpoint +settlement 127\.0\.0\.1:1: /);
  t.match(out[1], /→ Correct settlementRpcUrls/);
});

t.test('wrong settings are named, and nothing is looked at', async (t) => {
  t.equal((await run('--port', 'x')).code, 2);
  t.equal((await run('now')).code, 2);
});
