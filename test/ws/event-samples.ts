import type { Rfq } from '../../src/engine/command.js';
import type { EngineEvent } from '../../src/engine/event.js';
import { type Hex, type Order, type Quote, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { address, poolAddress } from './gateway-fixture.js';

/** Fields that filters look at, and a number that identifies the quote. */
export interface QuoteTraits {
  readonly n: number;
  readonly poolAddress?: Hex;
  readonly isBuy?: boolean;
  readonly taker?: Hex;
  readonly provider?: Hex;
  /** 1e-18 contracts. */
  readonly size?: bigint;
}

export function quoteId(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

export function orderOf(traits: QuoteTraits): Order {
  const size = traits.size ?? 10n;
  const quote: Quote = {
    pool: {
      poolAddress: traits.poolAddress ?? poolAddress,
      poolKey: {
        base: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
        quote: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
        oracleAdapter: '0x68bDc8c8e8A3e1E4d5d0a5b0c0d0e0f0A0B0c0d0',
        strike: 1800n * 10n ** 18n,
        maturity: 1_709_280_000,
        isCallPool: true,
      },
    },
    provider: traits.provider ?? address(0xb1),
    taker: traits.taker ?? ZERO_ADDRESS,
    price: 5n * 10n ** 16n,
    size,
    isBuy: traits.isBuy ?? false,
    deadline: 1_700_003_600,
    salt: traits.n,
    signature: { r: quoteId(1), s: quoteId(2), v: 27 },
    quoteId: quoteId(traits.n),
    ts: 1_700_000_000,
    origin: { blockNumber: 7, txHash: quoteId(3), logIndex: 0 },
  };
  return { quote, fillableSize: size, state: 'live', reason: null };
}

type Sequenced = 'seq' | 'cause';
type Draft<E> = E extends EngineEvent ? Omit<E, Sequenced> : never;
type CausedByNothing = Exclude<EngineEvent, { type: 'TRADE_RECORDED' }>;

/** An event of a quote or an RFQ with the number that it would have. */
export function eventOf(draft: Draft<CausedByNothing>, seq = 1): EngineEvent {
  return { seq, cause: null, ...draft };
}

export function posted(traits: QuoteTraits): EngineEvent {
  const order = orderOf(traits);
  return eventOf({ type: 'QUOTE_POSTED', order, fillableSize: order.fillableSize, reason: null });
}

export function rfqOf(traits: Partial<Rfq> = {}): Rfq {
  return { poolAddress, side: 'ask', size: 10n, taker: address(0xc1), body: '{}', ...traits };
}
