import fs, { openSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import t from 'tap';
import { openLogger } from '../../src/app/text-log.js';
import { limits } from '../../src/config/limits.js';

/** What is written to this descriptor finds no room, until the returned task is run. */
function fillVolume(descriptor: number): () => void {
  const { writeSync } = fs;
  const patched = (...given: Parameters<typeof writeSync>): number => {
    if (given[0] === descriptor) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    return writeSync(...given);
  };
  Object.assign(fs, { writeSync: patched });
  syncBuiltinESMExports();
  return () => {
    Object.assign(fs, { writeSync });
    syncBuiltinESMExports();
  };
}

for (const format of ['json', 'pretty'] as const) {
  t.test(
    `a volume without room for the text log stops nothing, and gets the lines once it has some: ${format}`,
    (t) => {
      const file = join(t.testdir(), 'text.log');
      const descriptor = openSync(file, 'a');
      const logger = openLogger('info', format, descriptor);
      const told = (): (string | undefined)[] =>
        [...readFileSync(file, 'utf8').matchAll(/line \d/g)].map(([line]) => line);
      logger.info('line 1');
      t.strictSame(told(), ['line 1'], 'a line is written by the one that tells it');
      const makeRoom = fillVolume(descriptor);
      t.teardown(makeRoom);
      logger.info('line 2');
      logger.warn('line 3');
      makeRoom();
      logger.info('line 4');
      t.strictSame(told(), ['line 1', 'line 2', 'line 3', 'line 4']);
      t.end();
    },
  );
}

t.test('no more lines wait for room than are bounded', (t) => {
  const file = join(t.testdir(), 'text.log');
  const descriptor = openSync(file, 'a');
  const logger = openLogger('info', 'json', descriptor);
  const makeRoom = fillVolume(descriptor);
  t.teardown(makeRoom);
  const text = 'x'.repeat(10_000);
  for (let bytes = 0; bytes < 3 * limits.textLogWaitingBytes; bytes += text.length) logger.info(text);
  makeRoom();
  logger.info('there is room');
  const { length } = readFileSync(file);
  t.ok(length > limits.textLogWaitingBytes / 2 && length <= limits.textLogWaitingBytes, `${length} bytes waited`);
  logger.info('the last');
  t.match(readFileSync(file, 'utf8'), /"the last"\}\n$/, 'and all is as before');
  t.end();
});
