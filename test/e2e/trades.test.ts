import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import { effectiveLimits } from '../../src/config/effective-limits.js';
import { type Settings, settingNames, settingTable } from '../../src/config/setting-table.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { OrderbookClient } from '../../src/client/node.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { TickersResult } from '../../src/wire/feed-messages.js';
import type { CandlesResult, TradesResult } from '../../src/wire/market.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
import { untilAnswer } from '../until.js';
import { startTestService } from './running-service.js';

/** Trades and candles are those of the chain's own logs. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const running = await startTestService({ chain, walletKey: null, limits: { lowerHeadMs: 100 } });
t.teardown(() => running.stop());
const market = new Market(chain);
const { taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const rest = new RestClient(running.httpUrl, running.apiKey);
const about = `chainId=421613&poolAddress=${call.poolAddress}`;

/** What the pool's own logs say, the newest first. */
async function onChain(): Promise<object[]> {
  const { poolAddress: address } = call;
  const found = { abi: poolAbi, address, eventName: 'FillQuoteOB', fromBlock: 0n, strict: true } as const;
  const logs = await market.client.getContractEvents(found);
  return logs
    .map(({ args, blockNumber, blockHash, logIndex, transactionHash }) => ({
      quoteId: args.quoteOBHash,
      side: args.isBuy ? 'buy' : 'sell',
      price: ((args.premium * ONE) / args.contractSize).toString(),
      size: args.contractSize.toString(),
      fee: (args.protocolFee + args.totalReferralRebate).toString(),
      provider: args.provider.toLowerCase(),
      taker: args.user.toLowerCase(),
      blockNumber: Number(blockNumber),
      blockHash,
      txHash: transactionHash,
      logIndex,
    }))
    .reverse();
}

/** None as long as a service that has just started reads those of before (503). */
async function served(by = rest): Promise<TradesResult['trades']> {
  const { status, body } = await by.get(`/trades?${about}`);
  return status === 200 ? (body as unknown as TradesResult).trades : [];
}

/** Those of the TRADES channel, put together as its messages say. */
const client = new OrderbookClient({ url: running.httpUrl, apiKey: running.apiKey, chainId: '421613' });
t.teardown(() => client.close());
const instrument = (await rest.get('/instruments')).body as unknown as { poolAddress: string; instrument: string }[];
const name = instrument.find(({ poolAddress }) => poolAddress === call.poolAddress)?.instrument ?? '';
const followed = client.followTrades({ instrument: name });
let pushed: TradesResult['trades'] = [];
followed.onTrade((trade) => {
  pushed = [trade, ...pushed];
});
followed.onUndo((blockNumber) => {
  pushed = pushed.filter((trade) => trade.blockNumber <= blockNumber);
});
await followed.whenLive();

/** The fields that the event has. */
function ofEvent(trade: TradesResult['trades'][number]): Partial<typeof trade> {
  const fields = Object.entries(trade).filter(([name]) => !['poolAddress', 'instrument', 'time'].includes(name));
  return Object.fromEntries(fields);
}

