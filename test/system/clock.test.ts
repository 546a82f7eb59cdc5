import t from 'tap';
import { systemClock } from '../../src/system/clock.js';

t.test('a task never runs before its time', async (t) => {
  const start = systemClock.monotonicMs();
  const early = await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      const delayMs = index / 7;
      return new Promise<boolean>((resolve) => {
        systemClock.after(delayMs, () => resolve(systemClock.monotonicMs() - start < delayMs));
      });
    }),
  );
  t.notOk(early.includes(true));
});

t.test('a cancelled task does not run, a delay beyond what Node takes does not run at once', async (t) => {
  const ran: string[] = [];
  const cancelShort = systemClock.after(1, () => ran.push('cancelled'));
  const cancelLong = systemClock.after(2 ** 40, () => ran.push('far'));
  cancelShort();
  await new Promise<void>((resolve) => {
    systemClock.after(5, resolve);
  });
  cancelLong();
  t.strictSame(ran, []);
});
