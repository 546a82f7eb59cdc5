import t from 'tap';
import { Patience } from '../../src/chain/patience.js';
import { ManualClock } from '../system/manual-clock.js';

const never = new Promise<never>(() => undefined);

t.test('what comes in time is what is waited for', async (t) => {
  const clock = new ManualClock();
  t.equal(await new Patience(clock, 10).wait(Promise.resolve('it')), 'it');
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('what fails in time fails', async (t) => {
  const clock = new ManualClock();
  await t.rejects(new Patience(clock, 10).wait(Promise.reject(new Error('it'))), { message: 'it' });
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('what takes longer is not waited for', async (t) => {
  const clock = new ManualClock();
  const waited = new Patience(clock, 10).wait(never);
  clock.advance(10);
  t.equal(await waited, 'TOO_LONG');
});

t.test('all that one asker waits for takes no longer than its patience', async (t) => {
  const clock = new ManualClock();
  const patience = new Patience(clock, 10);
  clock.advance(6);
  t.equal(await patience.wait(Promise.resolve('first')), 'first');
  const second = patience.wait(never);
  clock.advance(4);
  t.equal(await second, 'TOO_LONG');
  const third = patience.wait(never);
  clock.advance(0);
  t.equal(await third, 'TOO_LONG');
});
