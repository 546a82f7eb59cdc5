import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { encodeAdd } from '../../../src/chain/contracts/abi-encoding.js';
import { type PublicationOutcome, PublicationUnseen } from '../../../src/chain/publish/publisher.js';
import { TxReverted, WalletBusy, WouldRevert } from '../../../src/chain/wallet/errors.js';
import type { TxReceipt } from '../../../src/chain/wallet/transaction.js';
import type { Hex } from '../../../src/engine/quote.js';
import { sampleQuote, txHashOf } from '../../engine/samples.js';
import { FEES, first, MAX_TX_BYTES, newPublisher, second, STREAM, third } from './publisher-fixture.js';

t.test("a prefetched transaction is sent with the node's earlier answers", async (t) => {
  const { publisher, publish, prepared, sent } = newPublisher();
  publisher.prefetch([first, second]);
  publish(first, second);
  const data = encodeAdd([first, second]);
  t.strictSame(prepared, [{ to: STREAM, data }]);
  t.match(sent, [{ to: STREAM, data }]);
  t.equal(sent.length, 1);
  t.equal(await sent[0]?.prepared?.gas, 7n);
  t.equal(sent[0]?.prepared?.fees, FEES);
});

t.test('a quote that a reorg removed is pending until it is read again: new requests join', async (t) => {
  const { clock, publisher, publish, sent, mine } = newPublisher();
  const outcomes = publish(first, second);
  mine[0]?.();
  await turn();
  for (const { quoteId } of [first, second]) publisher.onEventRead(quoteId, null);
  await Promise.all(outcomes);
  publisher.onReorg(1);
  t.notOk(publisher.has(first), 'it stands in an older block');
  publisher.onReorg(0);
  publisher.onReorg(0); // repeated, as while the book cannot take it
  t.strictSame([...publisher.awaited()], [first, second]);
  const [again] = publish(first);
  t.equal(sent.length, 1, 'nothing is sent for it');
  publisher.onEventRead(first.quoteId, null);
  t.match(await again, { type: 'ENTERED' });
  const [never] = publish(second);
  clock.advance(1_000);
  t.match(await never, { type: 'FAILED', error: PublicationUnseen });
  publisher.onReorg(5);
  t.ok(publisher.has(second), 'in which block it has come again is not known');
});

t.test('one that is under way stays so where a reorg takes an earlier one of its quote back', async (t) => {
  const { publisher, publish, mine } = newPublisher();
  publish(first);
  mine[0]?.();
  await turn();
  publisher.onEventRead(first.quoteId, null);
  const [again] = publish(first);
  publisher.onReorg(0);
  publisher.onEventRead(first.quoteId, 'QuoteOBExpired');
  t.match(await again, { type: 'REFUSED' });
});

t.test('what an earlier run has on its way is joined in whatever company it is posted', async (t) => {
  const { clock, publisher, publish, sent, mined, left } = newPublisher();
  const receipt = { txHash: txHashOf(9), blockNumber: 1, succeeded: true } as TxReceipt;
  left.push({ data: encodeAdd([first, second]), end: Promise.resolve(receipt) });
  t.ok(publisher.has(second));
  t.notOk(publisher.has(third));
  const [joined] = publish(second, third);
  t.match(sent, [{ data: encodeAdd([third]) }]);
  t.strictSame([...publisher.awaited()], [second, third]);
  await turn();
  t.strictSame(mined, [receipt.txHash], 'its events are read at once');
  publisher.onEventRead(second.quoteId, null);
  t.match(await joined, { type: 'ENTERED' });
  const [never] = publish(first);
  await turn();
  clock.advance(1_000);
  t.match(await never, { type: 'FAILED', error: PublicationUnseen });
});

