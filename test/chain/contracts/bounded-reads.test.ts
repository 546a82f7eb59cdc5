import t from 'tap';
import { BoundedReads, type ClientReads } from '../../../src/chain/contracts/bounded-reads.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { ManualClock } from '../../system/manual-clock.js';

const bounds = { callsPerBatch: 2, batchesInFlight: 2, places: 3, waitMs: 1_000 };

/** Lets every promise that can settle do so. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Reads over a reader that answers when the test says so: each call by its own data. */
function world() {
  const clock = new ManualClock();
  /** Reads under way, in the order in which they began. */
  const begun: { readonly what: string; readonly answer: () => void; readonly fail: (error: Error) => void }[] = [];
  const read = <T>(what: string, value: T): Promise<T> =>
    new Promise((resolve, reject) => begun.push({ what, answer: () => resolve(value), fail: reject }));
  const reader: ClientReads = {
    call: ({ data }) => read(data, { reverted: false, data }),
    multicall: (calls) =>
      read(
        calls.map(({ data }) => data).join(),
        calls.map(({ data }) => ({ reverted: false, data })),
      ),
    nativeBalance: (account) => read(account, 7n),
  };
  const reads = new BoundedReads(reader, bounds, clock);
  const ask = (...data: Hex[]) => reads.multicall(data.map((each) => ({ to: '0xaa', data: each })));
  return { clock, begun, reads, ask };
}

t.test('one multicall has so many batches under way, and its answers in the order of the calls', async (t) => {
  const { begun, ask } = world();
  const answers = ask('0x1', '0x2', '0x3', '0x4', '0x5');
  await settled();
  t.strictSame(
    begun.map(({ what }) => what),
    ['0x1,0x2', '0x3,0x4'],
  );
  begun[1]?.answer();
  await settled();
  begun[2]?.answer();
  begun[0]?.answer();
  t.strictSame(
    (await answers).map(({ data }) => data),
    ['0x1', '0x2', '0x3', '0x4', '0x5'],
  );
});

t.test('all reads together have so many places; the others follow in the order in which they came', async (t) => {
  const { clock, begun, reads, ask } = world();
  const all = Promise.all([
    ask('0x1', '0x2', '0x3', '0x4', '0x5'),
    reads.call({ to: '0xaa', data: '0x6' }),
    reads.nativeBalance('0x7'),
    ask('0x8'),
  ]);
  await settled();
  const begunBy = async (count: number): Promise<string[]> => {
    begun[count]?.answer();
    await settled();
    return begun.slice(bounds.places).map(({ what }) => what);
  };
  t.equal(begun.length, bounds.places);
  t.strictSame(await begunBy(0), ['0x7']);
  t.strictSame(await begunBy(1), ['0x7', '0x8']);
  t.strictSame(await begunBy(2), ['0x7', '0x8', '0x5'], 'the rest of the first multicall comes after them');
  for (const { answer } of begun) answer();
  t.match(await all, [{ length: 5 }, { data: '0x6' }, 7n, [{ data: '0x8' }]]);
  t.equal(clock.pending, 0, 'nothing is left of the waits');
});

t.test('a read that waits too long fails as if the chain did not answer, and takes no place', async (t) => {
  const { clock, begun, reads, ask } = world();
  const held = ['0x1', '0x2', '0x3'].map((data) => ask(data as Hex));
  const late = reads.nativeBalance('0x4');
  await settled();
  clock.advance(bounds.waitMs);
  await t.rejects(late, RpcUnreachable);
  const next = reads.nativeBalance('0x5');
  begun[0]?.answer();
  await settled();
  t.strictSame(
    begun.map(({ what }) => what),
    ['0x1', '0x2', '0x3', '0x5'],
  );
  for (const { answer } of begun) answer();
  t.equal(await next, 7n);
  await Promise.all(held);
});

t.test('after a batch that failed no other one of its multicall begins, and its place is free', async (t) => {
  const { begun, reads, ask } = world();
  const failing = ask('0x1', '0x2', '0x3', '0x4', '0x5', '0x6');
  await settled();
  const refusal = new RpcError(-32005, 'not now', null);
  begun[0]?.fail(refusal);
  await t.rejects(failing, refusal);
  begun[1]?.answer();
  await settled();
  t.equal(begun.length, 2);
  const others = ['0x7', '0x8', '0x9'].map((account) => reads.nativeBalance(account as Hex));
  await settled();
  t.equal(begun.length, 5);
  for (const { answer } of begun) answer();
  await Promise.all(others);
});
