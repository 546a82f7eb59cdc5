import fc from 'fast-check';
import t, { type Test } from 'tap';
import { concat, encodeAbiParameters, encodeEventTopics, maxUint256, numberToHex, pad, size, slice } from 'viem';
import { poolAbi, poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import { sendTogether } from '../../../src/chain/dev/dev-client.js';
import { publishQuoteTopics } from '../../../src/chain/follow/published-quotes.js';
import type { Hex } from '../../../src/engine/quote.js';
import { onChain } from '../dev-actions.js';
import { Market, ONE } from '../dev/market.js';
import { httpRpc } from '../following.js';
import { fillLog, logsWhatItIsTold } from '../hostile-contracts.js';
import { MarketBook } from '../market-book.js';
import { RpcProxy } from '../rpc-proxy.js';
import { type SignedOffer, signOffer } from '../sign-quote.js';

const market = await Market.open(t);
const { maker, taker, stranger, operator } = market;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const { chainId, contracts } = market.chain;

/** A test on a chain and with a book of its own. */
function onChainAlone(name: string, test: (t: Test, book: MarketBook) => Promise<void>): void {
  void t.test(name, (t) => MarketBook.isolated(market, {}, (book) => test(t, book)));
}

function cancelLog(provider: Hex, quoteId: Hex): Hex {
  const topics = encodeEventTopics({ abi: poolAbi, eventName: 'CancelQuoteOB', args: { provider } });
  return concat([...(topics as Hex[]), quoteId]);
}

/** The `PublishQuote` of a quote, signed or not; nobody reads the hash of its key. */
function publishLog({ pool, signature, ...terms }: SignedOffer): Hex {
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = pool.poolKey;
  const { r, s, v } = signature;
  const amounts = [terms.price, terms.size, Number(terms.isBuy), terms.deadline, terms.salt];
  const words = [terms.taker, ...amounts, r, s, v, base, quote, oracleAdapter, strike, maturity, Number(isCallPool)];
  const topics = [...publishQuoteTopics, pad('0x'), pad(terms.provider)];
  return concat([...topics, ...words.map((word) => pad(typeof word === 'string' ? word : numberToHex(word)))]);
}

async function emitFrom(address: Hex, topics: 2 | 3 | 4, log: Hex): Promise<void> {
  await market.client.setCode({ address, bytecode: logsWhatItIsTold(topics) });
  await market.send(stranger.address, address, log);
}

onChainAlone('what another contract says of a quote counts for nothing', async (t, book) => {
  const offer = await market.sign(call);
  await book.publish(offer);
  const fake: Hex = '0x00000000000000000000000000000000000fa4e0';
  await emitFrom(fake, 4, fillLog(offer, ONE, taker.address));
  await emitFrom(fake, 2, cancelLog(offer.provider, offer.quoteId));
  await emitFrom(fake, 3, publishLog(await market.sign(call)));
  await book.upToDate();
  t.equal(book.fillable(offer), ONE);
  t.strictSame(book.following.ignored, ['OTHER_CONTRACT', 'OTHER_CONTRACT']);
  t.strictSame(book.ids, [offer.quoteId], 'a stream is where the profile says');
});

onChainAlone('what another pool says of a quote counts for nothing, be it a pool with quotes', async (t, book) => {
  const [offer, other] = [await market.sign(call), await market.sign(put)];
  await book.publish(offer, other);
  await market.cancel(maker.address, put.poolAddress, [offer.quoteId]);
  await emitFrom(put.poolAddress, 4, fillLog(offer, ONE, taker.address));
  await book.upToDate();
  t.equal(book.fillable(offer), ONE);
  t.strictSame(book.following.ignored, ['UNKNOWN_QUOTE', 'UNKNOWN_QUOTE']);
});

onChainAlone('a cancel counts when it is the provider’s own alone', async (t, book) => {
  const offer = await market.sign(call);
  await book.publish(offer);
  await market.cancel(stranger.address, call.poolAddress, [offer.quoteId]);
  await book.upToDate();
  t.equal(book.reasonOf(offer), 0);
  t.strictSame(book.following.ignored, ['OTHER_PROVIDER']);
  await market.cancel(maker.address, call.poolAddress, [offer.quoteId]);
  await book.upToDate();
  t.equal(book.reasonOf(offer), null);
});

onChainAlone('fills and cancels of unknown quotes, and events of another form, are passed over', async (t, book) => {
  const [offer, unknown] = [await market.sign(call), await market.sign(call)];
  await book.publish(offer);
  await market.fill(taker.address, unknown, ONE / 2n);
  await market.cancel(maker.address, call.poolAddress, [unknown.quoteId]);
  const bytecode = await market.client.getCode({ address: call.poolAddress });
  await emitFrom(call.poolAddress, 4, slice(fillLog(offer, ONE, taker.address), 0, 4 * 32 + 40));
  await emitFrom(call.poolAddress, 2, slice(cancelLog(offer.provider, offer.quoteId), 0, 2 * 32));
  await market.client.setCode({ address: call.poolAddress, bytecode: bytecode ?? '0x' });
  await market.fill(taker.address, offer, ONE / 4n);
  await book.upToDate();
  t.strictSame([...book.following.ignored].sort(), ['MALFORMED', 'MALFORMED', 'UNKNOWN_QUOTE', 'UNKNOWN_QUOTE']);
  t.equal(book.fillable(offer), (3n * ONE) / 4n, 'what follows them is read');
  t.strictSame(book.following.failures, []);
});

void t.test('a block with more logs than a node will answer is asked for what its pools and tokens say', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const [filled, cancelled, withoutMeans] = [
      await market.sign(call),
      await market.sign(put),
      await market.sign(call, {}, stranger),
    ];
    await book.publish(filled, cancelled, withoutMeans);
    proxy.trick = ({ method, params: [filter] }) => {
      const isOfAnyone = method === 'eth_getLogs' && (filter as { address?: unknown }).address === undefined;
      return isOfAnyone ? { error: { code: -32005, message: 'query returned more than 10000 results' } } : 'PASS';
    };
    await emitFrom('0x00000000000000000000000000000000000fa4e0', 4, fillLog(filled, ONE, taker.address));
    await market.fill(taker.address, filled, ONE / 2n);
    await market.cancel(maker.address, put.poolAddress, [cancelled.quoteId]);
    await market.approve(stranger.address, call.poolKey.base, contracts.erc20Router, 0n);
    await book.upToDate();
    t.equal(book.fillable(filled), ONE / 2n);
    t.equal(book.reasonOf(cancelled), null);
    t.not(book.reasonOf(withoutMeans), 0);
    t.strictSame(book.following.ignored, [], 'what others say there is not even heard');
  });
});

