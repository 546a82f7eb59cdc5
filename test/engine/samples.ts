import { createHash } from 'node:crypto';
import { getAddress } from 'viem/utils';
import type { ChainPosition, ChainRole, EnterQuote } from '../../src/engine/command.js';
import { Engine } from '../../src/engine/engine.js';
import type { Cause, EngineEvent } from '../../src/engine/event.js';
import { PackedQuote } from '../../src/engine/packed-quote.js';
import {
  ZERO_ADDRESS,
  type Hex,
  type InvalidReason,
  type Origin,
  type Pool,
  type Quote,
} from '../../src/engine/quote.js';

export const REORG_DEPTH = 8;

/** Engine time at which the samples begin, Unix seconds; deadlines and maturities are given relative to it. */
export const START = 1_700_000_000;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function newEngine(reorgDepth = REORG_DEPTH): Engine {
  return new Engine({ reorgDepth, sha256 });
}

const hex = (prefix: string, n: number, length: number): Hex =>
  `0x${prefix}${n.toString(16).padStart(length - prefix.length, '0')}`;

export const address = (n: number): Hex => hex('a', n, 40);
export const quoteIdOf = (n: number): Hex => hex('1d', n, 64);
export const txHashOf = (n: number): Hex => hex('7c', n, 64);
/** `branch` tells blocks of one height apart. */
export const blockHashOf = (blockNumber: number, branch = 0): Hex => hex(branch.toString(16), blockNumber, 64);

export function samplePool(n: number, maturity = START + 1_000_000): Pool {
  const poolKey = {
    base: getAddress(address(1)),
    quote: getAddress(address(2)),
    oracleAdapter: getAddress(address(3)),
    strike: 1000n + BigInt(n),
    maturity,
    isCallPool: true,
  };
  return { poolAddress: address(0x900 + n), poolKey };
}

export const POOL = samplePool(0);
export const MAKER = address(0x10);
export const TAKER = address(0x20);

export interface SampleQuote {
  /** Tells quotes apart; also their age unless `blockNumber` or `logIndex` says otherwise. */
  readonly n: number;
  readonly pool?: Pool;
  readonly provider?: Hex;
  readonly taker?: Hex;
  readonly price?: bigint;
  readonly size?: bigint;
  readonly isBuy?: boolean;
  readonly deadline?: number;
  readonly blockNumber?: number;
  readonly logIndex?: number;
}

export function sampleQuote(about: SampleQuote): Quote {
  const { n, pool = POOL, provider = MAKER, taker = ZERO_ADDRESS, price = 100n, size = 10n, isBuy = false } = about;
  const { deadline = START + 1000, blockNumber = 100, logIndex = n } = about;
  const signature = { r: quoteIdOf(n), s: quoteIdOf(n + 1), v: 27 };
  const signed = { pool, provider, taker, price, size, isBuy, deadline, salt: n, signature };
  return { ...signed, quoteId: quoteIdOf(n), ts: START - 60, origin: { blockNumber, txHash: txHashOf(n), logIndex } };
}

/** The whole of a block; `branch` as for its hash. */
export function at(chain: ChainRole, blockNumber: number, branch = 0): ChainPosition {
  return { chain, blockNumber, blockHash: blockHashOf(blockNumber, branch), logIndex: null };
}

export function originAt(blockNumber: number, logIndex = 0): Origin {
  return { blockNumber, txHash: txHashOf(blockNumber), logIndex };
}

export function enter(
  quote: Quote,
  state: { fillableSize?: bigint; reason?: InvalidReason | null } = {},
  settlementBlock = 50,
): EnterQuote {
  const { fillableSize = quote.size, reason = null } = state;
  const position = at('stream', quote.origin.blockNumber);
  return { type: 'ENTER_QUOTE', quote, state: { fillableSize, reason }, settlementBlock, position };
}

/** An event as plain values: what it tells of an order is its id and state, not the object. */
export function plain(event: EngineEvent): Record<string, unknown> {
  const cause = event.cause && plainCause(event.cause);
  if (!('order' in event)) return { ...event, cause };
  const { order, ...rest } = event;
  return { ...rest, cause, quoteId: order.quote.quoteId };
}

export function plainCause({ chain, blockNumber, txHash, logIndex }: Cause): Cause {
  return { chain, blockNumber, txHash, logIndex };
}

/** The same with plain quotes in place of packed ones. */
export function unpacked(value: unknown): unknown {
  if (value instanceof PackedQuote) return value.toJSON();
  if (Array.isArray(value)) return value.map(unpacked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, unpacked(field)]));
}
