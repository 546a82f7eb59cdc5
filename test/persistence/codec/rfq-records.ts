import type { RequestTerms } from '../../../src/engine/command.js';
import type { JournalRecord } from '../../../src/engine/ports.js';
import { ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { MAKER, originAt, POOL, quoteIdOf, START, TAKER } from '../../engine/samples.js';

const rfqId = '0123456789abcdef0123456789abcdef';
const rfq = {
  poolAddress: POOL.poolAddress,
  side: 'ask',
  size: 1_500_000_000_000_000_000n,
  taker: ZERO_ADDRESS,
} as const;
const terms: RequestTerms = {
  rfqId,
  owner: '5f3a',
  clientId: 'hedge-7',
  validUntil: START + 60,
  taker: TAKER,
  minQuotes: 2,
  makers: [MAKER],
  leg: { packageId: 'fedcba9876543210fedcba9876543210', place: 1, legs: 2 },
};

/** A request that is followed, what changes it, and its cancellation. */
export const rfqRecords: readonly JournalRecord[] = [
  {
    stamp: { index: 9, tsMs: START * 1000 },
    command: { type: 'PUBLISH_RFQ', rfq: { ...rfq, body: '{"side":"ask"}' }, terms },
    events: [{ type: 'RFQ_PUBLISHED', seq: 14, cause: null, rfq: { ...rfq, body: '{"side":"ask"}' }, terms }],
  },
  {
    stamp: { index: 10, tsMs: START * 1000 + 500 },
    command: { type: 'CANCEL_RFQ', rfqId },
    events: [
      {
        type: 'RFQ_CHANGED',
        seq: 15,
        cause: { chain: 'stream', ...originAt(100, 4) },
        rfqId,
        rfq,
        makers: [MAKER],
        taker: null,
        status: 'quoted',
        filledSize: 0n,
        quotes: 1,
        best: { quoteId: quoteIdOf(1), price: 50_000_000_000_000_000n, fillableSize: 10n },
      },
      {
        type: 'RFQ_CHANGED',
        seq: 16,
        cause: null,
        rfqId,
        rfq,
        makers: [],
        taker: TAKER,
        status: 'filled',
        filledSize: 1_500_000_000_000_000_000n,
        quotes: 0,
        best: null,
      },
    ],
  },
];
