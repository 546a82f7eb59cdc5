import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { QuoteHistoryResult } from '../../src/wire/history.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { untilAnswer } from '../until.js';

/** GET /quotes/{quoteId}/history, from the log's files on the disk. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const running = await startTestService({ chain, walletKey: null, keepsLog: true, limits: { lowerHeadMs: 100 } });
t.teardown(() => running.stop());
const market = new Market(chain);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const rest = new RestClient(running.httpUrl, running.apiKey);

async function history(quoteId: string, query = ''): Promise<QuoteHistoryResult> {
  const { status, body } = await rest.get(`/quotes/${quoteId}/history${query}`);
  t.equal(status, 200);
  return body as unknown as QuoteHistoryResult;
}

/** Once the quote's last event is of that type. */
function untilLastIs(quoteId: string, type: string): Promise<QuoteHistoryResult> {
  return untilAnswer(
    () => history(quoteId),
    ({ events }) => events.at(-1)?.type === type,
  );
}

await t.test('the history of a quote has every event with its cause, block and transaction', async (t) => {
  const offer = await market.sign(call);
  await market.publish(stranger.address, [offer]);
  await untilLastIs(offer.quoteId, 'POSTED');
  await market.fill(taker.address, offer, ONE / 4n);
  await untilLastIs(offer.quoteId, 'FILLED');
  await market.cancel(maker.address, call.poolAddress, [offer.quoteId]);
  const { events, next, since } = await untilLastIs(offer.quoteId, 'REMOVED');
  t.strictSame([next, since], [null, 0]);
  t.strictSame(
    events.map(({ type, fillableSize, size, why, cause }) => [type, fillableSize, size, why, cause?.chain]),
    [
      ['POSTED', `${ONE}`, undefined, undefined, 'stream'],
      ['TRADED', undefined, `${ONE / 4n}`, undefined, 'settlement'],
      ['FILLED', `${(ONE * 3n) / 4n}`, `${ONE / 4n}`, undefined, 'settlement'],
      ['REMOVED', '0', undefined, 'CANCELLED', 'settlement'],
    ],
  );
  t.equal(events[0]?.quote?.quoteId, offer.quoteId);
  t.equal(events[1]?.taker, taker.address.toLowerCase());
  for (const { cause } of events) {
    const hash = cause?.txHash ?? '0x';
    const receipt = await market.client.getTransactionReceipt({ hash });
    t.equal(Number(receipt.blockNumber), cause?.blockNumber);
  }
  const seqs = events.map(({ seq }) => seq);
  const [first, second, third, fourth] = seqs;
  const page = await history(offer.quoteId, `?afterSeq=${first}&limit=2`);
  t.strictSame([page.events.map(({ seq }) => seq), page.next], [[second, third], third]);
  const rest = await history(offer.quoteId.toUpperCase().replace('0X', '0x'), `?afterSeq=${page.next}`);
  t.strictSame([rest.events.map(({ seq }) => seq), rest.next], [[fourth], null], 'an id in any letter case');
});

await t.test('an unknown id has no events, and what is no id is refused', async (t) => {
  t.strictSame((await history(`0x${'ab'.repeat(32)}`)).events, []);
  for (const target of ['/quotes/0xab/history', `/quotes/0x${'ab'.repeat(32)}/history?limit=0`]) {
    const { status, body } = await rest.get(target);
    t.strictSame([status, Array.isArray(body)], [400, true], target);
  }
});
