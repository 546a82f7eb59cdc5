import t from 'tap';
import { UNREAD } from '../../src/app/core.js';
import {
  type LeaderCall,
  LeaderWatch,
  remoteAccounts,
  remoteOptions,
  remotePublishing,
  remoteRfqs,
} from '../../src/app/gateway-core.js';
import { NoLeader, OutcomeUnknown } from '../../src/cluster/calls.js';
import { tradingRoutes } from '../../src/http/trading-routes.js';
import type { LeaderNews } from '../../src/cluster/members.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { tierQuotas } from '../../src/config/limits.js';
import { ask, requestOf } from '../http/ask-route.js';
import { readableJson } from '../ws/gateway-fixture.js';
import { ManualClock } from '../system/manual-clock.js';

const block = (blockNumber: number) =>
  ({ blockNumber, blockHash: `0x${blockNumber.toString(16).padStart(64, '0')}` }) as const;

function news(seq: number, readTo: number, changes: Partial<LeaderNews> = {}): LeaderNews {
  const chain = { head: null, stale: null, failure: null, readTo: block(readTo) };
  const leader = { member: 'a', term: 1, group: 0, engineMs: 0, caughtUp: true, refusal: null, wallet: null };
  return { ...leader, seq, chains: { settlement: chain, stream: chain }, ...changes };
}

t.test('a block counts as read once the book here has the events that the leader had then', (t) => {
  const watch = new LeaderWatch(new ManualClock(), 1_000);
  t.equal(watch.readTo('settlement', 10), null, 'nothing was heard');
  watch.heard(news(10, 7));
  t.equal(watch.readTo('settlement', 9), null);
  t.strictSame(watch.readTo('settlement', 10), block(7));
  watch.heard(news(12, 8));
  t.strictSame(watch.readTo('settlement', 11), block(7));
  t.strictSame(watch.readTo('settlement', 12), block(8));
  t.end();
});

const WALLET = '0x00000000000000000000000000000000000000aa';
const LEASE_MS = 1_000;

/** What a gateway says of itself after that news. */
function hearing(heard: LeaderNews, call: LeaderCall = () => Promise.reject(new NoLeader('not called'))) {
  const clock = new ManualClock();
  const watch = new LeaderWatch(clock, LEASE_MS);
  watch.heard(heard);
  const quotas = new Quotas(tierQuotas, 1, () => undefined);
  const publishing = remotePublishing(
    call,
    watch,
    watch.chains(() => heard.seq),
    quotas,
    clock,
  );
  const services = remoteOptions(call, watch);
  const refusals = () => ({
    publishing: publishing.refusal(),
    deployments: services()?.deployments.refusal(),
    settlements: services()?.settlements.refusal(),
    trading: services()?.trading.refusal(),
  });
  return { clock, refusals, publishing, services };
}

t.test('a gateway publishes nothing before its leader has read the chains', (t) => {
  const free = { deployments: null, settlements: null, trading: null };
  const { refusals } = hearing(news(1, 1, { wallet: WALLET, caughtUp: false }));
  t.strictSame(refusals(), { ...free, publishing: { code: 'chain_unavailable', message: UNREAD } });
  t.strictSame(hearing(news(1, 1, { wallet: WALLET })).refusals(), { ...free, publishing: null });
  t.end();
});

t.test('a gateway refuses what a service of its own would: where a chain is stale, and where the log is full', (t) => {
  const { chains } = news(1, 1);
  const settlement = { ...chains.settlement, stale: 'no block for 60 s' };
  const stale = hearing(news(1, 1, { wallet: WALLET, chains: { ...chains, settlement } }));
  t.strictSame(stale.refusals(), {
    publishing: { code: 'chain_unavailable', message: 'no block for 60 s' },
    deployments: 'no block for 60 s',
    settlements: null,
    trading: 'no block for 60 s',
  });
  const full = hearing(news(1, 1, { wallet: WALLET, refusal: 'STORAGE_FULL' }));
  t.strictSame(full.refusals(), {
    publishing: { code: 'storage_full', message: 'STORAGE_FULL' },
    deployments: 'STORAGE_FULL',
    settlements: 'STORAGE_FULL',
    trading: 'STORAGE_FULL',
  });
  full.clock.advance(2 * LEASE_MS);
  const missing = 'the cluster has no leader: no news for 2 s';
  t.strictSame(full.refusals(), {
    publishing: { code: 'chain_unavailable', message: missing },
    deployments: missing,
    settlements: missing,
    trading: missing,
  });
  t.end();
});