/** Once the service has as many trades, the newest in the same block. */
async function sameAsOnChain(by = rest): Promise<void> {
  const wanted = await onChain();
  for (let tries = 0; ; tries += 1) {
    const trades = await served(by);
    const found = trades.map(ofEvent);
    if (
      JSON.stringify(found.map(({ txHash }) => txHash)) ===
        JSON.stringify(wanted.map((trade) => 'txHash' in trade && trade.txHash)) ||
      tries > 200
    ) {
      t.strictSame(found, wanted);
      await sameVolume(trades, by);
      return sameCandles(trades, by);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** All trades of a run are of the last 24 hours. */
async function sameVolume(trades: TradesResult['trades'], by: RestClient): Promise<void> {
  const total = String(trades.reduce((sum, { size }) => sum + BigInt(size), 0n));
  await untilAnswer(
    async () => {
      const { tickers } = (await by.get('/tickers?chainId=421613')).body as unknown as TickersResult;
      return tickers.find(({ poolAddress }) => poolAddress === call.poolAddress)?.volume24h;
    },
    (volume) => volume === total,
  );
}

async function sameCandles(trades: TradesResult['trades'], by: RestClient): Promise<void> {
  const { candles } = (await by.get(`/candles?${about}&interval=1h`)).body as unknown as CandlesResult;
  for (const { time, open, close, high, volume, count } of candles) {
    const within = trades.filter((trade) => trade.time >= time && trade.time < time + 3600);
    const prices = within.map(({ price }) => BigInt(price));
    const total = within.reduce((sum, { size }) => sum + BigInt(size), 0n).toString();
    const top = prices.reduce((max, price) => (price > max ? price : max), 0n).toString();
    t.strictSame([open, close, high], [within.at(-1)?.price, within[0]?.price, top]);
    t.strictSame([volume, count], [total, within.length]);
  }
  t.equal(
    candles.reduce((sum, { count }) => sum + count, 0),
    trades.length,
  );
}

/** What was pushed, once the newest trade has come. */
function pushedAs([newest]: TradesResult['trades']): Promise<TradesResult['trades']> {
  return untilAnswer(
    async () => pushed,
    ([last]) => last?.txHash === newest?.txHash,
  );
}

await t.test('trades and candles equal what the chain says, also of a quote that was never published', async () => {
  const published = await market.sign(call);
  await market.publish(stranger.address, [published]);
  await market.fill(taker.address, published, ONE / 4n);
  await market.fill(taker.address, await market.sign(call, { price: ONE / 10n }), ONE / 2n);
  await market.fill(taker.address, await market.sign(call, { isBuy: true }), ONE / 8n);
  await sameAsOnChain();
  t.equal((await served()).length, 3);
  t.strictSame(await pushedAs(await served()), await served(), 'TRADES pushed the same');
});

await t.test('a reorg takes its trades out, and what is mined again comes back', async () => {
  await market.reorg(2);
  await sameAsOnChain();
  t.equal((await served()).length, 1);
  await market.fill(taker.address, await market.sign(call, { price: ONE / 5n }), ONE / 2n);
  await sameAsOnChain();
  t.strictSame(await pushedAs(await served()), await served(), 'TRADES undid and pushed the same');
});

await t.test('pages, filters and refusals', async (t) => {
  const [newest, oldest] = await served();
  const first = (await rest.get(`/trades?${about}&limit=1`)).body as unknown as TradesResult;
  t.strictSame(first.trades, [newest]);
  const second = (await rest.get(`/trades?${about}&limit=1&cursor=${first.next}`)).body as unknown as TradesResult;
  t.strictSame([second.trades, second.next], [[oldest], null]);
  t.strictSame((await rest.get(`/trades?${about}&side=sell`)).body, { ...second, trades: [] });
  // The taker in any case of letters; the cursor of one filter goes on with it.
  const own = `/trades?${about}&taker=${taker.address}&limit=1`;
  t.strictSame((await rest.get(own)).body, first);
  t.strictSame((await rest.get(`${own}&cursor=${first.next}`)).body, second);
  t.strictSame((await rest.get(`/trades?${about}&taker=${stranger.address}`)).body, { ...second, trades: [] });
  t.equal((await rest.get(`/trades?${about}&taker=0x12`)).status, 400);
  const gone = await rest.get(`/trades?${about}&from=5`);
  t.match([gone.status, gone.body], [410, { message: /Trades before [0-9]+ are not kept/ }]);
  t.equal((await rest.get(`/candles?${about}&interval=2m`)).status, 400);
  t.equal((await rest.get('/trades?chainId=42161')).status, 400);
});

await t.test('after a restart they are those of the log, with what was traded and undone meanwhile', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const options = { chain, walletKey: null, keepsLog: true, dataDir, limits: { lowerHeadMs: 100 } };
  const first = await startTestService(options);
  const over = ({ httpUrl, apiKey }: typeof first) => new RestClient(httpUrl, apiKey);
  const offer = await market.sign(call, { price: ONE / 7n });
  await market.fill(taker.address, offer, ONE / 4n);
  await market.client.mine({ blocks: 2 });
  await market.fill(taker.address, offer, ONE / 8n);
  await sameAsOnChain(over(first));
  const before = await served(over(first));
  await first.stop();
  await market.reorg(1);
  await market.fill(taker.address, await market.sign(call, { price: ONE / 9n }), ONE / 2n);
  const second = await startTestService(options);
  t.teardown(() => second.stop());
  await untilAnswer(
    async () => (await over(second).get(`/trades?${about}`)).status,
    (status) => status === 200,
  );
  await sameAsOnChain(over(second));
  const [meanwhile, ...others] = await served(over(second));
  t.strictSame(others, before.slice(1), 'those of before the restart but for the one that the reorg undid');
  t.notMatch(before, [{ txHash: meanwhile?.txHash }]);
});

await t.test('they outlive the log, which `retainLogBytes` cuts, and so does their volume', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const limits = { lowerHeadMs: 100, logSegmentBytes: 4096 };
  const options = { chain, walletKey: null, keepsLog: true, dataDir, retainLogBytes: 0, limits };
  const name = chain.profile.name;
  const segments = async () => (await readdir(path.join(dataDir, name))).filter((file) => file.startsWith('segment-'));
  const first = await startTestService(options);
  const offer = await market.sign(call, { price: ONE / 13n });
  for (let fills = 0; fills < 12; fills += 1) await market.fill(taker.address, offer, ONE / 64n);
  const over = ({ httpUrl, apiKey }: typeof first) => new RestClient(httpUrl, apiKey);
  await sameAsOnChain(over(first));
  const listed = await served(over(first));
  await first.stop();
  const begun = await segments();
  await market.reorg(1);
  for (let restarts = 0; restarts < 3; restarts += 1) {
    const next = await startTestService(options);
    await market.fill(taker.address, await market.sign(call), ONE / 64n);
    await untilAnswer(
      () => served(over(next)),
      (trades) => trades.length === listed.length + restarts,
    );
    await next.stop();
  }
  const left = await segments();
  t.notOk(left.includes(begun.sort()[0] ?? ''), 'the log does not begin where it did');
  const last = await startTestService(options);
  t.teardown(() => last.stop());
  await untilAnswer(
    async () => (await over(last).get(`/trades?${about}`)).status,
    (status) => status === 200,
  );
  await sameAsOnChain(over(last));
  t.strictSame((await served(over(last))).slice(3), listed.slice(1), 'all but the one that the reorg undid');
});

await t.test('what no longer fits into memory is read from the files, after a restart and a reorg, too', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const limits = { lowerHeadMs: 100, tradesKept: 4, tradeFileBytes: 2_000 };
  const options = { chain, walletKey: null, keepsLog: true, dataDir, limits };
  const first = await startTestService(options);
  const offer = await market.sign(call, { price: ONE / 12n });
  for (let fills = 0; fills < 12; fills += 1) await market.fill(taker.address, offer, ONE / 64n);
  const pages = async ({ httpUrl, apiKey }: typeof first, more = ''): Promise<TradesResult['trades']> => {
    const client = new RestClient(httpUrl, apiKey);
    const trades: TradesResult['trades'] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { status, body } = await client.get(`/trades?${about}&limit=5${cursor && `&cursor=${cursor}`}${more}`);
      if (status !== 200) return [];
      const { next, trades: page } = body as unknown as TradesResult;
      trades.push(...page);
      cursor = next;
    }
    return trades;
  };
  /** The newest, which the service has followed itself or read when it started. */
  const sameByPages = async (by: typeof first): Promise<TradesResult['trades']> => {
    const wanted = await onChain();
    const newest = (trades: readonly object[]) => trades.map((trade) => (trade as { txHash: string }).txHash);
    const trades = await untilAnswer(
      () => pages(by),
      (found) => newest(found)[0] === newest(wanted)[0] && found.length >= 12,
    );
    t.strictSame(trades.map(ofEvent), wanted.slice(0, trades.length));
    return trades;
  };
  const listed = await sameByPages(first);
  t.strictSame(
    await pages(first, '&side=sell'),
    listed.filter(({ side }) => side === 'sell'),
  );
  t.strictSame(await pages(first, `&provider=${stranger.address}`), []);
  const { since } = (await new RestClient(first.httpUrl, first.apiKey).get(`/trades?${about}`))
    .body as unknown as TradesResult;
  t.ok(since <= (listed.at(-1)?.time ?? 0), 'it says how far back the files go');
  await first.stop();
  await market.reorg(6);
  await market.fill(taker.address, await market.sign(call), ONE / 64n);
  const second = await startTestService(options);
  t.teardown(() => second.stop());
  const undone = await untilAnswer(
    () => pages(second),
    ([newest]) => newest !== undefined && newest.txHash !== listed[0]?.txHash,
  );
  t.strictSame(undone.map(ofEvent), (await onChain()).slice(0, undone.length));
  t.ok(undone.length > 4 && undone.length < listed.length);
});

