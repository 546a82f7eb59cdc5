import t, { type Test } from 'tap';
import { HttpRpc, RpcError, RpcUnreachable } from '../../src/chain/http-rpc.js';
import { systemClock } from '../../src/system/system-clock.js';
import { RpcProxy, type Trick } from './rpc-proxy.js';
import { ManualClock } from '../system/manual-clock.js';

const PATIENCE = { timeoutMs: 10_000, attempts: 3, backoffMs: 1, maxAnswerBytes: 10_000 };
const NEVER_JITTERED = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };

interface Endpoints {
  readonly rpc: HttpRpc;
  readonly proxies: readonly RpcProxy[];
  readonly failures: string[];
}

/** Endpoints that answer with their own number, each played by a proxy that never needs its node. */
async function endpoints(t: Test, count: number, patience: Partial<typeof PATIENCE> = {}, clock = systemClock) {
  const proxies = await Promise.all(Array.from({ length: count }, () => RpcProxy.open('http://127.0.0.1:9')));
  t.teardown(() => proxies.forEach((proxy) => proxy.close()));
  proxies.forEach((proxy, n) => (proxy.trick = ({ id }) => good(id, n)));
  const failures: string[] = [];
  const urls = proxies.map(({ url }) => url);
  const rpc = new HttpRpc(urls, { ...PATIENCE, ...patience }, clock, NEVER_JITTERED, (error) => {
    failures.push(error.message);
  });
  return { rpc, proxies, failures } satisfies Endpoints;
}

function good(id: number, result: unknown): Trick {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, result }) };
}

const ask = (rpc: HttpRpc, method = 'eth_chainId'): Promise<unknown> => rpc.request({ method });

t.test('requests go to the first endpoint while it answers, and to the next when it does not', async (t) => {
  const { rpc, proxies } = await endpoints(t, 3);
  const [first] = proxies;
  if (!first) throw new Error('There are three');
  t.equal(await ask(rpc), 0);
  t.equal(await ask(rpc), 0);
  first.trick = () => 'CUT';
  t.equal(await ask(rpc), 1);
  t.equal(await ask(rpc), 1, 'and stay there, so that heads of two nodes do not mix');
  t.equal(first.requests.length, 3);
});

const useless: readonly [string, Trick][] = [
  ['HTML of a gateway', { status: 200, body: '<html>It works!</html>' }],
  ['an HTTP error', { status: 502, body: 'Bad gateway' }],
  ['JSON that is no object', { status: 200, body: '42' }],
  ['an answer to another request', { status: 200, body: '{"jsonrpc":"2.0","id":-1,"result":"0x1"}' }],
  ['an answer without a result', { status: 200, body: '{"jsonrpc":"2.0","id":1}' }],
  ['an answer that is too large', { status: 200, body: `{"jsonrpc":"2.0","id":1,"result":"0x${'0'.repeat(10_000)}"}` }],
  ['a node that is broken inside', { error: { code: -32603, message: 'Internal error' } }],
];
for (const [what, trick] of useless) {
  t.test(`${what} is no answer: the next endpoint is asked`, async (t) => {
    const { rpc, proxies, failures } = await endpoints(t, 2);
    if (proxies[0]) proxies[0].trick = () => trick;
    t.equal(await ask(rpc), 1);
    t.equal(failures.length, 1);
  });
}

t.test('an endpoint that hangs is left after the timeout', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2, { timeoutMs: 50 });
  if (proxies[0]) proxies[0].trick = () => 'HANG';
  t.equal(await ask(rpc), 1);
});

t.test('with every endpoint down the request fails after its tries', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  for (const proxy of proxies) proxy.trick = () => 'CUT';
  await t.rejects(ask(rpc), RpcUnreachable);
  t.strictSame(
    proxies.map(({ requests }) => requests.length),
    [2, 1],
  );
});

t.test("a node's own refusal is the answer: nobody else is asked", async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const error = { code: 3, message: 'execution reverted', data: '0x1234' };
  if (proxies[0]) proxies[0].trick = () => ({ error });
  const refused = await ask(rpc).catch((refusal: unknown) => refusal);
  t.ok(refused instanceof RpcError);
  t.match(refused, error);
  t.equal(proxies[1]?.requests.length, 0);
});

t.test('too many logs are the asker to ask for less', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  if (proxies[0]) proxies[0].trick = ({ id }) => good(id, '0'.repeat(20_000));
  await t.rejects(ask(rpc, 'eth_getLogs'), RpcError);
});

t.test('Retry-After is obeyed: the endpoint is left alone until then', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 2, {}, clock);
  const [first] = proxies;
  if (!first) throw new Error('There are two');
  first.trick = () => ({ status: 429, headers: { 'retry-after': '7' }, body: '' });
  const asked = ask(rpc);
  await until(() => first.requests.length === 1 && clock.pending > 0);
  await finishes(asked, clock, 1);
  first.trick = ({ id }) => good(id, 0);
  rpc.preferAnother();
  t.equal(await ask(rpc), 1, 'asked for by name it still rests');
  clock.advance(7_000);
  t.equal(await ask(rpc), 0, 'and answers when the pause is over');
});

t.test('a lone endpoint that asks for a pause gets it, whether in seconds or as a date', async (t) => {
  for (const retryAfter of ['5', new Date(Date.UTC(2024, 0, 1) + 5_000).toUTCString()]) {
    const clock = new ManualClock();
    const { rpc, proxies } = await endpoints(t, 1, {}, clock);
    const [only] = proxies;
    if (!only) throw new Error('There is one');
    only.trick = () => ({ status: 429, headers: { 'retry-after': retryAfter }, body: '' });
    const asked = ask(rpc);
    await until(() => only.requests.length === 1 && clock.pending > 0);
    only.trick = ({ id }) => good(id, 'at last');
    await finishes(Promise.resolve(), clock, 10);
    t.equal(only.requests.length, 1, 'not asked before');
    clock.advance(5_000);
    t.equal(await asked, 'at last');
  }
});

t.test('a pause longer than a request may take fails it at once', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 1, { attempts: 1 }, clock);
  if (proxies[0]) proxies[0].trick = () => ({ status: 429, headers: { 'retry-after': '40' }, body: '' });
  await t.rejects(ask(rpc), { message: 'HTTP 429 to eth_chainId' });
  await t.rejects(ask(rpc), { message: 'Every endpoint has asked for a long pause' });
  t.equal(proxies[0]?.requests.length, 1);
});

/** Lets real I/O happen until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Moves the clock by small steps, with I/O in between, until `done` and for so many steps at least. */
async function finishes(done: Promise<unknown>, clock: ManualClock, atLeastSteps: number): Promise<void> {
  const waiting = new Set([done]);
  void done.finally(() => waiting.clear());
  for (let step = 0; step < atLeastSteps || waiting.size > 0; step++) {
    clock.advance(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

t.test('code that breaks is an answer under whatever number: nobody else is asked', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const words = ['EVM error InvalidFEOpcode', 'out of gas', 'invalid opcode: INVALID', 'stack underflow (0 <=> 1)'];
  for (const message of words) {
    if (proxies[0]) proxies[0].trick = () => ({ error: { code: -32603, message } });
    await t.rejects(ask(rpc, 'eth_call'), { message });
  }
  t.equal(proxies[1]?.requests.length, 0);
});
