import { EventEmitter } from 'node:events';
import fs, { openSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import pino from 'pino';
import t from 'tap';
import {
  briefly,
  endAll,
  endpointTroubles,
  openLogger,
  readPageFiles,
  TroubleLog,
  untilSignal,
} from '../../src/app/process.js';
import { RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { limits } from '../../src/config/limits.js';
import { ManualClock } from '../system/manual-clock.js';

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

function listening() {
  const source = new EventEmitter();
  const clock = new ManualClock();
  let ends = 0;
  clock.advance(10_000);
  const stopping = untilSignal({ source, clock, sameSignalMs: 500, endNow: () => (ends += 1) });
  return { clock, stopping, ends: () => ends, signal: (name: string) => source.emit(name, name) };
}

t.test('the first signal stops the service, a later one ends the process', async (t) => {
  const { clock, stopping, ends, signal } = listening();
  signal('SIGTERM');
  t.equal(await stopping, 'SIGTERM');
  clock.advance(500);
  t.equal(ends(), 0);
  signal('SIGINT');
  t.equal(ends(), 1);
});

t.test('a Ctrl-C that npm passes on, too, counts once', async (t) => {
  const { clock, stopping, ends, signal } = listening();
  signal('SIGINT');
  clock.advance(20);
  signal('SIGINT');
  t.equal(await stopping, 'SIGINT');
  t.equal(ends(), 0);
  clock.advance(1_000);
  signal('SIGINT');
  t.equal(ends(), 1, 'the second signal, after the wait, ends the process');
});

t.test("the service takes the place of npm's shell, which would die of the signal and leave it behind", async (t) => {
  const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: { start: string } };
  t.match(scripts.start.split(' && ').at(-1), /^exec node .* serve /);
});

t.test('what began last ends first, each before the next', async (t) => {
  const calls: string[] = [];
  const slow = async (): Promise<void> => {
    calls.push('slow begins');
    await Promise.resolve();
    calls.push('slow ends');
  };
  await endAll([() => void calls.push('first'), slow]);
  t.strictSame(calls, ['slow begins', 'slow ends', 'first']);
});

t.test('a close that fails is reported and does not keep the others from running', async (t) => {
  const calls: string[] = [];
  const failing = (name: string) => (): never => {
    calls.push(name);
    throw new Error(name);
  };
  const ends = [() => void calls.push('log'), () => Promise.reject(new Error('late')), failing('socket')];
  await t.rejects(endAll(ends), { message: 'socket' });
  t.strictSame(calls, ['socket', 'log']);
});

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

const CALM_MS = 60_000;

t.test('the first failure is news, the next are not, until it was well for long enough', (t) => {
  const clock = new ManualClock();
  const troubles = new TroubleLog(clock, CALM_MS);
  t.equal(troubles.succeeded('a'), null);
  t.ok(troubles.failed('a'));
  for (let i = 0; i < 30; i++) {
    clock.advance(1_000);
    t.notOk(troubles.failed('a'));
    t.equal(troubles.succeeded('a'), null, 'one that blinks is not well');
  }
  t.ok(troubles.failed('b'), 'each for itself');
  clock.advance(CALM_MS + 1);
  t.strictSame(troubles.succeeded('a'), { failures: 31, lastedSeconds: 30 });
  t.equal(troubles.succeeded('a'), null);
  t.ok(troubles.failed('a'));
  t.end();
});

t.test('what nobody says is well again is news once more after the same time', (t) => {
  const clock = new ManualClock();
  const troubles = new TroubleLog(clock, CALM_MS);
  troubles.failed('a');
  clock.advance(CALM_MS);
  t.notOk(troubles.failed('a'));
  clock.advance(CALM_MS + 1);
  t.ok(troubles.failed('a'));
  t.end();
});

t.test('an outage of an endpoint is one warning without a stack and one line when it is over', (t) => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const { onError, onAnswer } = endpointTroubles(logger, clock, CALM_MS);
  const url = 'https://node.example/v2/secret';
  for (let i = 0; i < 100; i++) {
    onError(new RpcUnreachable('No answer to eth_call', { cause: new Error('connect ECONNREFUSED') }), url);
    clock.advance(100);
  }
  clock.advance(CALM_MS);
  for (let i = 0; i < 100; i++) onAnswer(url);
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      {
        level: 40,
        msg: 'chain endpoint failed',
        host: 'node.example',
        reason: 'RpcUnreachable: No answer to eth_call: connect ECONNREFUSED',
      },
      { level: 30, msg: 'chain endpoint recovered', host: 'node.example', failures: 100, lastedSeconds: 10 },
    ],
  );
  t.equal(lines.length, 2);
  t.notMatch(lines.join(), /secret|"stack"/);
  t.end();
});

t.test('an error in brief has its cause in it, and no stack', (t) => {
  t.equal(briefly(new TypeError('no')), 'TypeError: no');
  t.equal(briefly(new Error('no', { cause: new Error('why') })), 'Error: no: why');
  t.end();
});
