import t from 'tap';
import { RpcError } from '../../src/chain/rpc/rpc-errors.js';
import { Deadline } from '../../src/system/timers.js';
import { atOnce, Turns, type TurnResult } from '../../src/trading/turns.js';
import { settled } from '../chain/options/patient-operator.js';
import { ManualClock } from '../system/manual-clock.js';

interface Task {
  readonly name: string;
  answer(): void;
  end(): void;
}

function opened(mostWaiting = 10) {
  const clock = new ManualClock();
  const turns = new Turns(mostWaiting);
  const begun: Task[] = [];
  const run = (name: string, ...keys: string[]): Promise<string> =>
    turns.run(
      keys,
      new Deadline(clock, 1000),
      () =>
        new Promise<TurnResult<string>>((resolve) => {
          let end: () => void = () => undefined;
          const ended = new Promise<void>((done) => (end = done));
          begun.push({ name, answer: () => resolve({ answer: name, end: ended }), end });
        }),
    );
  const names = (): string[] => begun.map(({ name }) => name);
  return { clock, turns, begun, run, names };
}

t.test('tasks with a key in common run one after the other, each after the end of the one before', async (t) => {
  const { begun, run, names } = opened();
  const first = run('first', 'a', 'b');
  const second = run('second', 'b');
  const other = run('other', 'c');
  await settled();
  t.strictSame(names(), ['first', 'other']);
  begun[0]?.answer();
  t.equal(await first, 'first');
  await settled();
  t.strictSame(names(), ['first', 'other'], 'answered, and its transaction is still pending');
  begun[0]?.end();
  await settled();
  t.strictSame(names(), ['first', 'other', 'second']);
  for (const task of begun) task.answer();
  t.strictSame(await Promise.all([second, other]), ['second', 'other']);
});

t.test('a task whose deadline passes is not run, and those behind it still wait for the first', async (t) => {
  const { clock, begun, run, names } = opened();
  void run('first', 'a');
  const late = run('late', 'a');
  await settled();
  clock.advance(1000);
  t.equal(await late, 'TOO_LONG');
  const last = run('last', 'a');
  await settled();
  t.strictSame(names(), ['first']);
  begun[0]?.answer();
  begun[0]?.end();
  await settled();
  t.strictSame(names(), ['first', 'last']);
  begun[1]?.answer();
  t.equal(await last, 'last');
});

t.test('more tasks than may wait are refused at once', async (t) => {
  const { run, names } = opened(1);
  void run('first', 'a');
  void run('second', 'a');
  t.equal(await run('third', 'a'), 'TOO_LONG');
  t.strictSame(names(), ['first']);
});

t.test('a task that throws lets the next one run', async (t) => {
  const { clock, turns, run, names } = opened();
  await t.rejects(
    turns.run(['a'], new Deadline(clock, 1000), () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  void run('next', 'a');
  await settled();
  t.strictSame(names(), ['next']);
});

t.test('a failure of the chain is an answer, any other one is thrown', async (t) => {
  const { clock, turns } = opened();
  const failing = (error: Error) =>
    turns.runOnChain(['a'], new Deadline(clock, 1000), () => Promise.reject<TurnResult<string>>(error));
  t.strictSame(await failing(new RpcError(-32000, 'no', null)), { type: 'CHAIN_UNREACHABLE' });
  await t.rejects(failing(new Error('a bug')), { message: 'a bug' });
  const answered = turns.runOnChain(['a'], new Deadline(clock, 1000), () => Promise.resolve(atOnce('done')));
  t.equal(await answered, 'done', 'each let the next one run');
});
