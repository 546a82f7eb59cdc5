import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { untilSignal } from '../src/until-signal.js';
import { ManualClock } from './system/manual-clock.js';

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
  t.equal(ends(), 1, 'whoever has waited and asks again is obeyed');
});

t.test("the service takes the place of npm's shell, which would die of the signal and leave it behind", async (t) => {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: { start: string } };
  t.match(scripts.start.split(' && ').at(-1), /^exec node .* serve /);
});