await t.test('a service whose files of trades cannot be written says so, and serves them all the same', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const directory = path.join(dataDir, chain.profile.name);
  // Nothing can be made under that name.
  await mkdir(path.join(directory, 'trades-00000001.log'), { recursive: true });
  const metrics = new Metrics();
  const options = { chain, walletKey: null, keepsLog: true, dataDir, limits: { lowerHeadMs: 100 } };
  const failing = await startTestService({ ...options, metrics });
  await market.fill(taker.address, await market.sign(call), ONE / 64n);
  await sameAsOnChain(new RestClient(failing.httpUrl, failing.apiKey));
  const isFailing = async (by: Metrics) => /^quotebook_trade_files_failing 1$/m.test(await by.text());
  t.ok(await isFailing(metrics));
  await failing.stop();
  await rm(path.join(directory, 'trades-00000001.log'), { recursive: true });
  const measured = new Metrics();
  const mended = await startTestService({ ...options, metrics: measured });
  const by = new RestClient(mended.httpUrl, mended.apiKey);
  await untilAnswer(
    async () => (await by.get(`/trades?${about}`)).status,
    (status) => status === 200,
  );
  await sameAsOnChain(by);
  t.notOk(await isFailing(measured));
  await mended.stop();
  t.ok((await readdir(directory)).includes('trades-00000001.log'), 'they are written from the log');
});

