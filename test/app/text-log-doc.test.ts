import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readDocument } from './read-document.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const text = readDocument('docs/reference/log-messages.md');

/** What the rows begin with: one text, or several. */
const documented = text
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, said = '']) => said));

/** The messages of all logger calls of these levels, as the sources have them. */
async function said(levels = 'warn|error|fatal'): Promise<string[]> {
  const names = await readdir(path.join(root, 'src'), { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => path.join(root, 'src', name));
  const texts: string[] = [];
  const calls = new RegExp(String.raw`logger\.(?:${levels})\(([\s\S]*?)\)(?:;|,\n|\n)`, 'g');
  for (const source of sources) {
    const code = await readFile(source, 'utf8');
    for (const [, call = ''] of code.matchAll(calls)) {
      const [, message] = /.*['`]([^'`\n]+)['`]/s.exec(call) ?? [];
      if (message !== undefined) texts.push(message);
    }
  }
  return texts;
}

t.test('docs/reference/log-messages.md says of each warning and error what it means and what to do', async (t) => {
  const texts = await said();
  t.ok(texts.length > 25, `${texts.length} texts`);
  for (const message of new Set(texts)) t.ok(documented.includes(message), message);
});

t.test('it explains no text that is never written', async (t) => {
  const texts = await said();
  for (const row of documented) t.ok(texts.includes(row), row);
});

t.test('every message is a short phrase without values, so that alerts can match it', async (t) => {
  const texts = await said('debug|info|warn|error|fatal');
  t.ok(texts.length > 50, `${texts.length} texts`);
  for (const message of texts) t.match(message, /^[A-Za-z][A-Za-z.-]*( [A-Za-z.-]+){0,4}$/);
});
