import { getAddress } from 'viem/utils';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import {
  InvalidReason,
  ZERO_ADDRESS,
  type Hex,
  type Origin,
  type Pool,
  type PoolKey,
  type Quote,
} from '../engine/quote.js';
import { MsgpackFault, type MsgpackReader } from './msgpack-reader.js';
import { ADDRESS_BYTES, POOL_FIELDS, QUOTE_FIELDS, WORD_BYTES } from './quote-layout.js';

/** Behind the array's head and the address's own. */
const POOL_ADDRESS_AT = 3;
/** Pools whose one decoded object is shared by all the records that name them. */
const POOLS_REMEMBERED = 10_000;

/** The last byte of an address, behind the head of its bin. Makers may have chosen addresses that begin with zeros. */
const LAST_ADDRESS_BYTE_AT = 2 + ADDRESS_BYTES - 1;

const CHAINS: readonly ChainRole[] = ['stream', 'settlement'];
const REASONS: ReadonlySet<number> = new Set(Object.values(InvalidReason));

/**
 * Reads what `QuoteWriter` wrote. Texts that come again and again are one: a maker's address, and the hashes of a block
 * or a transaction that brought several quotes. That is less to make, and of what the quotes keep less to be moved by
 * the collector.
 */
export class QuoteReader {
  readonly #in: MsgpackReader;
  readonly #pools: Pool[] = [];
  readonly #quotes: Quote[] = [];
  /** By the bytes of their addresses. */
  readonly #remembered = new Map<string, { readonly pool: Pool; readonly bytes: Uint8Array }>();
  /** The last one of each last byte. */
  readonly #providers: (Hex | undefined)[] = new Array<Hex | undefined>(256).fill(undefined);
  readonly #blockHashes: Record<ChainRole, Hex | undefined> = { stream: undefined, settlement: undefined };
  #txHash: Hex | undefined;

  constructor(input: MsgpackReader) {
    this.#in = input;
  }

  beginRecord(): void {
    this.#pools.length = 0;
    this.#quotes.length = 0;
  }

  address(): Hex {
    return this.#in.hex(ADDRESS_BYTES);
  }

  word(): Hex {
    return this.#in.hex(WORD_BYTES);
  }

  reason(): InvalidReason | null {
    return this.#in.nil() ? null : this.presentReason();
  }

  presentReason(): InvalidReason {
    const value = this.#in.uint();
    if (!REASONS.has(value)) throw new MsgpackFault(`unknown reason ${value}`);
    return value as InvalidReason;
  }

  chain(): ChainRole {
    return pick(CHAINS, this.#in.uint(), 'chain');
  }

  origin(): Origin {
    this.#in.tuple(3);
    return { blockNumber: this.#in.uint(), txHash: this.txHash(), logIndex: this.#in.uint() };
  }

  txHash(): Hex {
    const txHash = this.#in.hex(WORD_BYTES, this.#txHash);
    this.#txHash = txHash;
    return txHash;
  }

  position(): ChainPosition {
    const input = this.#in;
    input.tuple(4);
    const chain = this.chain();
    const blockNumber = input.uint();
    const blockHash = input.hex(WORD_BYTES, this.#blockHashes[chain]);
    this.#blockHashes[chain] = blockHash;
    return { chain, blockNumber, blockHash, logIndex: input.nil() ? null : input.uint() };
  }

  pool(): Pool {
    if (!this.#in.isArray()) return pick(this.#pools, this.#in.uint(), 'pool');
    const pool = this.wholePool();
    this.#pools.push(pool);
    return pool;
  }

  /** Equal pools are one object, also of different records. */
  wholePool(): Pool {
    const input = this.#in;
    const key = input.keyAhead(POOL_ADDRESS_AT, ADDRESS_BYTES);
    const known = this.#remembered.get(key);
    if (known !== undefined && input.skipEqual(known.bytes)) return known.pool;
    const start = input.position;
    input.tuple(POOL_FIELDS);
    const pool: Pool = { poolAddress: this.address(), poolKey: this.#poolKey() };
    if (this.#remembered.size >= POOLS_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(key, { pool, bytes: input.readSince(start) });
    return pool;
  }

  provider(): Hex {
    const place = this.#in.byteAhead(LAST_ADDRESS_BYTE_AT);
    const provider = this.#in.hex(ADDRESS_BYTES, this.#providers[place]);
    this.#providers[place] = provider;
    return provider;
  }

  taker(): Hex {
    return this.#in.nil() ? ZERO_ADDRESS : this.address();
  }

  quote(): Quote {
    const input = this.#in;
    if (!input.isArray()) return pick(this.#quotes, input.uint(), 'quote');
    input.tuple(QUOTE_FIELDS);
    // The fields are read in the order in which they are named here.
    const quote: Quote = {
      quoteId: this.word(),
      pool: this.pool(),
      provider: this.provider(),
      taker: this.taker(),
      price: input.amount(),
      size: input.amount(),
      isBuy: input.bool(),
      deadline: input.uint(),
      salt: input.uint(),
      signature: { r: this.word(), s: this.word(), v: input.uint() },
      ts: input.uint(),
      origin: this.origin(),
    };
    this.#quotes.push(quote);
    return quote;
  }

  #poolKey(): PoolKey {
    const input = this.#in;
    return {
      base: getAddress(this.address()),
      quote: getAddress(this.address()),
      oracleAdapter: getAddress(this.address()),
      strike: input.amount(),
      maturity: input.uint(),
      isCallPool: input.bool(),
    };
  }
}

/** The entry numbered `number` of a table or of what the record has shown so far. */
export function pick<Item>(items: readonly Item[], number: number, what: string): Item {
  const item = items[number];
  if (item === undefined) throw new MsgpackFault(`unknown ${what} ${number}`);
  return item;
}
