import t from 'tap';
import { encodeAdd, Publisher } from '../../src/chain/publisher.js';
import type { IdentifiedQuote } from '../../src/chain/quote-states.js';
import type { TxRequest } from '../../src/chain/own-tx.js';
import type { Fees } from '../../src/chain/fees.js';
import type { TxReceipt } from '../../src/chain/receipts.js';
import { WouldRevert } from '../../src/chain/wallet-errors.js';
import type { Means } from '../../src/chain/wallet.js';
import type { Hex } from '../../src/engine/quote.js';
import { address, sampleQuote } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const STREAM = address(0x99);
const FEES = Promise.resolve({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n });
const [first, second, third] = [1, 2, 3].map((n): IdentifiedQuote => sampleQuote({ n })) as [
  IdentifiedQuote,
  IdentifiedQuote,
  IdentifiedQuote,
];
/** Three quotes and what stands before them. */
const MAX_TX_BYTES = 3 * 512 + 68;

interface Sent extends TxRequest {
  /** Undefined: the wallet has to ask for them. */
  readonly means: Means | undefined;
}

/** A publisher whose wallet only writes down: nothing is ever mined. */
function newPublisher(estimate: () => Promise<bigint> = () => Promise.resolve(7n), asked: Promise<Fees> = FEES) {
  const clock = new ManualClock();
  const prepared: Hex[] = [];
  const sent: Sent[] = [];
  const wallet = {
    address: address(1),
    prepare({ data }: TxRequest) {
      prepared.push(data);
      return { gas: estimate(), fees: asked };
    },
    send(request: TxRequest, means?: Means) {
      sent.push({ ...request, means });
      return new Promise<TxReceipt>(() => undefined);
    },
  };
  const limits = { maxTxBytes: MAX_TX_BYTES, publishQueue: 100, publishTxInFlight: 2, publishSettleMs: 1_000 };
  const publisher = new Publisher(wallet, STREAM, clock, limits, () => undefined);
  const publish = (...quotes: IdentifiedQuote[]): void => {
    for (const quote of quotes) void publisher.publish(quote);
    clock.advance(0);
  };
  return { publisher, publish, prepared, sent };
}

t.test('what was foreseen is sent with what the node said meanwhile', async (t) => {
  const { publisher, publish, prepared, sent } = newPublisher();
  publisher.foresee([first, second]);
  publish(first, second);
  const data = encodeAdd([first, second]);
  t.strictSame(prepared, [data]);
  t.match(sent, [{ to: STREAM, data }]);
  t.equal(sent.length, 1);
  t.equal(await sent[0]?.means?.gas, 7n);
  t.equal(sent[0]?.means?.fees, FEES);
});

t.test('an estimate is not taken for other quotes than those it was made for', (t) => {
  for (const published of [[first, third], [first], [first, second, third]]) {
    const { publisher, publish, sent } = newPublisher();
    publisher.foresee([first, second]);
    publish(...published);
    t.strictSame(sent, [{ to: STREAM, data: encodeAdd(published), means: undefined }]);
  }
  t.end();
});

t.test('the same quote posted again has all that asked anew', (t) => {
  const { publisher, publish, sent } = newPublisher();
  publisher.foresee([first]);
  publish({ ...first });
  t.equal(sent[0]?.means, undefined);
  t.end();
});

t.test('nothing is foreseen while anything is under way, or that takes two transactions', (t) => {
  const { publisher, publish, prepared } = newPublisher();
  publisher.foresee([first, second, third, sampleQuote({ n: 4 })]);
  publisher.foresee([]);
  publish(first);
  publisher.foresee([second]);
  t.strictSame(prepared, []);
  t.end();
});

t.test('of what comes at once only the first is foreseen, and another when that is answered', async (t) => {
  const { publisher, prepared } = newPublisher();
  publisher.foresee([first]);
  publisher.foresee([second]);
  t.strictSame(prepared, [encodeAdd([first])]);
  await new Promise((resolve) => setImmediate(resolve));
  publisher.foresee([third]);
  t.strictSame(prepared, [encodeAdd([first]), encodeAdd([third])]);
});

t.test('an estimate that fails is heard of by what is sent with it, and by nobody else', async (t) => {
  const error = new WouldRevert('0x');
  const { publisher, publish, sent } = newPublisher(() => Promise.reject(error));
  publisher.foresee([first]);
  await new Promise((resolve) => setImmediate(resolve));
  publish(first);
  await t.rejects(sent[0]?.means?.gas ?? Promise.resolve(0n), error);
});
