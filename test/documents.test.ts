import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../../', import.meta.url));
const documents = [
  ...(await readdir(root)).filter((name) => name.endsWith('.md')),
  ...(await readdir(path.join(root, 'docs'), { recursive: true }))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'bench/README.md',
  'clients/python/README.md',
  'contracts/README.md',
  'packages/client/README.md',
].filter((name) => existsSync(path.join(root, name)));

const FIRST_SCREEN_LINES = 40;

/** Headings as the anchors that they get where documents are shown. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((each) =>
      each
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

for (const document of documents) {
  t.test(`${document} names nothing that is not there`, async (t) => {
    const text = await readFile(path.join(root, document), 'utf8');
    const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
    for (const [, target = ''] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const at = file === '' ? path.join(root, document) : path.resolve(root, path.dirname(document), file);
      t.ok(existsSync(at), `link to ${target}`);
      if (anchor !== undefined && at.endsWith('.md') && existsSync(at)) {
        t.ok(anchorsOf(await readFile(at, 'utf8')).has(anchor), `heading of ${target}`);
      }
    }
    for (const [, file = ''] of prose.matchAll(/`((?:src|test|bench|scripts|examples|docs|contracts)\/[\w./-]+)`/g)) {
      t.ok(existsSync(path.join(root, file)), file);
    }
  });
}

t.test('the first screen of the README shows the two commands that do all the set-up', async (t) => {
  const text = await readFile(path.join(root, 'README.md'), 'utf8');
  const firstScreen = text.split('\n').slice(0, FIRST_SCREEN_LINES).join('\n');
  for (const command of ['npm ci && npm start', 'npm ci && npm test']) {
    t.ok(firstScreen.includes(`\n\`\`\`sh\n${command}\n\`\`\`\n`), command);
  }
});

t.test('the index of the documents names every page, and the folder of the decisions', async (t) => {
  const index = await readFile(path.join(root, 'docs/README.md'), 'utf8');
  const pages = documents.filter((name) => /^docs\/(tutorial|how-to|reference|explanation)\/[^/]+$/.test(name));
  t.ok(pages.length > 0);
  for (const page of pages) t.ok(index.includes(`](${page.slice('docs/'.length)})`), page);
  t.ok(index.includes('](explanation/adr)'));
});
