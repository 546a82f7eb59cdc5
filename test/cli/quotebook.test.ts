import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { logIn } from './log-fixture.js';

const program = fileURLToPath(new URL('../../src/cli/quotebook.js', import.meta.url));

const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTEBOOK_')));

async function run(words: readonly string[], cwd: string): Promise<{ code: number; out: string; err: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...words], {
      cwd,
      env: environment,
      // A process that does not end has to fail here, not in the next test.
      timeout: 60_000,
      killSignal: 'SIGKILL',
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

t.test(
  'an output for which its volume has no room is said in a line, and fails the command',
  { skip: process.platform !== 'linux' && 'there is no /dev/full' },
  async (t) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [program, 'config', 'print'], {
      stdio: ['ignore', full, 'pipe'],
      env: environment,
    });
    closeSync(full);
    const said: Buffer[] = [];
    child.stderr?.on('data', (data: Buffer) => said.push(data));
    t.strictSame(await once(child, 'close'), [1, null]);
    t.match(Buffer.concat(said).toString(), /^quotebook: the output could not be written: ENOSPC[^\n]*\n$/);
  },
);

t.test('who has read enough of a listing ends the command, without an error', async (t) => {
  const directory = t.testdir();
  await logIn(directory, 900);
  const child = spawn(process.execPath, [program, 'log', 'dump', directory], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said: Buffer[] = [];
  child.stderr.on('data', (data: Buffer) => said.push(data));
  // About 300 KB are to come, and a pipe holds 64.
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = (await once(child, 'close')) as [number];
  t.equal(Buffer.concat(said).toString(), '');
  t.equal(code, 0);
});

t.test('serve ends if its port is taken, and says so', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const settings = ['--port', String(port), '--metrics-port', '0', '--log-level', 'silent'];
  t.match(await run(['serve', '--profile', 'local', ...settings], t.testdir()), {
    code: 1,
    out: '',
    // What the system says of it is another text with each of the two servers.
    err: new RegExp(`^quotebook: Cannot listen on 127\\.0\\.0\\.1 port ${port}\\n {2}because: .*(taken|in use).*\\n$`),
  });
});

for (const [dataDir, named, code, remedy] of [
  ['/proc/x', '/proc/x', 'ENOENT', 'Create the parent directory, or mount its volume'],
  ['/proc/version', '/proc/version', 'EEXIST', 'Move that away'],
] as const) {
  t.test(
    `a data directory at ${dataDir} ends a command at once, in one line with the setting and the remedy`,
    { skip: process.platform !== 'linux' && 'there is no /proc' },
    async (t) => {
      for (const command of [
        ['serve', '--profile', 'local', '--port', '0'],
        // It looks for the keys' file first, below the file that is in the way.
        ...(code === 'EEXIST' ? [] : [['keys', 'create']]),
      ]) {
        const { code: exitCode, out, err } = await run([...command, '--data-dir', dataDir], t.testdir());
        t.strictSame([exitCode, out], [1, '']);
        const [line = '', ...rest] = err.split('\n');
        t.strictSame(rest, [''], 'one line');
        t.ok(line.startsWith(`quotebook: dataDir is ${dataDir}: ${named} cannot be used, since `), line);
        const end = ` (${code}). ${remedy}, or set --data-dir (QUOTEBOOK_DATA_DIR) to another path.`;
        t.ok(line.endsWith(end), line);
      }
    },
  );
}

t.test('a ready file that cannot be written ends serve, in one line with the setting and the remedy', async (t) => {
  const cwd = t.testdir();
  const words = [
    'serve',
    '--profile',
    'local',
    '--port',
    '0',
    '--log-level',
    'silent',
    '--ready-file',
    'no/ready.json',
  ];
  const { code, err } = await run(words, cwd);
  t.equal(code, 1);
  t.match(err, /^quotebook: readyFile is no\/ready\.json: .* \(ENOENT\)\. Create .* or set --ready-file .*\.\n$/);
});

t.test('serve ends if a file of its directory is damaged, and names the file', async (t) => {
  const cwd = t.testdir({ data: { local: { 'budgets.jsonl': 'nobody wrote this\nnor this\n' } } });
  t.match(await run(['serve', '--profile', 'local', '--port', '0', '--log-level', 'silent'], cwd), {
    code: 1,
    out: '',
    err: /^quotebook: budgets\.jsonl, offset 0/,
  });
});
