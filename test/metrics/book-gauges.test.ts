import t from 'tap';
import type { Order } from '../../src/engine/quote.js';
import { fillGauges, type Gauged } from '../../src/metrics/book-gauges.js';
import { Metrics } from '../../src/metrics/metrics.js';

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

t.test('orders are counted by side, the invalid ones of both sides apart', async (t) => {
  const orders = [order(true, 'live'), order(false, 'live'), order(false, 'live')];
  const invalid = [order(true, 'invalid'), order(false, 'invalid')];
  const metrics = new Metrics();
  const gauged = { ...QUIET, seq: 7, orders: () => [...orders, ...invalid], pools: () => [1, 2], isReady: () => true };
  fillGauges(metrics, gauged);
  t.match(await samplesOf(metrics), {
    'orders{state="bid"}': 1,
    'orders{state="ask"}': 2,
    'orders{state="invalid"}': 2,
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
