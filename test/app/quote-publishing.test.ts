import t from 'tap';
import { AskersClock } from '../../src/app/quote-publishing.js';
import { Deadline } from '../../src/system/timers.js';
import { ManualClock } from '../system/manual-clock.js';

const never = new Promise<never>(() => undefined);

function begun() {
  const clock = new ManualClock();
  return { clock, askers: new AskersClock(clock) };
}

t.test('until the service stops it is the clock that it is made of', (t) => {
  const { clock, askers } = begun();
  const done: string[] = [];
  askers.after(10, () => done.push('first'));
  askers.after(10, () => done.push('cancelled'))();
  clock.advance(9);
  t.strictSame(done, []);
  clock.advance(1);
  t.strictSame(done, ['first']);
  t.strictSame([askers.monotonicMs(), askers.wallMs()], [clock.monotonicMs(), clock.wallMs()]);
  askers.timeIsUp();
  t.strictSame(done, ['first'], 'and nothing is done twice');
  t.end();
});

t.test('then all who wait hear at once that it took too long', async (t) => {
  const { clock, askers } = begun();
  const waits = [10, 1000].map((ms) => new Deadline(askers, ms).wait(never));
  askers.timeIsUp();
  t.strictSame(await Promise.all(waits), ['TOO_LONG', 'TOO_LONG']);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('and so does who begins to wait after that, but for what is there already', async (t) => {
  const { clock, askers } = begun();
  askers.timeIsUp();
  t.equal(await new Deadline(askers, 1000).wait(Promise.resolve('it')), 'it');
  const waited = new Deadline(askers, 1000).wait(never);
  clock.advance(0);
  t.equal(await waited, 'TOO_LONG');
});
