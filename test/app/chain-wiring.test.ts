import pino from 'pino';
import t from 'tap';
import { numberToHex } from 'viem';
import { type FollowedChainsParts, openFollowedChains } from '../../src/app/chain-wiring.js';
import type { ServiceOptions } from '../../src/app/service-options.js';
import { RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { limits } from '../../src/config/limits.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type FollowingOptions, httpRpc, newOperator } from '../chain/following.js';
import { MarketBook } from '../chain/market-book.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { NOBODY } from '../chain/wallet-fixture.js';
import { blockHashOf, newEngine, txHashOf } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import type { Chains, ChainsOptions } from '../../src/app/chains.js';

const market = await Market.open(t);
const call = market.pool('testWETH', 1800n, true);

for (const [what, method] of [
  ['logs', 'eth_getLogs'],
  ['the state of any block', 'eth_call'],
] as const) {
  t.test(`where a node tells of heads and refuses ${what}, the next endpoint is asked`, async (t) => {
    const proxy = await RpcProxy.open(market.chain.rpcUrl);
    t.teardown(() => proxy.close());
    const settlement = httpRpc([proxy.url, market.chain.rpcUrl]);
    await MarketBook.isolated(market, { rpc: { settlement }, limits: { lowerHeadMs: 50 } }, async (book) => {
      const offer = await market.sign(call);
      await book.publish(offer);
      t.equal(settlement.endpoint, 0);
      const error = { code: -32000, message: 'this is not available on your plan' };
      proxy.trick = (asked) => (asked.method === method ? { error } : 'PASS');
      await market.fill(market.taker.address, offer, ONE / 4n);
      await book.following.until(() => book.fillable(offer) === (3n * ONE) / 4n);
      await book.upToDate();
      t.equal(settlement.endpoint, 1);
    });
  });
}

t.test('one wrong timestamp of a head expires nothing', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const settlement = httpRpc([proxy.url]);
  await MarketBook.isolated(market, { rpc: { settlement } }, async (book) => {
    const offer = await market.sign(call);
    await book.publish(offer);
    await book.upToDate();
    // One block alone: a later one that leaps as far would confirm it.
    const wrongBlock = (await market.client.getBlockNumber({ cacheTime: 0 })) + 1n;
    let wrong = 0;
    const aYearOn = (block: unknown) => {
      const { number, timestamp } = block as { readonly number: string; readonly timestamp: string };
      if (BigInt(number) !== wrongBlock) return block;
      wrong += 1;
      return { ...(block as object), timestamp: numberToHex(Number(timestamp) + 365 * 24 * 3600) };
    };
    proxy.trick = ({ method, params: [block] }) =>
      method === 'eth_getBlockByNumber' && block === 'latest' ? { rewrite: aYearOn } : 'PASS';
    await market.client.mine({ blocks: 1 });
    await book.following.until(() => wrong >= 3);
    // The last wrong answer has come before the next block does, which it would otherwise be of.
    let right = 0;
    proxy.trick = ({ method, params: [block] }) => {
      if (method === 'eth_getBlockByNumber' && block === 'latest') right += 1;
      return 'PASS';
    };
    await book.following.until(() => right >= 2);
    await market.client.mine({ blocks: 1 });
    await book.upToDate();
    t.equal(book.fillable(offer), ONE);
    const days = (book.following.time.nowMs() / 1000 - (await market.now())) / (24 * 3600);
    t.ok(days < 1, `${days} days ahead`);
  });
});

t.test('where each chain has a node that refuses, each comes to the other one of its own', async (t) => {
  const refusing = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => refusing.close());
  const settlement = httpRpc([refusing.url, market.chain.rpcUrl]);
  const stream = httpRpc([market.chain.rpcUrl, refusing.url]);
  await MarketBook.isolated(market, { rpc: { settlement, stream }, limits: { lowerHeadMs: 50 } }, async (book) => {
    const offer = await market.sign(call);
    const error = { code: -32000, message: 'this is not available on your plan' };
    refusing.trick = (asked) => (asked.method === 'eth_getLogs' ? { error } : 'PASS');
    await market.publish(market.stranger.address, [offer]);
    // As on a chain that others use there is always something to be read.
    const done = new AbortController();
    const mining = (async () => {
      while (!done.signal.aborted) await market.client.mine({ blocks: 1 });
    })();
    try {
      await book.following.until(() => book.ids.length === 1);
    } finally {
      done.abort();
      await mining;
    }
    t.strictSame([settlement.endpoint, stream.endpoint], [1, 0]);
  });
});

