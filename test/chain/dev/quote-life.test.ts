import t from 'tap';
import { maxUint256, parseEventLogs } from 'viem';
import { poolAbi } from '../../../src/chain/contracts/abi.js';
import type { Hex } from '../../../src/engine/quote.js';
import { refusal } from '../refusal.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);

async function poolEvents(hash: Hex) {
  const { logs } = await market.client.getTransactionReceipt({ hash });
  return parseEventLogs({ abi: poolAbi, logs });
}

t.test('a signed quote can be filled by anyone, and by any address that asks', async (t) => {
  const quote = await market.sign(call);
  t.equal(await market.reason(quote), 0);
  t.equal(await market.reason(quote, ONE / 3n, stranger.address), 0);
  t.equal(await market.filled(quote), 0n);
});

t.test('a partial fill counts, is announced, and leaves the rest fillable', async (t) => {
  const quote = await market.sign(call, { size: 3n * ONE });
  const hash = await market.fill(taker.address, quote, ONE);
  t.equal(await market.filled(quote), ONE);
  t.equal(await market.reason(quote, 2n * ONE), 0);
  t.equal(await market.reason(quote), 3, 'asked with its whole size it is overfilled');

  const [event] = await poolEvents(hash);
  t.equal(event?.eventName, 'FillQuoteOB');
  t.equal(event?.address, call.poolAddress);
  t.match(event?.args, {
    quoteOBHash: quote.quoteId,
    user: taker.address,
    provider: maker.address,
    contractSize: ONE,
    // 1 contract less the premium of 0.1; the premium and a fee of 0.08 % of the size.
    deltaMaker: { collateral: -9n * (ONE / 10n), longs: 0n, shorts: ONE },
    deltaTaker: { collateral: -ONE / 10n - ONE / 1250n, longs: ONE, shorts: 0n },
    premium: ONE / 10n,
    protocolFee: ONE / 1250n,
    totalReferralRebate: 0n,
    isBuy: true,
  });
});

t.test('a quote is filled to its last contract and no further', async (t) => {
  const quote = await market.sign(call, { size: 2n * ONE });
  await market.fill(taker.address, quote, ONE);
  t.equal(await refusal(market.fill(taker.address, quote, ONE + 1n)), 'Pool__QuoteOBOverfilled');
  t.equal(await refusal(market.fill(taker.address, quote, 2n * ONE + 1n)), 'Pool__AboveQuoteSize');
  await market.fill(taker.address, quote, ONE);
  t.equal(await market.filled(quote), 2n * ONE);
  t.equal(await market.reason(quote, 1n), 3);
});

t.test('its provider cancels it, whatever was filled before', async (t) => {
  const quote = await market.sign(call, { size: 2n * ONE });
  await market.fill(taker.address, quote, ONE);
  const hash = await market.cancel(maker.address, call.poolAddress, [quote.quoteId]);
  t.same(
    (await poolEvents(hash)).map(({ eventName, args }) => ({ eventName, args })),
    [{ eventName: 'CancelQuoteOB', args: { provider: maker.address, quoteOBHash: quote.quoteId } }],
  );
  t.equal(await market.filled(quote), maxUint256);
  t.equal(await market.reason(quote, ONE), 2);
  t.equal(await refusal(market.fill(taker.address, quote, ONE)), 'Pool__QuoteOBCancelled');
});

t.test('somebody else can announce its cancel, which changes nothing', async (t) => {
  const quote = await market.sign(call);
  const hash = await market.cancel(stranger.address, call.poolAddress, [quote.quoteId]);
  const [event] = await poolEvents(hash);
  t.match(event?.args, { provider: stranger.address, quoteOBHash: quote.quoteId });
  t.equal(await market.filled(quote), 0n);
  t.equal(await market.reason(quote), 0);
});

t.test('it lives through its deadline and dies a second later', async (t) => {
  const now = await market.now();
  const quote = await market.sign(call, { deadline: now + 100 });
  await market.moveTimeTo(now + 100);
  t.equal(await market.reason(quote), 0);
  await market.moveTimeTo(now + 101);
  t.equal(await market.reason(quote), 1);
  t.equal(await refusal(market.fill(taker.address, quote, ONE)), 'Pool__QuoteOBExpired');
});

t.test('a private quote is for its taker alone', async (t) => {
  const quote = await market.sign(call, { taker: taker.address });
  t.equal(await market.reason(quote), 0);
  t.equal(await market.reason(quote, ONE, stranger.address), 5);
  t.equal(await refusal(market.fill(stranger.address, quote, ONE)), 'Pool__InvalidQuoteOBTaker');
  await market.fill(taker.address, quote, ONE);
  t.equal(await market.filled(quote), ONE);
});

t.test('a reorg takes a fill back', async (t) => {
  const quote = await market.sign(call);
  await market.fill(taker.address, quote, ONE);
  t.equal(await market.filled(quote), ONE);
  await market.reorg(1);
  t.equal(await market.filled(quote), 0n);
  t.equal(await market.reason(quote), 0);
});
