import Type, { type Static } from 'typebox';
import type { Origin, Trade } from '../engine/quote.js';
import {
  Address,
  ChainId,
  closed,
  Hash,
  InstrumentName,
  PageLimit,
  SafeUint,
  Uint256,
  UnixSeconds,
} from './primitives.js';

const Seconds = Type.Unsafe<string>(Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds, included.' }));

const traded = {
  chainId: ChainId,
  poolAddress: Type.Optional(Address),
  instrument: Type.Optional(InstrumentName),
  from: Type.Optional(Seconds),
  to: Type.Optional(Seconds),
};

/** GET /trades. */
export const TradesQuery = closed({
  ...traded,
  provider: Type.Optional(Address),
  taker: Type.Optional(Address),
  side: Type.Optional(
    Type.Enum(['buy', 'sell'], { type: 'string', description: 'What the taker did. Absent: either.' }),
  ),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(
    Type.Unsafe<string>(
      Type.String({ pattern: '^[0-9]{1,15}-[0-9]{1,15}$', description: '`next` of the page before.' }),
    ),
  ),
});
export type TradesQuery = Static<typeof TradesQuery>;

/** A fill on the settlement chain. */
export const TradeJson = closed(
  {
    poolAddress: Address,
    instrument: Type.Union([Type.String(), Type.Null()]),
    quoteId: Hash,
    side: Type.Enum(['buy', 'sell'], { type: 'string' }),
    price: Uint256,
    size: Uint256,
    fee: Uint256,
    provider: Address,
    taker: Address,
    time: UnixSeconds,
    blockNumber: SafeUint,
    blockHash: Hash,
    txHash: Hash,
    logIndex: SafeUint,
  },
  { description: 'A fill. `side` is what the taker did.' },
);
export type TradeJson = Static<typeof TradeJson>;

export function tradeJson(
  trade: Trade,
  { blockNumber, txHash, logIndex }: Origin,
  instrument: string | null,
): TradeJson {
  const { pool, quoteId, isBuy, price, size, fee, provider, taker, time, blockHash } = trade;
  return {
    poolAddress: pool.poolAddress,
    instrument,
    quoteId,
    side: isBuy ? 'buy' : 'sell',
    price: price.toString(),
    size: size.toString(),
    fee: fee.toString(),
    provider,
    taker,
    time,
    blockNumber,
    blockHash,
    txHash,
    logIndex,
  };
}

/** Answer of GET /trades. `since`: Unix seconds, trades from then on are kept. `next`: null on the last page. */
export const TradesResult = closed({
  since: UnixSeconds,
  next: Type.Union([Type.String(), Type.Null()]),
  trades: Type.Array(TradeJson),
});
export type TradesResult = Static<typeof TradesResult>;

/** Seconds of each interval of candles. */
export const CANDLE_SECONDS = { '1m': 60, '5m': 300, '15m': 900, '1h': 3600, '4h': 14_400, '1d': 86_400 } as const;
type Interval = keyof typeof CANDLE_SECONDS;

/** GET /candles. */
export const CandlesQuery = closed({
  ...traded,
  interval: Type.Enum(Object.keys(CANDLE_SECONDS) as Interval[], { type: 'string' }),
});
export type CandlesQuery = Static<typeof CandlesQuery>;

const CandleJson = closed({
  time: UnixSeconds,
  open: Uint256,
  high: Uint256,
  low: Uint256,
  close: Uint256,
  volume: Uint256,
  count: SafeUint,
});

/** Answer of GET /candles. */
export const CandlesResult = closed({ since: UnixSeconds, candles: Type.Array(CandleJson) });
export type CandlesResult = Static<typeof CandlesResult>;
