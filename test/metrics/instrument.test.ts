import t from 'tap';
import type { Journal, JournalRecord } from '../../src/engine/ports.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { Order } from '../../src/engine/quote.js';
import {
  fillGauges,
  type Gauged,
  measuredCalls,
  measuredJournal,
  measuredRpc,
  measuredSockets,
} from '../../src/metrics/instrument.js';
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

t.test('requests of a chain count by method and what came of them, and come through as they are', async (t) => {
  const metrics = new Metrics();
  let preferred = 0;
  const rpc: Rpc = {
    request: ({ method }) => (method === 'eth_call' ? Promise.reject(new Error('reverted')) : Promise.resolve(method)),
    preferAnother: () => void (preferred += 1),
    switches: 5,
  };
  const measured = measuredRpc(rpc, 'stream', metrics);
  t.equal(await measured.request({ method: 'eth_chainId' }), 'eth_chainId');
  await t.rejects(measured.request({ method: 'eth_call' }), { message: 'reverted' });
  await t.rejects(measured.request({ method: 'eth_call' }), { message: 'reverted' });
  await measured.requestFromAnother?.({ method: 'web3_unheardOf' });
  measured.preferAnother?.();
  t.strictSame([measured.switches, preferred], [5, 1]);
  t.strictSame(await samples(metrics, 'quotebook_rpc_requests_total'), {
    '{chain="stream",method="eth_chainId",outcome="answered"}': 1,
    '{chain="stream",method="eth_call",outcome="failed"}': 2,
    '{chain="stream",method="other",outcome="answered"}': 1,
  });
  const one = measuredRpc({ request: () => Promise.resolve(null) }, 'settlement', metrics);
  one.preferAnother?.();
  t.equal(one.switches, 0);
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

const order = (isBuy: boolean, state: Order['state']): Order => ({ quote: { isBuy }, state }) as Order;
const UNREAD = { head: null, stale: 'no block has been read yet', readBlock: null };
const QUIET: Gauged = {
  seq: 0,
  orders: () => [],
  pools: () => [],
  chain: () => UNREAD,
  wallMs: () => 0,
  isReady: () => false,
};

/** Samples of the service's own metrics, by name and labels. */
async function samplesOf(metrics: Metrics): Promise<Record<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('quotebook_'));
  return Object.fromEntries(
    lines.map((line) => [line.slice('quotebook_'.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

t.test('orders are counted by side, the invalid and the withdrawn ones of both sides apart', async (t) => {
  const orders = [order(true, 'live'), order(false, 'live'), order(false, 'live')];
  const others = [order(true, 'invalid'), order(false, 'invalid'), order(true, 'withdrawn')];
  const metrics = new Metrics();
  const gauged = { ...QUIET, seq: 7, orders: () => [...orders, ...others], pools: () => [1, 2], isReady: () => true };
  fillGauges(metrics, gauged);
  t.match(await samplesOf(metrics), {
    'orders{state="bid"}': 1,
    'orders{state="ask"}': 2,
    'orders{state="invalid"}': 2,
    'orders{state="withdrawn"}': 1,
    pools: 2,
    seq: 7,
    ready: 1,
  });
  fillGauges(metrics, QUIET);
  t.match(await samplesOf(metrics), {
    'orders{state="bid"}': 0,
    'orders{state="ask"}': 0,
    'orders{state="invalid"}': 0,
    ready: 0,
  });
});

t.test('each chain has the age of its head and how far the book is behind it', async (t) => {
  const metrics = new Metrics();
  const chains = {
    settlement: { head: { number: 20, timestamp: 95 }, stale: null, readBlock: 17 },
    // Its clock is ahead of ours, and the book of what its node says just now.
    stream: { head: { number: 30, timestamp: 105 }, stale: 'no answer for 12 s', readBlock: 31 },
  };
  fillGauges(metrics, { ...QUIET, chain: (role) => chains[role], wallMs: () => 100_500 });
  t.match(await samplesOf(metrics), {
    'chain_head_block{chain="settlement"}': 20,
    'chain_head_age_seconds{chain="settlement"}': 5.5,
    'chain_lag_blocks{chain="settlement"}': 3,
    'chain_stale{chain="settlement"}': 0,
    'chain_head_block{chain="stream"}': 30,
    'chain_head_age_seconds{chain="stream"}': 0,
    'chain_lag_blocks{chain="stream"}': 0,
    'chain_stale{chain="stream"}': 1,
  });
});

t.test('nothing is said of a head or of a distance that nobody knows', async (t) => {
  const metrics = new Metrics();
  fillGauges(metrics, {
    ...QUIET,
    chain: (role) => (role === 'stream' ? UNREAD : { ...UNREAD, head: { number: 0, timestamp: 0 } }),
  });
  const known = Object.keys(await samplesOf(metrics)).filter((name) => name.startsWith('chain_'));
  t.strictSame(known, [
    'chain_head_block{chain="settlement"}',
    'chain_head_age_seconds{chain="settlement"}',
    'chain_stale{chain="settlement"}',
    'chain_stale{chain="stream"}',
  ]);
});

t.test('the slowest reader is the open socket with the most bytes that wait', async (t) => {
  const metrics = new Metrics();
  const handlers = measuredSockets(
    {
      upgrade: () => ({ status: 404 }) as never,
      open: () => undefined,
      message: () => undefined,
      close: () => undefined,
    },
    metrics,
  );
  const socket = (bytes: number): NetSocket => ({ bufferedBytes: () => bytes }) as unknown as NetSocket;
  const seen = (): Promise<object> => samples(metrics, 'quotebook_slowest_reader_bytes');
  t.strictSame(await seen(), { '': 0 });
  const sockets = [socket(5), socket(70), socket(6)];
  for (const one of sockets) handlers.open(one);
  t.strictSame(await seen(), { '': 70 });
  handlers.close(sockets[1] ?? socket(0), 1000);
  t.strictSame(await seen(), { '': 6 });
});

t.test('calls over sockets are timed, by their name and by what came of them', async (t) => {
  const metrics = new Metrics();
  const clock = new ManualClock();
  const answers = [
    { ok: true, body: {} } as const,
    { ok: false, code: 'busy', message: 'BUSY' } as const,
    new Error('a fault'),
  ];
  const calls = measuredCalls(
    async () => {
      clock.advance(500);
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('not asked for');
      return answer;
    },
    clock,
    metrics,
  );
  const call = { name: 'POST_QUOTES' };
  t.match(await calls(null, call), { ok: true });
  t.match(await calls(null, call), { code: 'busy' });
  await t.rejects(calls(null, { name: 'DRY_RUN' }), { message: 'a fault' });
  const label = (name: string, outcome: string): string => `{call="${name}",outcome="${outcome}"}`;
  const labels = [label('POST_QUOTES', 'ok'), label('POST_QUOTES', 'busy'), label('DRY_RUN', 'internal_error')];
  for (const [part, value] of [
    ['count', 1],
    ['sum', 0.5],
  ] as const) {
    const wanted = Object.fromEntries(labels.map((each) => [each, value]));
    t.strictSame(await samples(metrics, `quotebook_socket_call_seconds_${part}`), wanted);
  }
});
