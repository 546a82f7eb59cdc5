import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { endAll, untilSignal } from '../../src/app/shutdown.js';
import { ManualClock } from '../system/manual-clock.js';

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