t.test('where that is given up it is sent, unless others have published it meanwhile', async (t) => {
  const { clock, publisher, publish, sent, left } = newPublisher();
  let giveUp: (end: null) => void = () => undefined;
  left.push({ data: encodeAdd([first, second, third]), end: new Promise((resolve) => (giveUp = resolve)) });
  const [, entered] = publish(first, second, third);
  publisher.onEventRead(second.quoteId, null);
  giveUp(null);
  await turn();
  publisher.onEventRead(third.quoteId, null); // while it waits to be sent
  clock.advance(0);
  t.match(sent, [{ data: encodeAdd([first]) }]);
  t.equal(sent.length, 1);
  t.match(await entered, { type: 'ENTERED' });
});

t.test('where that reverted its quotes failed', async (t) => {
  const { publish, left } = newPublisher();
  left.push({ data: encodeAdd([first]), end: Promise.resolve({ succeeded: false } as TxReceipt) });
  t.match(await Promise.all(publish(first)), [{ type: 'FAILED', error: TxReverted }]);
});

t.test('an estimate is not taken for other quotes than those it was made for', (t) => {
  for (const published of [[first, third], [first], [first, second, third]]) {
    const { publisher, publish, sent } = newPublisher();
    publisher.prefetch([first, second]);
    publish(...published);
    t.strictSame(sent, [{ to: STREAM, data: encodeAdd(published), prepared: undefined }]);
  }
  t.end();
});

t.test('the same quote posted again has all that asked anew', (t) => {
  const { publisher, publish, sent } = newPublisher();
  publisher.prefetch([first]);
  publish({ ...first });
  t.equal(sent[0]?.prepared, undefined);
  t.end();
});

t.test('prefetches nothing while a publication is pending, or for two transactions', (t) => {
  const { publisher, publish, prepared } = newPublisher();
  publisher.prefetch([first, second, third, sampleQuote({ n: 4 })]);
  publisher.prefetch([]);
  publish(first);
  publisher.prefetch([second]);
  t.strictSame(prepared, []);
  t.end();
});

t.test('prefetches only the first of simultaneous quotes, and the next after the answer', async (t) => {
  const { publisher, prepared } = newPublisher();
  publisher.prefetch([first]);
  publisher.prefetch([second]);
  t.match(prepared, [{ data: encodeAdd([first]) }]);
  t.equal(prepared.length, 1);
  await new Promise((resolve) => setImmediate(resolve));
  publisher.prefetch([third]);
  t.match(prepared.slice(1), [{ data: encodeAdd([third]) }]);
  t.equal(prepared.length, 2);
});

t.test('an estimate that fails is heard of by what is sent with it, and by nobody else', async (t) => {
  const error = new WouldRevert('0x');
  const { publisher, publish, sent } = newPublisher(() => Promise.reject(error));
  publisher.prefetch([first]);
  await new Promise((resolve) => setImmediate(resolve));
  publish(first);
  await t.rejects(sent[0]?.prepared?.gas ?? Promise.resolve(0n), error);
});

t.test('events are awaited of what was sent, until it is settled, and not of what waits', (t) => {
  const { publisher, publish } = newPublisher();
  publish(first);
  publish(second);
  publish(third);
  t.strictSame([...publisher.awaited()], [first, second]);
  publisher.onEventRead(first.quoteId, null);
  t.strictSame([...publisher.awaited()], [second]);
  t.end();
});

t.test('what is read of a quote settles its publication, and of a quote of others none', async (t) => {
  const { publisher, publish } = newPublisher();
  const [entered, refused] = publish(first, second);
  publisher.onEventRead(third.quoteId, null);
  publisher.onEventRead(first.quoteId, null);
  publisher.onEventRead(second.quoteId, 'QuoteOBExpired');
  t.strictSame(await entered, { type: 'ENTERED', isSent: true });
  t.strictSame(await refused, { type: 'REFUSED', isSent: true, reason: 'QuoteOBExpired' });
});

t.test('what others publish while ours waits is not paid for again', async (t) => {
  const { clock, publisher, publish, sent, mine } = newPublisher();
  publish(first);
  publish(second);
  const [outcome] = publish(third);
  publisher.onEventRead(third.quoteId, null);
  t.strictSame(await outcome, { type: 'ENTERED', isSent: false });
  mine[0]?.();
  await turn();
  clock.advance(0);
  t.equal(sent.length, 2);
});