onChainAlone('a deployment counts when it is the factory’s own alone', async (t, book) => {
  await book.publish(await market.sign(call));
  const known = [...book.following.engine.pools()].length;
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = onChain(call.poolKey);
  const topics = encodeEventTopics({ abi: poolFactoryAbi, eventName: 'PoolDeployed', args: { base, quote } }) as Hex[];
  const types = ['address', 'uint256', 'uint256', 'bool', 'address'].map((type) => ({ type }));
  const data = encodeAbiParameters(types, [oracleAdapter, strike, maturity, isCallPool, stranger.address]);
  await market.client.setCode({ address: call.poolAddress, bytecode: logsWhatItIsTold(3) });
  await market.send(stranger.address, call.poolAddress, concat([...topics, data]));
  await book.upToDate();
  t.strictSame(book.following.ignored, ['OTHER_CONTRACT']);
  t.equal([...book.following.engine.pools()].length, known);
});

onChainAlone(
  'a published quote that can never be filled is refused by its reason, and the next one is read',
  async (t, book) => {
    const now = await market.now();
    const elsewhere = await signOffer(maker, chainId + 1, { ...(await market.sign(call)) });
    const good = await market.sign(call);
    const badKey = { ...call, poolKey: { ...call.poolKey, strike: 1801n * ONE } };
    const spent = await market.sign(call);
    await market.fill(taker.address, spent, ONE);
    await book.publish(
      elsewhere,
      { ...good, provider: stranger.address },
      await market.sign(call, { deadline: now - 1 }),
      await market.sign(call, { price: ONE + 1n }),
      await market.sign(call, { size: 0n }),
      await market.sign(call, { size: maxUint256 }),
      await market.sign(put, { size: 2n ** 254n }),
      await market.sign(badKey),
      await market.sign(call, { salt: 2 ** 53 }),
      spent,
      good,
      good,
    );
    const refused = [
      'MALFORMED',
      'IMPOSSIBLE_POOL',
      'BAD_SIGNATURE',
      'BAD_SIGNATURE',
      'EXPIRED',
      'OUT_OF_BOUNDS_PRICE',
    ];
    const sizes = ['IMPOSSIBLE_SIZE', 'IMPOSSIBLE_SIZE', 'IMPOSSIBLE_SIZE', 'NOT_FILLABLE'];
    t.strictSame([...book.following.refused].sort(), [...refused, ...sizes].sort());
    t.strictSame(book.ids, [good.quoteId]);
    t.strictSame(book.following.failures, []);
  },
);

