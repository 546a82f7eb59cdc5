import t from 'tap';
import { StoppableClock } from '../../src/system/stoppable-clock.js';
import { Deadline } from '../../src/system/timers.js';
import { ManualClock } from './manual-clock.js';

const never = new Promise<never>(() => undefined);

function begun() {
  const clock = new ManualClock();
  return { clock, waits: new StoppableClock(clock) };
}

t.test('until it is stopped a stoppable clock follows the clock behind it', (t) => {
  const { clock, waits } = begun();
  const done: string[] = [];
  waits.after(10, () => done.push('first'));
  waits.after(10, () => done.push('cancelled'))();
  clock.advance(9);
  t.strictSame(done, []);
  clock.advance(1);
  t.strictSame(done, ['first']);
  t.strictSame([waits.monotonicMs(), waits.wallMs()], [clock.monotonicMs(), clock.wallMs()]);
  waits.endWaits();
  t.strictSame(done, ['first'], 'and nothing is done twice');
  t.end();
});

t.test('stopped, it ends all waits at once', async (t) => {
  const { clock, waits } = begun();
  const ended = [10, 1000].map((ms) => new Deadline(waits, ms).wait(never));
  waits.endWaits();
  t.strictSame(await Promise.all(ended), ['TOO_LONG', 'TOO_LONG']);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('stopped, it ends a new wait at once, unless the result is there already', async (t) => {
  const { clock, waits } = begun();
  waits.endWaits();
  t.equal(await new Deadline(waits, 1000).wait(Promise.resolve('it')), 'it');
  const waited = new Deadline(waits, 1000).wait(never);
  clock.advance(0);
  t.equal(await waited, 'TOO_LONG');
});
