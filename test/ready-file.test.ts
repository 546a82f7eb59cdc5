import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { writeReadyFile } from '../src/ready-file.js';

t.test('a ready file says where the service is, in one piece, to nobody but its owner', async (t) => {
  const directory = t.testdir({ 'ready.json': 'of an earlier run' });
  const file = path.join(directory, 'ready.json');
  for (const [host, authority] of [
    ['127.0.0.1', '127.0.0.1:8080'],
    ['::1', '[::1]:8080'],
  ] as const) {
    const ready = await writeReadyFile(file, host, 8080, null);
    t.strictSame(ready, { httpUrl: `http://${authority}`, wsUrl: `ws://${authority}` });
    t.strictSame(JSON.parse(await readFile(file, 'utf8')), ready);
  }
  // On the local chain it holds keys.
  t.equal((await stat(file)).mode & 0o777, 0o600);
  t.strictSame(await readdir(directory), ['ready.json']);
});
