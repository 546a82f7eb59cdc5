import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { httpErrors, socketCloses, socketErrors } from '../../src/api-docs/errors.js';
import { readDocument } from '../app/read-document.js';
import { isMessageOf } from './message-of.js';

const source = new URL('../../../src/', import.meta.url);

/** The rows of the table below a heading, each as its cells. */
function rowsBelow(text: string, heading: string): string[] {
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const [table = ''] = section.split('\n## ');
  return table.split('\n').filter((line) => /^\| [`0-9]/.test(line));
}

await t.test('docs/reference/errors.md lists every error as it is, and no other', async (t) => {
  const text = readDocument('docs/reference/errors.md');
  const ofHttp = Object.entries(httpErrors).flatMap(([status, errors]) =>
    errors.map(({ message, when }) => `| ${status} | \`${message}\` | ${when} |`),
  );
  t.strictSame(rowsBelow(text, 'HTTP'), ofHttp);
  t.strictSame(
    rowsBelow(text, 'ERROR on a socket'),
    socketErrors.map(({ message, when }) => `| \`${message}\` | ${when} |`),
  );
  t.strictSame(
    rowsBelow(text, 'How sockets are closed'),
    socketCloses.map(({ code, message, when }) => `| ${code} | \`${message}\` | ${when} |`),
  );
});

await t.test('every refusal that is written in the routes is in the table of its status', async (t) => {
  const files = (await readdir(new URL('http/', source))).map((file) => new URL(`http/${file}`, source));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const written = texts.flatMap((text) => [...text.matchAll(/refuse\(request, (\d+), (['"`])(.*?)\2[,)]/g)]);
  t.ok(written.length >= 8, `${written.length} refusals`);
  for (const [, status = '', , message = ''] of written) {
    const filled = message.replaceAll(/\$\{.*?\}/g, 'something');
    t.ok(
      httpErrors[Number(status)]?.some((error) => isMessageOf(error, filled)),
      `${status} ${message}`,
    );
  }
});

await t.test('every reason that sockets are closed with is in the table', async (t) => {
  const files = ['ws/gateway.ts', 'ws/feed-reader.ts', 'ws/catch-up.ts', 'net/uws/sockets.ts', 'net/node/sockets.ts'];
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, source), 'utf8')));
  const written = texts.flatMap((text) => [...text.matchAll(/\.close\([\w.]+, (['"`])(.*?)\1\)/g)]);
  t.ok(written.length >= 8, `${written.length} reasons`);
  for (const [, , reason = ''] of written) {
    const filled = reason.replaceAll(/\$\{.*?\}/g, '1');
    t.ok(
      socketCloses.some((close) => isMessageOf(close, filled)),
      reason,
    );
  }
});
