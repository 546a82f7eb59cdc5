import type { IdentifiedQuote } from '../../../src/chain/contracts/quote-types.js';
import { type PublicationOutcome, QuotePublisher } from '../../../src/chain/publish/publisher.js';
import type { TxReceipt, TxRequest } from '../../../src/chain/wallet/transaction.js';
import type { PreparedTx } from '../../../src/chain/wallet/wallet.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address, sampleQuote, txHashOf } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

export const STREAM = address(0x99);
export const FEES = Promise.resolve({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n });
export const [first, second, third] = [1, 2, 3].map((n): IdentifiedQuote => sampleQuote({ n })) as [
  IdentifiedQuote,
  IdentifiedQuote,
  IdentifiedQuote,
];
/** Three quotes and what stands before them. */
export const MAX_TX_BYTES = 3 * 512 + 68;

interface Sent extends TxRequest {
  /** Undefined: the wallet has to ask for them. */
  readonly prepared: PreparedTx | undefined;
}

/** A publisher whose wallet only writes down: nothing is mined before the test says so. */
export function newPublisher(
  estimate: () => Promise<bigint> = () => Promise.resolve(7n),
  maxTxBytes = MAX_TX_BYTES,
  onReadAgain: (publisher: QuotePublisher) => unknown = () => undefined,
) {
  const clock = new ManualClock();
  const prepared: TxRequest[] = [];
  const sent: Sent[] = [];
  const mine: ((succeeded?: boolean) => void)[] = [];
  const refuse: ((error: Error) => void)[] = [];
  const mined: Hex[] = [];
  const readAgain: number[] = [];
  const left: { data: Hex; end: Promise<TxReceipt | null> }[] = [];
  const wallet = {
    address: address(1),
    orphanWith: (digits: () => string) => left.find(({ data }) => data.includes(digits()))?.end,
    prepare(request: TxRequest) {
      prepared.push(request);
      return { gas: estimate(), fees: FEES };
    },
    send(request: TxRequest, ahead?: PreparedTx) {
      sent.push({ ...request, prepared: ahead });
      const txHash = txHashOf(sent.length);
      return new Promise<TxReceipt>((resolve, reject) => {
        mine.push((succeeded = true) => resolve({ txHash, blockNumber: 1, succeeded } as TxReceipt));
        refuse.push(reject);
      });
    },
  };
  const limits = {
    maxTxBytes,
    publishQueue: 100,
    publishTxInFlight: 2,
    publishSettleMs: 1_000,
    reorgDepth: 4,
    txRemembered: 2,
  };
  const reader = { readTo: 1, due: new Set<Hex>() };
  const publisher: QuotePublisher = new QuotePublisher({
    wallet,
    orderbookStream: STREAM,
    clock,
    limits,
    onMined: ({ txHash }) => mined.push(txHash),
    readAgain: async (blockNumber) => {
      readAgain.push(blockNumber);
      await onReadAgain(publisher);
    },
    isRead: (blockNumber) => reader.readTo >= blockNumber,
    isDue: ({ quoteId }) => reader.due.has(quoteId),
  });
  const publish = (...quotes: IdentifiedQuote[]): Promise<PublicationOutcome>[] => {
    const outcomes = quotes.map((quote) => publisher.publish(quote));
    clock.advance(0);
    return outcomes;
  };
  return { clock, publisher, reader, publish, prepared, sent, mine, refuse, mined, readAgain, left };
}
