import t from 'tap';
import { readPageFiles } from '../../src/app/page-files.js';

t.test('the files of a page are read with their types, and nothing else of the directory is', async (t) => {
  const directory = t.testdir({
    'index.html': '<!doctype html>',
    'app.js': 'run();',
    'style.css': 'body {}',
    'icon.svg': '<svg/>',
    'app.js.map': '{}',
    '.env': 'SECRET=1',
    deeper: { 'other.js': '' },
  });
  const files = await readPageFiles(directory);
  t.match(files, [
    { path: '/app.js', contentType: 'text/javascript; charset=utf-8' },
    { path: '/icon.svg', contentType: 'image/svg+xml' },
    { path: '/index.html', contentType: 'text/html; charset=utf-8' },
    { path: '/style.css', contentType: 'text/css; charset=utf-8' },
  ]);
  t.equal(files.length, 4);
  t.equal(Buffer.from(files[0]?.body ?? []).toString(), 'run();');
  t.equal(new Set(files.map(({ digest }) => digest)).size, 4);
});

t.test('a page that was not built has no files', async (t) => {
  t.strictSame(await readPageFiles('/no/such/directory'), []);
});
