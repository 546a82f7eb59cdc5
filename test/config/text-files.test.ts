import t from 'tap';
import { explainFileError, whyUnreadable } from '../../src/config/text-files.js';

const dataDir = '/srv/quotebook';
const readyFile = '/run/quotebook/ready.json';

const failure = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: mkdir`), { code, ...(path === undefined ? {} : { path }) });

const explained = (code: string, path: string): string => {
  const error = explainFileError(failure(code, path), { dataDir, readyFile });
  return error instanceof Error ? error.message : String(error);
};

t.test('each error about the data directory names the setting, the place, the code and a remedy', async (t) => {
  for (const [code, remedy] of [
    ['EEXIST', 'Move that away'],
    ['ENOTDIR', 'Correct the path'],
    ['ENOENT', 'Create the parent directory'],
    ['EACCES', 'Give this user the permission'],
    ['EPERM', 'Give this user the permission'],
    ['EROFS', 'Mount it writable'],
  ] as const) {
    for (const path of [dataDir, '/srv']) {
      const message = explained(code, path);
      t.ok(message.startsWith(`dataDir is ${dataDir}: ${path} cannot be used, since `), message);
      t.match(message, `(${code}). ${remedy}`);
      t.match(message, /--data-dir \(QUOTEBOOK_DATA_DIR\)/);
    }
  }
  t.match(explained('EACCES', `${dataDir}/arbitrum/lock`), `${dataDir}/arbitrum/lock cannot be used`);
  t.match(explained('EROFS', `${readyFile}.new`), /^readyFile is .* Mount it writable, or set --ready-file/);
});

t.test('an error about something else stays as it is', async (t) => {
  for (const error of [
    failure('EACCES', '/etc/quotebook.key'),
    failure('EACCES', `${dataDir}-2/lock`),
    failure('ENOENT', `${dataDir}/arbitrum/segment-1.log`),
    failure('EIO', dataDir),
    failure('EACCES'),
    'no error',
    null,
  ]) {
    t.equal(explainFileError(error, { dataDir, readyFile }), error);
  }
  const ready = failure('EROFS', readyFile);
  t.equal(explainFileError(ready, { dataDir, readyFile: null }), ready);
});

t.test('a file that may not be read is said so in words, with the code', async (t) => {
  t.equal(whyUnreadable(failure('EACCES')), 'EACCES: this user has no permission to read it');
  t.equal(whyUnreadable(failure('ENOENT')), 'there is no such file');
  t.equal(whyUnreadable(failure('EISDIR')), 'EISDIR');
});
