import t from 'tap';
import { UnknownKeyGuard } from '../../src/quota/unknown-key-guard.js';
import { ManualClock } from '../system/manual-clock.js';

const limits = { unknownKeysPerMinute: 10, unknownKeyBanMs: 900_000, unknownKeyAddresses: 3 };

function strikes(guard: UnknownKeyGuard, address: string, count: number): number[] {
  return Array.from({ length: count }, () => guard.strike(address));
}

t.test('ten unknown keys a minute are looked at, and after one more none for fifteen minutes', async (t) => {
  const clock = new ManualClock();
  const guard = new UnknownKeyGuard(limits, clock);
  t.strictSame(strikes(guard, '192.0.2.1', 11), [...Array<number>(10).fill(0), 900_000]);
  clock.advance(899_000);
  t.equal(guard.strike('192.0.2.1'), 1000);
  clock.advance(1000);
  t.equal(guard.strike('192.0.2.1'), 0);
});

t.test('addresses are counted apart', async (t) => {
  const guard = new UnknownKeyGuard(limits, new ManualClock());
  strikes(guard, '192.0.2.1', 20);
  t.equal(guard.strike('192.0.2.2'), 0);
});

t.test('as many addresses are remembered as the limit says, the noisiest among them', async (t) => {
  const guard = new UnknownKeyGuard(limits, new ManualClock());
  strikes(guard, '192.0.2.1', 11);
  for (const last of [2, 3, 4, 5]) {
    t.ok(guard.strike('192.0.2.1') > 0, 'still refused');
    guard.strike(`192.0.2.${last}`);
  }
});

t.test('addresses that were quiet for longest are forgotten, and not before so many others came', async (t) => {
  const guard = new UnknownKeyGuard(limits, new ManualClock());
  strikes(guard, '192.0.2.1', 11);
  for (const last of [2, 3, 1]) guard.strike(`192.0.2.${last}`);
  t.ok(guard.strike('192.0.2.1') > 0, 'there is room for three');
  for (const last of [4, 5, 6, 7, 8, 9]) guard.strike(`192.0.2.${last}`);
  t.equal(guard.strike('192.0.2.1'), 0, 'twice as many others came after it');
});

t.test('an IPv6 network is one guesser', async (t) => {
  const guard = new UnknownKeyGuard(limits, new ManualClock());
  for (let n = 1; n <= 11; n++) guard.strike(`2001:db8::${n}`);
  t.ok(guard.strike('2001:db8::ffff:1') > 0);
  t.equal(guard.strike('2001:db8:0:1::1'), 0, 'the next network is another');
});
