import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { completionsCommand } from '../../src/cli/completions.js';
import { logCommand } from '../../src/cli/log.js';
import { type CliCommand, runCommand } from '../../src/cli/run.js';
import { accountCommand } from '../../src/cli/read.js';

const run = promisify(execFile);
const commands: readonly [CliCommand, ...CliCommand[]] = [
  logCommand,
  accountCommand,
  completionsCommand(() => commands),
];

async function script(shell: string): Promise<{ code: number; text: string }> {
  const out: string[] = [];
  const code = await runCommand(['completions', shell], commands, '1.2.3', {
    out: (line) => out.push(line),
    err: () => undefined,
    environment: {},
    readText: () => Promise.reject(new Error('nothing is read')),
  });
  return { code, text: out.join('\n') };
}

/** Bash's offers for the words; the last one is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { text } = await script('bash');
  const quoted = ['quotebook', ...words].map((word) => `'${word}'`).join(' ');
  const program = `${text}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _quotebook; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', program]);
  return stdout.split('\n').filter((word) => word !== '');
}

t.test('bash completes commands, actions and flags', async (t) => {
  t.strictSame(await offered('l'), ['log']);
  t.strictSame(await offered('log', 'ver'), ['verify']);
  t.strictSame(await offered('log', 'verify', '--a'), ['--after']);
  t.strictSame(await offered('account', '--j'), ['--json']);
  t.strictSame((await offered('')).sort(), ['--help', '--version', 'account', 'completions', 'log']);
  t.strictSame((await offered('completions', '')).slice(0, 3), ['bash', 'zsh', 'fish']);
});

t.test('zsh and fish get every command with its summary', async (t) => {
  for (const shell of ['zsh', 'fish']) {
    const { code, text } = await script(shell);
    t.equal(code, 0);
    t.match(text, /account.*show an account’s quotes/, shell);
    t.match(text, /verify/, shell);
    t.match(text, shell === 'fish' ? /-l restore-from/ : /--restore-from/, shell);
  }
});

t.test('another shell is refused', async (t) => {
  t.equal((await script('tcsh')).code, 2);
  t.equal((await script('toString')).code, 2);
});
