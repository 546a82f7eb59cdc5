import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import t from 'tap';
import { decodeEventLog, encodeAbiParameters, getAbiItem, getAddress, pad } from 'viem';
import { orderbookStreamAbi } from '../../../src/chain/contracts/abi.js';
import type { ChainLog } from '../../../src/chain/contracts/blocks-and-logs.js';
import { publishedQuote } from '../../../src/chain/contracts/quote-types.js';
import { decodePublishedQuote, publishQuoteTopics } from '../../../src/chain/follow/published-quotes.js';
import { type Hex, type Quote, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { POOL, quoteIdOf, txHashOf } from '../../engine/samples.js';
import { hexOf } from '../hex-arbitrary.js';

const event = getAbiItem({ abi: orderbookStreamAbi, name: 'PublishQuote' });
const plain = event.inputs.filter((input) => !('indexed' in input));

const address = hexOf(20).map((each) => getAddress(each));
const uint256 = fc.oneof(fc.bigInt(0n, 2n ** 256n - 1n), fc.bigInt(0n, 10n ** 20n));
const seconds = fc.oneof(fc.bigInt(0n, 2n ** 53n - 1n), fc.bigInt(0n, 2n ** 54n));

const published = fc.record({
  poolKeyHash: hexOf(32),
  provider: address,
  taker: address,
  price: uint256,
  size: uint256,
  isBuy: fc.boolean(),
  deadline: seconds,
  salt: seconds,
  signature: fc.record({ r: hexOf(32), s: hexOf(32), v: fc.integer({ min: 0, max: 255 }) }),
  poolKey: fc.record({
    base: address,
    quote: address,
    oracleAdapter: address,
    strike: uint256,
    maturity: seconds,
    isCallPool: fc.boolean(),
  }),
});

function logOf(topics: readonly Hex[], data: Hex): ChainLog {
  return { address: '0x', topics, data, blockNumber: 1, blockHash: '0x', txHash: '0x', logIndex: 0, timestamp: null };
}

type Published = typeof published extends fc.Arbitrary<infer T> ? T : never;

function encoded({ poolKeyHash, provider, taker, price, size, isBuy, deadline, salt, signature, poolKey }: Published) {
  const data = encodeAbiParameters(plain, [taker, price, size, isBuy, deadline, salt, signature, poolKey]);
  return logOf([publishQuoteTopics[0], poolKeyHash, pad(provider)], data);
}

const lower = (text: string) => text.toLowerCase();
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

t.test('an event is read as viem reads it, unless a number in it is too large for JSON', async (t) => {
  fc.assert(
    fc.property(published, (each) => {
      const log = encoded(each);
      const { args } = decodeEventLog({
        abi: orderbookStreamAbi,
        eventName: 'PublishQuote',
        topics: [...log.topics] as [Hex, ...Hex[]],
        data: log.data,
      });
      const read = decodePublishedQuote(log);
      const { poolKey, ...words } = args;
      if ([words.deadline, words.salt, poolKey.maturity].some((number) => number > SAFE)) return read === null;
      t.strictSame(read, {
        poolKey: {
          ...poolKey,
          base: lower(poolKey.base),
          quote: lower(poolKey.quote),
          oracleAdapter: lower(poolKey.oracleAdapter),
          maturity: Number(poolKey.maturity),
        },
        words: {
          provider: lower(words.provider),
          taker: lower(words.taker),
          price: words.price,
          size: words.size,
          isBuy: words.isBuy,
          deadline: Number(words.deadline),
          salt: Number(words.salt),
          signature: words.signature,
        },
      });
      return true;
    }),
    { numRuns: 50 },
  );
});

t.test('what is no such event is not read', async (t) => {
  const [sample] = fc.sample(published, { numRuns: 1, seed: 1 });
  if (sample === undefined) throw new Error('there is a sample');
  const log = encoded({ ...sample, deadline: 1n, salt: 1n, poolKey: { ...sample.poolKey, maturity: 1n } });
  t.not(decodePublishedQuote(log), null);
  t.equal(decodePublishedQuote({ ...log, data: log.data.slice(0, -2) as Hex }), null, 'cut short');
  t.equal(decodePublishedQuote({ ...log, data: '0x' }), null, 'empty');
  t.equal(decodePublishedQuote({ ...log, topics: log.topics.slice(0, 2) }), null, 'without a provider');
  t.equal(
    decodePublishedQuote({ ...log, topics: [`0x${'11'.repeat(32)}`, ...log.topics.slice(1)] }),
    null,
    'of a name',
  );
  const noBool = `${log.data.slice(0, 2 + 3 * 64)}${'2'.padStart(64, '0')}${log.data.slice(2 + 4 * 64)}` as Hex;
  t.equal(decodePublishedQuote({ ...log, data: noBool }), null, 'neither true nor false');
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

t.test('a quote that is kept keeps nothing of the text of its log', (t) => {
  // Such a log says more than the event has fields: that is passed over.
  const surplus = '0'.repeat(4 << 10);
  const quotes = 4000;
  const [sample] = fc.sample(published, { numRuns: 1, seed: 3 });
  const kept: Quote[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < quotes; n += 1) {
    if (sample === undefined) break;
    const short = {
      ...sample,
      taker: ZERO_ADDRESS,
      deadline: 2n,
      salt: BigInt(n),
      poolKey: { ...sample.poolKey, maturity: 3n },
    };
    const log = encoded(short);
    // As a node's answer is read: each text in a piece of its own.
    const { topics, data } = JSON.parse(JSON.stringify({ ...log, data: `${log.data}${surplus}` })) as ChainLog;
    const read = decodePublishedQuote(logOf(topics, data));
    if (read === null) break;
    const origin = { blockNumber: 1, txHash: txHashOf(n), logIndex: n };
    kept.push(publishedQuote({ ...read.words, pool: POOL, quoteId: quoteIdOf(n) }, 1, origin));
  }
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / quotes;
  t.equal(kept.length, quotes);
  t.ok(bytes < 900, `${bytes} bytes a quote`);
  t.equal(kept[0]?.provider, kept[1]?.provider);
  t.strictSame(kept[0]?.signature, { ...sample?.signature });
  t.end();
});