t.test('what comes for a quote that is under way joins it, and has the same outcome', async (t) => {
  const { publisher, publish, sent } = newPublisher();
  const outcomes = [...publish(first), ...publish({ ...first })];
  t.equal(sent.length, 1);
  publisher.onEventRead(first.quoteId, 'QuoteOBExpired');
  const refused = { type: 'REFUSED', isSent: true, reason: 'QuoteOBExpired' };
  t.strictSame(await Promise.all(outcomes), [refused, refused]);
  t.notOk(publisher.has(first));
});

t.test('one that was mined and never turns up is given up in time, and may be published again', async (t) => {
  const { clock, publisher, publish, sent, mine, readAgain } = newPublisher();
  const [lost] = publish(first);
  mine[0]?.();
  await turn();
  clock.advance(999);
  t.strictSame([publisher.has(first), readAgain], [true, []]);
  clock.advance(1);
  t.strictSame(readAgain, [1], 'its block is read once more before that');
  t.match(await lost, { type: 'FAILED', error: PublicationUnseen });
  publish(first);
  t.equal(sent.length, 2);
});

t.test('a publication whose block has not been read stays pending: new requests join', async (t) => {
  const { clock, publisher, reader, publish, sent, mine } = newPublisher();
  reader.readTo = 0;
  const [late] = publish(first);
  mine[0]?.();
  await turn();
  for (let waited = 0; waited < 5; waited++) clock.advance(1_000);
  publish(first);
  t.equal(sent.length, 1);
  reader.readTo = 1;
  clock.advance(1_000);
  t.match(await late, { type: 'FAILED', error: PublicationUnseen });
  t.notOk(publisher.has(first));
});

t.test('one whose event is in the block when that is read again has entered', async (t) => {
  const { clock, publish, mine, readAgain } = newPublisher(undefined, undefined, (publisher) =>
    publisher.onEventRead(first.quoteId, null),
  );
  const [late] = publish(first);
  mine[0]?.();
  await turn();
  clock.advance(1_000);
  t.match(await late, { type: 'ENTERED' });
  t.strictSame(readAgain, [1]);
});

t.test('one whose block cannot be read again is given up as long after that', async (t) => {
  const { clock, publisher, publish, mine } = newPublisher(undefined, undefined, () => new Promise(() => undefined));
  const [lost] = publish(first);
  mine[0]?.();
  await turn();
  clock.advance(1_000);
  clock.advance(999);
  t.ok(publisher.has(first));
  clock.advance(1);
  t.match(await lost, { type: 'FAILED', error: PublicationUnseen });
});

t.test('a quote that was posted again is not given up with what it was first published with', async (t) => {
  const { clock, publisher, publish, mine } = newPublisher();
  const [, lost] = publish(first, second);
  mine[0]?.();
  await turn();
  publisher.onEventRead(first.quoteId, null);
  publish(first); // a reorg took it back
  clock.advance(1_000);
  t.match(await lost, { type: 'FAILED', error: PublicationUnseen });
  t.ok(publisher.has(first));
});

t.test('the last one that waits does not stay behind', async (t) => {
  const { clock, publish, sent, mine } = newPublisher();
  publish(first);
  publish(second);
  publish(third);
  mine[0]?.();
  await turn();
  clock.advance(0);
  t.equal(sent[2]?.data, encodeAdd([third]));
});

t.test('no more transactions are under way than may be, and what waits goes into the next', async (t) => {
  const { clock, publish, sent, mine } = newPublisher();
  publish(first);
  publish(second);
  const late = [3, 4, 5].map((n) => sampleQuote({ n }));
  for (const quote of late) publish(quote);
  t.strictSame(
    sent.map(({ data }) => data),
    [encodeAdd([first]), encodeAdd([second])],
  );
  mine[0]?.();
  await turn();
  clock.advance(0);
  t.strictSame(
    sent.slice(2).map(({ data }) => data),
    [encodeAdd(late)],
  );
});

