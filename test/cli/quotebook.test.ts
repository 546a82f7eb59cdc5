import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const program = fileURLToPath(new URL('../../src/cli/quotebook.js', import.meta.url));

const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTEBOOK_')));

async function run(words: readonly string[], cwd: string): Promise<{ code: number; out: string; err: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...words], {
      cwd,
      env: environment,
    });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

t.test('the program starts, says its version, and ends with the command’s exit code', async (t) => {
  const cwd = t.testdir();
  const packageFile = new URL('../../../package.json', import.meta.url);
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
  t.strictSame(await run(['--version'], cwd), { code: 0, out: `${version}\n`, err: '' });
  t.match(await run(['serve', '--port', 'x'], cwd), { code: 2, out: '', err: /^port cannot be "x" \(from --port\)/ });
});

t.test('a key that one process creates is one that another lists and revokes', async (t) => {
  const cwd = t.testdir();
  const created = await run(['keys', 'create', '--tier', 'paid', '--label', 'my bot'], cwd);
  t.match(created, { code: 0, out: /^qb_\S{48}\n$/, err: /^Key [0-9a-f]{16} of the paid tier/ });
  const id = /Key (\S+)/.exec(created.err)?.[1] ?? '';
  t.match(await run(['keys', 'list'], cwd), { code: 0, out: new RegExp(`^${id}  paid .* -  +my bot$`, 'm') });
  t.match(await run(['keys', 'revoke', id], cwd), { code: 0, err: `Key ${id} is revoked.\n` });
  t.match(await run(['keys', 'revoke', id], cwd), { code: 0, err: `Key ${id} was revoked before.\n` });
});
