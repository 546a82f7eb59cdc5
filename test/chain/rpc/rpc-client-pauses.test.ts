import t from 'tap';
import { HttpRpc } from '../../../src/chain/rpc/rpc-client.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import { systemClock } from '../../../src/system/clock.js';
import { ManualClock } from '../../system/manual-clock.js';
import { RpcProxy } from '../rpc-proxy.js';
import {
  ask,
  CHAIN_ID,
  endpoints,
  finishes,
  good,
  NEVER_JITTERED,
  PATIENCE,
  play,
  requestsTo,
} from './played-endpoints.js';
import { until } from '../../until.js';

t.test('Retry-After is obeyed: the endpoint is left alone until then', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 2, {}, clock);
  const [first] = proxies;
  if (!first) throw new Error('There are two');
  play(first, () => ({ status: 429, headers: { 'retry-after': '7' }, body: '' }));
  const asked = ask(rpc);
  await until(() => requestsTo(first) === 1 && clock.pending > 0);
  await finishes(asked, clock, 1);
  play(first, ({ id }) => good(id, 0));
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
    play(only, () => ({ status: 429, headers: { 'retry-after': retryAfter }, body: '' }));
    const asked = ask(rpc);
    await until(() => requestsTo(only) === 1 && clock.pending > 0);
    play(only, ({ id }) => good(id, 'at last'));
    await finishes(Promise.resolve(), clock, 10);
    t.equal(requestsTo(only), 1, 'not asked before');
    clock.advance(5_000);
    t.equal(await asked, 'at last');
  }
});

t.test('a pause longer than a request may take fails it at once', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 1, { attempts: 1 }, clock);
  play(proxies[0], () => ({ status: 429, headers: { 'retry-after': '40' }, body: '' }));
  await t.rejects(ask(rpc), { message: 'HTTP 429 to eth_gasPrice' });
  await t.rejects(ask(rpc), { message: 'Every endpoint has asked for a long pause' });
  t.equal(requestsTo(proxies[0]), 1);
});

t.test('no endpoint is left alone for more than a minute, whatever it asks for', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 1, { attempts: 1 }, clock);
  play(proxies[0], () => ({ status: 429, headers: { 'retry-after': '86400' }, body: '' }));
  await t.rejects(ask(rpc), { message: 'HTTP 429 to eth_gasPrice' });
  play(proxies[0], ({ id }) => good(id, 'at last'));
  clock.advance(30_000);
  await t.rejects(ask(rpc), { message: 'Every endpoint has asked for a long pause' });
  clock.advance(30_000);
  t.equal(await ask(rpc), 'at last');
});

t.test('a 429 that asks for no pause is given a second', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 1, { attempts: 1 }, clock);
  play(proxies[0], () => ({ status: 429, body: '' }));
  await t.rejects(ask(rpc), { message: 'HTTP 429 to eth_gasPrice' });
  play(proxies[0], ({ id }) => good(id, 'at last'));
  const asked = ask(rpc);
  await until(() => clock.pending > 0);
  clock.advance(999);
  t.equal(requestsTo(proxies[0]), 1);
  clock.advance(1);
  t.equal(await asked, 'at last');
});

t.test('a 503 is a pause where it asks for one, and else a failed try', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 1, { attempts: 1 }, clock);
  for (const headers of [{}, { 'retry-after': '40' }]) {
    play(proxies[0], () => ({ status: 503, headers, body: '' }));
    await t.rejects(ask(rpc), { message: 'HTTP 503 to eth_gasPrice' });
  }
  t.equal(requestsTo(proxies[0]), 2, 'asked again at once after the first');
  await t.rejects(ask(rpc), { message: 'Every endpoint has asked for a long pause' });
});

t.test('between the tries of a request there are pauses, each up to twice as long as the last', async (t) => {
  const pauses: number[] = [];
  const clock = {
    monotonicMs: () => systemClock.monotonicMs(),
    wallMs: () => systemClock.wallMs(),
    after(delayMs: number, callback: () => void) {
      if (delayMs !== PATIENCE.timeoutMs) pauses.push(delayMs);
      return systemClock.after(delayMs === PATIENCE.timeoutMs ? delayMs : 0, callback);
    },
  };
  const half = { ...NEVER_JITTERED, unit: () => 0.5 };
  const proxy = await RpcProxy.open('http://127.0.0.1:9');
  t.teardown(() => proxy.close());
  proxy.trick = () => 'CUT';
  const patience = { ...PATIENCE, attempts: 4, backoffMs: 100 };
  const rpc = new HttpRpc([proxy.url], CHAIN_ID, patience, clock, half, () => undefined);
  await t.rejects(ask(rpc), RpcUnreachable);
  t.strictSame(pauses, [50, 100, 200]);
});
