import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { httpErrors, socketCloses, socketErrors } from '../../src/api-docs/errors.js';
import { answersOf } from '../../src/api-docs/openapi.js';
import { documentedRoutes } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';
import { ERROR_CODE_NAMES, ERROR_CODES } from '../../src/wire/error-codes.js';
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
  t.strictSame(
    rowsBelow(text, 'Codes'),
    ERROR_CODE_NAMES.map((code) => {
      const { status, retryable, title, remedy } = ERROR_CODES[code];
      return `| \`${code}\` | ${status ?? 'socket'} | ${retryable ? 'yes' : 'no'} | ${title} | ${remedy} |`;
    }),
  );
  const ofHttp = Object.entries(httpErrors).flatMap(([status, errors]) =>
    errors.map(({ message, code, when }) => `| ${status} | \`${message}\` | \`${code}\` | ${when} |`),
  );
  t.strictSame(rowsBelow(text, 'HTTP'), ofHttp);
  t.strictSame(
    rowsBelow(text, 'ERROR on a socket'),
    socketErrors.map(({ message, code, when }) => `| \`${message}\` | \`${code}\` | ${when} |`),
  );
  t.strictSame(
    rowsBelow(text, 'How sockets are closed'),
    socketCloses.map(({ code, message, when }) => `| ${code} | \`${message}\` | ${when} |`),
  );
});

await t.test('codes are lower-case words, each with a text that has it and the status of its texts', async (t) => {
  const texts = [...Object.values(httpErrors).flat(), ...socketErrors];
  for (const code of ERROR_CODE_NAMES) {
    t.match(code, /^[a-z]+(_[a-z]+)*$/);
    // Its texts are those of JSON Schema.
    const isSchemaError = code === 'malformed_body';
    t.ok(isSchemaError || texts.some((error) => error.code === code), `src/api-docs/errors.ts has no text of ${code}`);
  }
  for (const [status, errors] of Object.entries(httpErrors)) {
    for (const { message, code } of errors) t.equal(ERROR_CODES[code].status, Number(status), `${code}: ${message}`);
  }
});

await t.test('a text has one code, on whatever wire it comes', async (t) => {
  const codes = new Map<string, string>();
  for (const { message, code } of [...Object.values(httpErrors).flat(), ...socketErrors]) {
    t.equal(code, codes.get(message) ?? code, message);
    codes.set(message, code);
  }
});

/** `refuse(request, 'code', 'text')` and its like; a cause that is no text is a constant with a code. */
const WRITTEN = /(?:\b(?:refuse|unavailable)\(\s*request,|\brefusal\()\s*(?:'(\w+)'|\w+),\s*(['"`])(.*?)\2\s*[,)]/g;

await t.test('every refusal that is written in the sources is in the table, with its code', async (t) => {
  const folders = ['http/', 'app/', 'net/', 'ws/'];
  const files = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(new URL(folder, source));
      return names.filter((name) => name.endsWith('.ts')).map((name) => new URL(`${folder}${name}`, source));
    }),
  );
  const texts = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')));
  const written = texts.flatMap((text) => [...text.matchAll(WRITTEN)]);
  t.ok(written.length >= 30, `${written.length} refusals`);
  const known = Object.values(httpErrors).flat();
  for (const [, code, , message = ''] of written) {
    const filled = message.replaceAll(/\$\{.*?\}/g, 'something');
    const rows = known.filter((error) => isMessageOf(error, filled));
    t.ok(rows.length > 0, `"${message}" has no row in src/api-docs/errors.ts`);
    if (code !== undefined)
      t.ok(
        rows.some((row) => row.code === code),
        `"${message}" has not the code ${code} there`,
      );
  }
});

await t.test('every refusal that is written in the sources of sockets is in their table, with its code', async (t) => {
  const names = (await readdir(new URL('ws/', source))).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(new URL(`ws/${name}`, source), 'utf8')));
  const written = texts.flatMap((text) => [
    ...text.matchAll(/(?:code: '(\w+)',\s*message:|\brefused\('(\w+)',)\s*(['"`])(.*?)\3/g),
  ]);
  t.ok(written.length >= 10, `${written.length} refusals`);
  for (const [, code, refused, , message = ''] of written) {
    const filled = message.replaceAll(/\$\{.*?\}/g, '1');
    const row = socketErrors.find((error) => error.code === (code ?? refused) && isMessageOf(error, filled));
    t.ok(row !== undefined, `"${message}" has no row with ${code ?? refused}`);
  }
});

await t.test('every error that a route is documented to answer with lists its codes', async (t) => {
  for (const route of documentedRoutes(limits, { symbols: ['WETH'], vaultBases: ['WETH'] })) {
    for (const [status, answer] of Object.entries(answersOf(route))) {
      const at = `${route.method} ${route.path} ${status}`;
      // What GET /ready answers with is no error but what was asked for.
      if (Number(status) < 400 || (route.path === '/ready' && status === '503')) continue;
      t.ok((answer.codes ?? []).length > 0, `${at} has no codes: use failure() of src/api-docs/openapi.ts`);
      for (const code of answer.codes ?? []) t.equal(ERROR_CODES[code].status, Number(status), `${at} ${code}`);
    }
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