t.test('what a reorg took back is published once, in whatever company it is posted again', async (t) => {
  const [first, second] = [await market.sign(call), await market.sign(call)];
  const outcomes: Promise<unknown>[] = [];
  const operator = newOperator(market.operator.privateKey);
  const onEvents: FollowingOptions['onEvents'] = (events) => {
    for (const event of events) if (event.type === 'QUOTE_REMOVED') outcomes.push(publish(first));
  };
  let publish = (...offers: readonly SignedOffer[]): Promise<unknown> => Promise.resolve(offers);
  await MarketBook.isolated(market, { operator, onEvents }, async (book) => {
    const { publisher } = book.following.chains;
    if (publisher === null) throw new Error('There is a wallet');
    publish = (...offers) => Promise.all(offers.map((offer) => publisher.publish(offer)));
    await book.upToDate();
    const nonce = await market.client.getTransactionCount({ address: market.operator.address });
    await publish(first, second);
    await market.reorg(1);
    await book.following.until(() => outcomes.length === 2);
    t.strictSame((await Promise.all(outcomes)).flat(), [
      { type: 'ENTERED', isSent: true },
      { type: 'ENTERED', isSent: true },
    ]);
    await book.upToDate();
    t.strictSame(book.ids, [first.quoteId, second.quoteId].sort());
    t.equal(await market.client.getTransactionCount({ address: market.operator.address }), nonce + 1);
  });
});

t.test('what the wallet sent is sent again where a block that nobody could read was replaced', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const [settlement, stream] = [httpRpc([proxy.url]), httpRpc([proxy.url])];
  const operator = newOperator(market.operator.privateKey);
  await MarketBook.isolated(market, { rpc: { settlement, stream }, operator }, async (book) => {
    await book.upToDate();
    const error = { code: -32000, message: 'this is not available on your plan' };
    proxy.trick = (asked) => (asked.method === 'eth_getLogs' ? { error } : 'PASS');
    const wallet = book.following.chains.settlementWallet;
    if (wallet === null) throw new Error('There is a wallet');
    const { txHash } = await wallet.send({ to: NOBODY, data: '0x57' });
    const sent = (): Promise<number> => market.client.getTransactionCount({ address: market.operator.address });
    const before = await sent();
    await market.reorg(1);
    await market.client.dropTransaction({ hash: txHash });
    t.equal(await sent(), before - 1, 'it is gone');
    proxy.trick = () => 'PASS';
    await market.client.mine({ blocks: 1 });
    await book.following.until(() => book.following.troubles.length > 0);
    t.match(book.following.troubles, [/a reorg took it back: sent again/]);
    await wallet.send({ to: NOBODY, data: '0x58' });
    t.equal(await sent(), before + 1);
  });
});

/** What the readers of the chains tell, and the log lines and metrics that come of it. */
function listening(level: string) {
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => lines.push(line) });
  const metrics = new Metrics();
  const opened: ChainsOptions[] = [];
  const openChains = (options: ChainsOptions): Chains => {
    opened.push(options);
    return {} as Chains;
  };
  const clock = new ManualClock();
  const options = { engine: newEngine(), logger, metrics, openChains, clock, limits };
  openFollowedChains(options as unknown as ServiceOptions, { signing: {} } as FollowedChainsParts);
  const [told] = opened;
  if (told === undefined) throw new Error('The chains were not opened');
  return { lines, metrics, told, clock };
}

const log = {
  blockNumber: 1,
  blockHash: blockHashOf(1),
  txHash: txHashOf(1),
  logIndex: 0,
  timestamp: null,
  address: '0x',
  topics: [],
  data: '0x',
} as const;

t.test('an event that is refused, of which anybody can publish thousands, is a line for debugging alone', async (t) => {
  for (const [level, count] of [
    ['info', 0],
    ['debug', 1],
  ] as const) {
    const { lines, told } = listening(level);
    told.onRefusedEvent('BAD_SIGNATURE', log);
    t.equal(lines.length, count, level);
  }
});

t.test('events that are refused, and those that count for nothing, are counted by why', async (t) => {
  const { metrics, told } = listening('info');
  told.onRefusedEvent('BAD_SIGNATURE', log);
  told.onRefusedEvent('BAD_SIGNATURE', log);
  told.onIgnoredEvent('OTHER_PROVIDER', log);
  const text = await metrics.text();
  t.match(text, /^quotebook_refused_events_total\{why="BAD_SIGNATURE"\} 2$/m);
  t.match(text, /^quotebook_ignored_events_total\{why="OTHER_PROVIDER"\} 1$/m);
});

t.test('reading that fails again and again is one warning and a count, and one line when it is over', async (t) => {
  const { lines, metrics, told, clock } = listening('info');
  for (let failures = 1; failures <= 30; failures++) {
    told.listener.onFailure(new RpcUnreachable('No answer to eth_getLogs'), failures);
    clock.advance(500);
  }
  told.listener.onSuccess();
  clock.advance(limits.troubleCalmMs);
  told.listener.onSuccess();
  told.listener.onSuccess();
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      { level: 40, msg: 'chain read failed', reason: 'RpcUnreachable: No answer to eth_getLogs' },
      { level: 30, msg: 'chain read recovered', failures: 30 },
    ],
  );
  t.equal(lines.length, 2);
  t.match(await metrics.text(), /^quotebook_read_failures_total 30$/m);
});

t.test('trouble with a transaction is logged as a warning', async (t) => {
  const { lines, told } = listening('warn');
  told.onTxTrouble(7, 'it was replaced');
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [{ level: 40, nonce: 7, reason: 'it was replaced', msg: 'transaction problem' }],
  );
});
