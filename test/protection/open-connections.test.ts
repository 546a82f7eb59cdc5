import t from 'tap';
import { OpenConnections } from '../../src/protection/open-connections.js';
import type { ProtectionRequest, QuoteProtections } from '../../src/protection/quote-protection.js';
import { afterMicrotasks } from '../../src/system/timers.js';
import { MAKER } from '../engine/samples.js';
import { authorized, KEY } from './protection-fixture.js';

const SECOND_MS = 1_000;

/** Connections of one key and provider, whose quotes the engine has withdrawn when their timer runs out. */
async function connections() {
  const on = await authorized();
  const faults: unknown[] = [];
  let fault: Error | null = null;
  const asked: ProtectionRequest[] = [];
  const protections: QuoteProtections = {
    ask(request) {
      asked.push(request);
      return fault === null ? on.ask(request) : Promise.reject(fault);
    },
  };
  const open = new OpenConnections(protections, on.clock, (error) => faults.push(error));
  t.teardown(() => open.stop());
  on.post(1);
  return {
    ...on,
    asked,
    faults,
    follow: (seconds: number, isGone = () => false) => open.follow(KEY, MAKER, seconds, isGone),
    failWith: (error: Error | null) => (fault = error),
    /** Second by second, so that each renewal has its answer before the next falls due. */
    pass: async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        await on.advance(SECOND_MS);
        await afterMicrotasks();
      }
    },
  };
}

t.test('a connection that is open keeps its quotes, and one that is closed loses them', async (t) => {
  let isClosed = false;
  const { follow, pass, shown } = await connections();
  await follow(60, () => isClosed);
  await pass(200);
  t.equal(shown().length, 1);
  isClosed = true;
  await pass(80);
  t.strictSame(shown(), []);
});

t.test('a shorter time withdraws no quotes of a connection that is open', async (t) => {
  const { follow, pass, shown } = await connections();
  await follow(60);
  await follow(5);
  await pass(60);
  t.equal(shown().length, 1);
});

t.test('a connection that asks again is renewed no more often than another', async (t) => {
  const { follow, pass, asked } = await connections();
  for (let times = 0; times < 5; times += 1) await follow(30);
  asked.length = 0;
  await pass(30);
  t.equal(asked.length, 3);
});

t.test('a renewal that fails is tried again', async (t) => {
  const { follow, pass, shown, faults, failWith } = await connections();
  await follow(30);
  const fault = new Error('the leader says no');
  failWith(fault);
  await pass(15);
  t.strictSame(faults, [fault]);
  failWith(null);
  await pass(60);
  t.equal(shown().length, 1);
});