await t.test('trades older than `tradeDays` are gone, before a restart and after it', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const settings = Object.fromEntries(settingNames.map((name) => [name, settingTable[name].default])) as Settings;
  const { tradeDays, tradesKept } = effectiveLimits({ ...settings, tradeDays: 1 });
  const limits = { lowerHeadMs: 100, tradeDays, tradesKept };
  const options = { chain, walletKey: null, keepsLog: true, dataDir, limits };
  const first = await startTestService(options);
  const offer = await market.sign(call, { price: ONE / 11n });
  // Of the second in which the log begins, it does not know all trades.
  await market.moveTimeTo((await market.now()) + 2);
  await market.fill(taker.address, offer, ONE / 4n);
  const tradedAt = await market.now();
  const tradesOf = async ({ httpUrl, apiKey }: typeof first, more = '') => {
    const { status, body } = await new RestClient(httpUrl, apiKey).get(`/trades?${about}${more}`);
    return { status, ...(body as unknown as TradesResult), message: body.message };
  };
  const hasOne = ({ status, trades }: Awaited<ReturnType<typeof tradesOf>>) => status === 200 && trades.length === 1;
  await untilAnswer(() => tradesOf(first, `&from=${tradedAt}`), hasOne);
  await market.moveTimeTo(tradedAt + 86_400 + 60);
  await market.fill(taker.address, offer, ONE / 4n);
  const check = async (by: typeof first): Promise<void> => {
    const { since } = await untilAnswer(() => tradesOf(by), hasOne);
    t.ok(since > tradedAt, 'the older trade is not listed any more');
    const gone = await tradesOf(by, `&from=${tradedAt}`);
    t.match(gone, { status: 410, message: /^Trades before [0-9]+ are not kept$/ });
  };
  await check(first);
  await first.stop();
  const second = await startTestService(options);
  t.teardown(() => second.stop());
  await check(second);
});
