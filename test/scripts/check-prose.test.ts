import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const SCRIPT = fileURLToPath(new URL('../../../scripts/check-prose.mjs', import.meta.url));

/** Runs the check in a repository of these files; paths may be given as arguments. */
function check(t: Test, files: Parameters<Test['testdir']>[0], ...args: string[]) {
  const cwd = t.testdir(files);
  execFileSync('git', ['init', '--quiet'], { cwd });
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd, encoding: 'utf8' });
  return { status, lines: stderr.trim().split('\n') };
}

t.test('a rejected phrase is named with its file and line, in comments, titles and documents', async (t) => {
  const { status, lines } = check(t, {
    'README.md': '# Title\n\nClients are told of it.\n',
    src: { 'a.ts': "/** Whoever calls it. */\nexport const a = 'Good.';\n" },
    test: { 'a.test.ts': "t.test('Who asks is answered', async () => {});\n" },
  });
  t.equal(status, 1);
  t.match(lines, [
    'README.md:3 error: "are told"',
    'src/a.ts:1 error: "Whoever"',
    'test/a.test.ts:1 error: "t.test(\'Who a"',
    '3 phrases to replace',
  ]);
});

t.test('a phrase that goes on in the next line of a comment is found', async (t) => {
  const { lines } = check(t, {
    src: { 'a.ts': '/**\n * A subscriber is\n * told of it.\n */\n// It was\n// told.\n' },
  });
  t.match(lines, ['src/a.ts:2 error: "is * told"', 'src/a.ts:5 error: "was // told"', '2 phrases to replace']);
});

t.test('a phrase that is also plain English only warns', async (t) => {
  const files = { docs: { 'a.md': 'It starts by itself.\n' } };
  t.strictSame(check(t, files), { status: 0, lines: ['1 phrases to look at: --warnings lists them'] });
  t.match(check(t, files, '--warnings').lines, ['docs/a.md:1 warning: "by itself"']);
});

t.test('a relative clause that begins with What is rejected in comments of some folders alone', async (t) => {
  const text = '/** What the worker is started with. */\n// It is read. What is left stays.\n';
  const { lines } = check(t, { src: { engine: { 'a.ts': text } }, web: { 'a.ts': text } });
  const errors = lines.filter((line) => line.includes('error:'));
  t.match(errors, ['src/engine/a.ts:1 error: "/** What t"', 'src/engine/a.ts:2 error: ". What i"']);
  t.equal(errors.length, 2);
});

t.test('a text for readers may begin with What', async (t) => {
  const text = "const help = `\n  What restore takes.`;\nconst description = 'All of it. What is unknown is null.';\n";
  t.equal(check(t, { src: { engine: { 'a.ts': text } } }).status, 0);
});

t.test('paths narrow the check', async (t) => {
  const files = { docs: { 'a.md': 'It was told.\n' }, src: { 'a.ts': '// The server sends it.\n' } };
  t.equal(check(t, files, 'src').status, 0);
  t.equal(check(t, files, 'docs/a.md').status, 1);
});
