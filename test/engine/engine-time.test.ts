import t from 'tap';
import { EngineTime } from '../../src/engine/engine-time.js';
import { ManualClock } from '../system/manual-clock.js';

t.test('time stands where the log ended until a block is read', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 1_500);
  clock.advance(10_000);
  t.equal(time.nowMs(), 1_500);
});

t.test('time is that of the newest block and what has passed since it was read', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  t.equal(time.nowMs(), 100_000);
  clock.advance(1_250);
  t.equal(time.nowMs(), 101_250);
  time.observe(102);
  t.equal(time.nowMs(), 102_000);
});

t.test('time waits when a block is behind it, and never goes back', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(5_000);
  time.observe(102);
  t.equal(time.nowMs(), 105_000);
  clock.advance(2_999);
  t.equal(time.nowMs(), 105_000);
  clock.advance(2);
  t.equal(time.nowMs(), 105_001);
});

t.test('what has passed counts up to the reading, also when nobody asked in between', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(5_000);
  time.observe(90);
  t.equal(time.nowMs(), 105_000);
});

t.test('a log that ended later than the chain is waited for', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 200_000);
  time.observe(100);
  t.equal(time.nowMs(), 200_000);
  time.observe(201);
  t.equal(time.nowMs(), 201_000);
});

t.test('stamps are whole milliseconds', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(0.75);
  t.equal(time.nowMs(), 100_000);
  clock.advance(0.5);
  t.equal(time.nowMs(), 100_001);
});

t.test('listeners hear of every reading', async (t) => {
  const time = new EngineTime(new ManualClock(), 0);
  const heard: number[] = [];
  time.onObserve(() => heard.push(time.nowMs()));
  time.observe(100);
  time.observe(101);
  t.same(heard, [100_000, 101_000]);
});
