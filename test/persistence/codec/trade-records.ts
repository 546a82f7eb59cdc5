import type { JournalRecord } from '../../../src/engine/ports.js';
import type { TradeTerms } from '../../../src/engine/quote.js';
import { at, blockHashOf, MAKER, originAt, POOL, quoteIdOf, START, TAKER } from '../../engine/samples.js';

const trade: TradeTerms = {
  pool: POOL,
  provider: MAKER,
  taker: TAKER,
  price: 50_000_000_000_000_000n,
  fee: 800_000_000_000_000n,
  isBuy: true,
  time: START + 7,
};
const cause = { chain: 'settlement' as const, ...originAt(61, 3) };

/** A fill that is recorded as a trade, and a reorg that undoes it. */
export const tradeRecords: readonly JournalRecord[] = [
  {
    stamp: { index: 7, tsMs: START * 1000 },
    command: {
      type: 'FILL_QUOTE',
      quoteId: quoteIdOf(1),
      size: 1_500_000_000_000_000_000n,
      trade,
      origin: originAt(61, 3),
      position: at('settlement', 61),
    },
    events: [
      {
        type: 'TRADE_RECORDED',
        seq: 12,
        cause,
        trade: { ...trade, quoteId: quoteIdOf(1), size: 1_500_000_000_000_000_000n, blockHash: blockHashOf(61) },
      },
    ],
  },
  {
    stamp: { index: 8, tsMs: START * 1000 + 500 },
    command: {
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 60),
      settlementBlock: 60,
      restated: [],
      undoesTrades: true,
    },
    events: [{ type: 'TRADES_UNDONE', seq: 13, cause: null, blockNumber: 60 }],
  },
];
