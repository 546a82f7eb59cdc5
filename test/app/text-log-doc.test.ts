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

/** The texts of all lines of level `warn` and above, as the sources have them: a part that is put in stands as `${...}`. */
async function said(): Promise<string[]> {
  const names = await readdir(path.join(root, 'src'), { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts')).map((name) => path.join(root, 'src', name));
  const texts: string[] = [];
  for (const source of sources) {
    const code = await readFile(source, 'utf8');
    for (const [, call = ''] of code.matchAll(/logger\.(?:warn|error|fatal)\(([\s\S]*?)\)(?:;|,\n|\n)/g)) {
      const [, message] = /.*['`]([^'`\n]+)['`]/s.exec(call) ?? [];
      if (message !== undefined) texts.push(message);
    }
  }
  return texts;
}

t.test('docs/reference/log-messages.md says of each warning and error what it means and what to do', async (t) => {
  const texts = await said();
  t.ok(texts.length > 25, `${texts.length} texts`);
  for (const message of new Set(texts)) t.ok(documented.some(isOf(message)), message);
});

t.test('it explains no text that is never written', async (t) => {
  const texts = await said();
  for (const row of documented)
    t.ok(
      texts.some((message) => isOf(message)(row)),
      row,
    );
});

/** Whether a text of the table is this one of the sources. */
function isOf(message: string): (row: string) => boolean {
  const [beginning = '', ...others] = message.split('${');
  return (row) => (others.length > 0 ? row.startsWith(beginning) : row === message);
}