t.test('what one transaction cannot hold goes into the next beside it', (t) => {
  const { clock, publish, sent } = newPublisher();
  const quotes = [1, 2, 3, 4].map((n) => sampleQuote({ n }));
  publish(...quotes);
  clock.advance(0);
  t.strictSame(
    sent.map(({ data }) => data),
    [encodeAdd(quotes.slice(0, 3)), encodeAdd(quotes.slice(3))],
  );
  t.end();
});

t.test('reports each mined transaction, so that its events are read', async (t) => {
  const { publish, mine, mined } = newPublisher();
  publish(first);
  mine[0]?.();
  await turn();
  t.strictSame(mined, [txHashOf(1)]);
});

t.test('when a transaction fails or reverts so do all its quotes, and may be published again', async (t) => {
  const fail = { refuse: new WalletBusy('busy'), revert: new TxReverted(`The transaction ${txHashOf(1)} reverted`) };
  for (const [how, error] of Object.entries(fail)) {
    const { publisher, publish, mine, refuse } = newPublisher();
    const outcomes = publish(first, second);
    if (how === 'refuse') refuse[0]?.(error);
    else mine[0]?.(false);
    const failed = { type: 'FAILED', error };
    t.strictSame(await Promise.all(outcomes), [failed, failed]);
    t.notOk(publisher.has(first));
  }
});

t.test('a transaction holds as many quotes as its bytes allow', (t) => {
  const quotes = Array.from({ length: 200 }, (_, n) => sampleQuote({ n }));
  const bytesOf = (data: Hex = '0x'): number => (data.length - 2) / 2;
  const oneMore = bytesOf(encodeAdd(quotes.slice(0, 2))) - bytesOf(encodeAdd(quotes.slice(0, 1)));
  for (const most of [90_000, MAX_TX_BYTES, MAX_TX_BYTES - 1]) {
    const { publish, sent } = newPublisher(undefined, most);
    publish(...quotes);
    const bytes = bytesOf(sent[0]?.data);
    t.ok(bytes <= most && bytes + oneMore > most, `${bytes} bytes of ${most}`);
  }
  t.end();
});

t.test('whatever is not settled takes room', (t) => {
  const { publisher, publish } = newPublisher();
  const room = publisher.room;
  publish(first);
  publish(second, second);
  t.equal(publisher.room, room - 2);
  publisher.onEventRead(first.quoteId, null);
  t.equal(publisher.room, room - 1);
  t.end();
});

t.test('once stopped it sends nothing more, and what is under way stays unanswered', async (t) => {
  const { clock, publisher, publish, sent, mine } = newPublisher();
  const answered: PublicationOutcome[] = [];
  for (const outcome of [...publish(first), ...publish(second), ...publish(third)]) {
    void outcome.then((told) => answered.push(told));
  }
  mine[0]?.();
  await turn();
  publisher.stop();
  clock.advance(10_000);
  await turn();
  t.equal(sent.length, 2);
  t.strictSame(answered, []);
});

t.test('one whose time is up while it waits is neither sent nor paid for', async (t) => {
  const { reader, clock, publisher, publish, sent, mine } = newPublisher(undefined, 512 + 68);
  const [fourth, fifth] = [sampleQuote({ n: 4 }), sampleQuote({ n: 5 })];
  const [, , , expired, good] = publish(first, second, third, fourth, fifth);
  clock.advance(0);
  t.equal(sent.length, 2, 'as many transactions as may be under way');
  for (const { quoteId } of [third, fourth]) reader.due.add(quoteId);
  mine[0]?.();
  await turn();
  for (let batch = 0; batch < 3; batch++) clock.advance(0);
  t.strictSame(await expired, { type: 'REFUSED', isSent: false, reason: 'QuoteOBExpired' });
  t.match(sent.slice(2), [{ data: encodeAdd([fifth]) }], 'the next goes on behind them');
  publisher.onEventRead(fifth.quoteId, null);
  t.strictSame(await good, { type: 'ENTERED', isSent: true });
});
