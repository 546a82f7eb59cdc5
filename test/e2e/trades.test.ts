import t from 'tap';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { CandlesResult, TradesResult } from '../../src/wire/market.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
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

async function served(): Promise<TradesResult['trades']> {
  return ((await rest.get(`/trades?${about}`)).body as unknown as TradesResult).trades;
}

/** The fields that the event has. */
function ofEvent(trade: TradesResult['trades'][number]): Partial<typeof trade> {
  const fields = Object.entries(trade).filter(([name]) => !['poolAddress', 'instrument', 'time'].includes(name));
  return Object.fromEntries(fields);
}

/** Once the service has as many trades, the newest in the same block. */
async function sameAsOnChain(): Promise<void> {
  const wanted = await onChain();
  for (let tries = 0; ; tries += 1) {
    const trades = await served();
    const found = trades.map(ofEvent);
    if (
      JSON.stringify(found.map(({ txHash }) => txHash)) ===
        JSON.stringify(wanted.map((trade) => 'txHash' in trade && trade.txHash)) ||
      tries > 200
    ) {
      t.strictSame(found, wanted);
      return sameCandles(trades);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function sameCandles(trades: TradesResult['trades']): Promise<void> {
  const { candles } = (await rest.get(`/candles?${about}&interval=1h`)).body as unknown as CandlesResult;
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

await t.test('trades and candles equal what the chain says, also of a quote that was never published', async () => {
  const published = await market.sign(call);
  await market.publish(stranger.address, [published]);
  await market.fill(taker.address, published, ONE / 4n);
  await market.fill(taker.address, await market.sign(call, { price: ONE / 10n }), ONE / 2n);
  await market.fill(taker.address, await market.sign(call, { isBuy: true }), ONE / 8n);
  await sameAsOnChain();
  t.equal((await served()).length, 3);
});

await t.test('a reorg takes its trades out, and what is mined again comes back', async () => {
  await market.reorg(2);
  await sameAsOnChain();
  t.equal((await served()).length, 1);
  await market.fill(taker.address, await market.sign(call, { price: ONE / 5n }), ONE / 2n);
  await sameAsOnChain();
});

await t.test('pages, filters and refusals', async (t) => {
  const [newest, oldest] = await served();
  const first = (await rest.get(`/trades?${about}&limit=1`)).body as unknown as TradesResult;
  t.strictSame(first.trades, [newest]);
  const second = (await rest.get(`/trades?${about}&limit=1&cursor=${first.next}`)).body as unknown as TradesResult;
  t.strictSame([second.trades, second.next], [[oldest], null]);
  t.strictSame((await rest.get(`/trades?${about}&side=sell`)).body, { ...second, trades: [] });
  const gone = await rest.get(`/trades?${about}&from=5`);
  t.match([gone.status, gone.body], [410, { message: /Trades before [0-9]+ are not kept/ }]);
  t.equal((await rest.get(`/candles?${about}&interval=2m`)).status, 400);
  t.equal((await rest.get('/trades?chainId=42161')).status, 400);
});