t.test('a gateway whose leader has no wallet says so', (t) => {
  const { publishing, services } = hearing(news(1, 1, { wallet: null }));
  t.match(publishing.refusal(), { code: 'no_wallet' });
  t.equal(services(), null);
  t.end();
});

t.test('a request for quotes is refused as busy without a leader, and a fault of the leader is one here', async (t) => {
  const asked = (error: Error) => {
    const rfqs = remoteRfqs(() => Promise.reject(error));
    const rfq = { poolAddress: WALLET, side: 'ask', size: 1n, taker: WALLET, body: '{}' } as const;
    return [rfqs.publish(rfq, null), rfqs.cancel('key', 'id')];
  };
  t.strictSame(await Promise.all(asked(new NoLeader('deposed'))), ['BUSY', 'BUSY']);
  const fault = new Error('Internal error of the leader');
  for (const answer of asked(fault)) await t.rejects(answer, fault);
});

t.test(
  'a gateway charges the calls that its leader made for positions, and none where there is no leader',
  async (t) => {
    const charged: number[] = [];
    const work = { charge: (rows: number) => void charged.push(rows) };
    const answering = (answer: Promise<unknown>) => remoteAccounts((() => answer) as unknown as LeaderCall);
    const read = { type: 'READ', value: [] } as const;
    t.match(await answering(Promise.resolve({ ...read, calls: 40 })).options(WALLET, work), read);
    const failed = { type: 'CHAIN_UNREACHABLE', calls: 2 };
    t.match(await answering(Promise.resolve(failed)).options(WALLET, work), { type: 'CHAIN_UNREACHABLE' });
    t.strictSame(charged.splice(0), [40, 2]);
    await answering(Promise.resolve(read)).options(WALLET, work);
    t.match(await answering(Promise.reject(new NoLeader('none'))).options(WALLET, work), { type: 'CHAIN_UNREACHABLE' });
    t.strictSame(charged, []);
  },
);

/** Statuses, codes and texts of a fill and of a trade with a vault, at a gateway whose calls to the leader fail so. */
async function payingWith(error: Error) {
  const { publishing, services } = hearing(news(1, 1, { wallet: WALLET }), () => Promise.reject(error));
  const routes = tradingRoutes({
    trading: () => services()?.trading ?? null,
    publishing,
    onPublished: () => undefined,
    readable: readableJson,
    symbols: ['WETH', 'USDC'],
    limits: { bodyParts: 100, queryPairs: 10, schemaErrors: 20, signedQuotesPerRequest: 5, tradesPerRequest: 5 },
  });
  const option = { base: 'WETH', quote: 'USDC', expiration: '29NOV30', strike: 2_000, type: 'C' };
  const trade = { ...option, size: 1, direction: 'buy', premiumLimit: 1 };
  const fill = await ask(routes, requestOf('PATCH', '/orderbook/quotes', [{ tradeSize: 1, quoteId: QUOTE_ID }]));
  const vault = await ask(routes, requestOf('POST', '/vaults/trade', trade));
  return [fill, vault].map(({ status, text }) => [status, JSON.parse(text) as unknown]);
}

const QUOTE_ID = `0x${'ab'.repeat(32)}`;

t.test('a fill or trade that a leader may have sent is answered as not confirmed, not as one to repeat', async (t) => {
  const message = 'Transaction not confirmed yet';
  t.strictSame(await payingWith(new OutcomeUnknown('deposed')), [
    [504, { message, pending: [QUOTE_ID], success: [], failed: [] }],
    [504, { message }],
  ]);
});

t.test('a fill or trade that no leader has received may be repeated', async (t) => {
  const later = [503, { message: 'The chain does not answer' }];
  t.strictSame(await payingWith(new NoLeader('silent')), [later, later]);
});