/** One word of a published quote's data, or its end, as it never leaves the stream contract. */
const wound = fc.oneof(
  fc.record({ at: fc.nat(14), word: fc.oneof(fc.bigInt(0n, maxUint256), fc.bigInt(0n, 300n)) }),
  fc.record({ cutTo: fc.nat(14 * 32 + 31) }),
  fc.record({ topic: fc.constantFrom(1, 2), word: fc.bigInt(0n, maxUint256) }),
);
type Wound = { at: number; word: bigint } | { cutTo: number } | { topic: number; word: bigint };

function wounded(log: Hex, how: Wound): Hex {
  const head = 3 * 32;
  if ('cutTo' in how) return slice(log, 0, head + how.cutTo);
  const start = 'at' in how ? head + how.at * 32 : how.topic * 32;
  const word = numberToHex(how.word, { size: 32 });
  const rest = start + 32 < size(log) ? slice(log, start + 32) : '0x';
  return concat([slice(log, 0, start), word, rest]);
}

onChainAlone('whatever the words of an event are, what was not signed so is not in the book', async (t, book) => {
  const offers = await Promise.all(Array.from({ length: 12 }, (_, n) => market.sign(n % 2 === 0 ? call : put)));
  const signed = new Set(offers.map(({ quoteId }) => quoteId));
  await market.client.setCode({ address: contracts.orderbookStream, bytecode: logsWhatItIsTold(3) });
  const wounds = fc.array(fc.record({ of: fc.nat(offers.length - 2), wound }), { minLength: 20, maxLength: 60 });
  let events = 0;
  await fc.assert(
    fc.asyncProperty(wounds, async (all) => {
      const logs = all.flatMap(({ of, wound: how }) => (offers[of] ? [wounded(publishLog(offers[of]), how)] : []));
      events += logs.length;
      const transactions = logs.map((data) => ({ from: operator.address, to: contracts.orderbookStream, data }));
      await sendTogether(market.client, transactions);
      await book.upToDate();
      return book.ids.every((quoteId) => signed.has(quoteId)) && book.following.failures.length === 0;
    }),
    { numRuns: 6 },
  );
  t.ok(book.following.refused.length > events / 2, 'most of them were refused, and counted');
  const last = offers.at(-1);
  if (last === undefined) throw new Error('There are offers');
  await market.send(operator.address, contracts.orderbookStream, publishLog(last));
  await book.upToDate();
  t.equal(book.reasonOf(last), 0, 'an unharmed event after them is read');
});
