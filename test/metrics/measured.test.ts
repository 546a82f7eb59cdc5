import t from 'tap';
import type { Journal, JournalRecord, Rpc } from '../../src/engine/ports.js';
import { measuredJournal, measuredRpc, measuredSockets } from '../../src/metrics/measured.js';
import { Metrics } from '../../src/metrics/metrics.js';
import type { NetRequestHead, NetSocket, SocketHandlers } from '../../src/net/net.js';
import { ManualClock } from '../system/manual-clock.js';

/** The samples whose name begins so, by the rest of it. */
async function samples(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith(name));
  return Object.fromEntries(
    lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

t.test('a commit is timed from the first record of its group, and all its records count', async (t) => {
  const metrics = new Metrics();
  const clock = new ManualClock();
  const called: string[] = [];
  let commit: (index: number) => void = () => undefined;
  const journal: Journal = {
    append: ({ stamp }) => called.push(`append ${stamp.index}`),
    refusal: () => 'BUSY',
    onCommit: (listener) => (commit = listener),
    flush: async () => void called.push('flush'),
    close: async () => void called.push('close'),
  };
  const measured = measuredJournal(journal, clock, metrics);
  const append = (index: number): void => measured.append({ stamp: { index, tsMs: 0 } } as JournalRecord);
  const seen = async (): Promise<unknown> => [
    await samples(metrics, 'quotebook_commit_seconds_sum'),
    await samples(metrics, 'quotebook_commit_seconds_count'),
    await samples(metrics, 'quotebook_committed_records_total'),
  ];
  append(1);
  clock.advance(100);
  append(2);
  clock.advance(100);
  append(3);
  commit(2);
  t.strictSame(await seen(), [{ '': 0.2 }, { '': 1 }, { '': 2 }]);
  commit(2);
  t.strictSame(await seen(), [{ '': 0.2 }, { '': 1 }, { '': 2 }], 'a group without records is no commit of any');
  clock.advance(300);
  commit(3);
  t.strictSame(await seen(), [{ '': 0.5 }, { '': 2 }, { '': 3 }]);
  commit(4);
  t.strictSame(await seen(), [{ '': 0.5 }, { '': 2 }, { '': 3 }]);
  t.equal(measured.refusal(), 'BUSY');
  measured.onCommit((index) => called.push(`commit ${index}`));
  commit(5);
  await measured.flush();
  await measured.close();
  t.strictSame(called, ['append 1', 'append 2', 'append 3', 'commit 5', 'flush', 'close']);
});

t.test('requests of a chain count by what came of them, and come through as they are', async (t) => {
  const metrics = new Metrics();
  let preferred = 0;
  const rpc: Rpc = {
    request: ({ method }) => (method === 'eth_call' ? Promise.reject(new Error('reverted')) : Promise.resolve(method)),
    preferAnother: () => void (preferred += 1),
    turn: 5,
  };
  const measured = measuredRpc(rpc, 'stream', metrics);
  t.equal(await measured.request({ method: 'eth_chainId' }), 'eth_chainId');
  await t.rejects(measured.request({ method: 'eth_call' }), { message: 'reverted' });
  await t.rejects(measured.request({ method: 'eth_call' }), { message: 'reverted' });
  measured.preferAnother?.();
  t.strictSame([measured.turn, preferred], [5, 1]);
  t.strictSame(await samples(metrics, 'quotebook_rpc_requests_total'), {
    '{chain="stream",outcome="answered"}': 1,
    '{chain="stream",outcome="failed"}': 2,
  });
  const one = measuredRpc({ request: () => Promise.resolve(null) }, 'settlement', metrics);
  one.preferAnother?.();
  t.equal(one.turn, 0);
});

t.test('sockets, their messages, ends and refusals count, and each is still handled', async (t) => {
  const metrics = new Metrics();
  const called: string[] = [];
  let decision: ReturnType<SocketHandlers['upgrade']> = { accept: true, protocol: '' };
  const handlers = {
    upgrade: () => decision,
    open: () => called.push('open'),
    message: (_: NetSocket, data: Uint8Array, isBinary: boolean) =>
      called.push(`${Buffer.from(data).toString()} ${isBinary}`),
    close: (_: NetSocket, code: number) => called.push(`close ${code}`),
  };
  const socket = {} as NetSocket;
  const request = {} as NetRequestHead;
  const measured = measuredSockets(handlers, metrics);
  t.equal(measured.upgrade(request), decision);
  decision = { status: 503, headers: {}, body: '' };
  t.equal(measured.upgrade(request), decision);
  const codes = [999, 1000, 1015, 1016];
  for (let count = 0; count <= codes.length; count++) measured.open(socket);
  measured.message(socket, Buffer.from('hi'), true);
  for (const code of codes) measured.close(socket, code);
  t.strictSame(called.slice(5), ['hi true', ...codes.map((code) => `close ${code}`)]);
  t.strictSame(await samples(metrics, 'quotebook_sockets'), { '': 1 });
  t.strictSame(await samples(metrics, 'quotebook_socket_'), {
    messages_total: 1,
    'refusals_total{status="503"}': 1,
    'closes_total{code="other"}': 2,
    'closes_total{code="1000"}': 1,
    'closes_total{code="1015"}': 1,
  });
  t.equal(measured.overBudgetReason?.(socket), 'Too slow');
  const named = measuredSockets({ ...handlers, overBudgetReason: () => 'since 7' }, metrics);
  t.equal(named.overBudgetReason?.(socket), 'since 7');
});
