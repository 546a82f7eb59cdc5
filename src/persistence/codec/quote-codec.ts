import { getAddress } from 'viem/utils';
import type { ChainPosition, ChainRole } from '../../engine/command.js';
import {
  type Hex,
  InvalidReason,
  type Origin,
  type Pool,
  type PoolKey,
  type Quote,
  ZERO_ADDRESS,
} from '../../engine/quote.js';
import { PackedQuote, R_AT, S_AT, TX_AT, WORDS_BYTES } from '../../engine/packed-quote.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { MsgpackError, type MsgpackReader } from './msgpack-reader.js';
import { MsgpackWriter } from './msgpack-writer.js';

/** Bytes of an address, and of a hash or any other word. */
const ADDRESS_BYTES = 20;
const WORD_BYTES = 32;
/** Fields of a pool and of a quote, in the order in which they are written. docs/reference/log-format.md. */
const POOL_FIELDS = 7;
const QUOTE_FIELDS = 14;
const ORIGIN_FIELDS = 3;

/** The words of the quote that is being read. */
const WORDS = Buffer.alloc(WORDS_BYTES);

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
    if (!REASONS.has(value)) throw new MsgpackError(`unknown reason ${value}`);
    return value as InvalidReason;
  }

  chain(): ChainRole {
    return pick(CHAINS, this.#in.uint(), 'chain');
  }

  origin(): Origin {
    this.#in.tuple(ORIGIN_FIELDS);
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
    const quoteId = this.word();
    const pool = this.pool();
    const provider = this.provider();
    const taker = this.taker();
    const price = input.amount();
    const size = input.amount();
    const isBuy = input.bool();
    const deadline = input.uint();
    const salt = input.uint();
    input.copy(WORD_BYTES, WORDS, R_AT);
    input.copy(WORD_BYTES, WORDS, S_AT);
    const v = input.uint();
    const ts = input.uint();
    input.tuple(ORIGIN_FIELDS);
    const blockNumber = input.uint();
    input.copy(WORD_BYTES, WORDS, TX_AT);
    const logIndex = input.uint();
    const words = WORDS.toString('latin1');
    const quote = new PackedQuote({
      quoteId,
      pool,
      provider,
      taker,
      words,
      v,
      price,
      size,
      isBuy,
      deadline,
      salt,
      ts,
      blockNumber,
      logIndex,
    });
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
  if (item === undefined) throw new MsgpackError(`unknown ${what} ${number}`);
  return item;
}

/** Up to so many are found faster by looking at each. */
const FEW = 4;

/**
 * Values that a record has shown so far, each with its number: 0 for the first. Most records show one or two of a kind,
 * and emptying a Map for each of them costs more than all else that is done with it; the record of a reorg shows
 * thousands.
 */
export class InterningTable<Item> {
  readonly #keyOf: (item: Item) => string;
  readonly #items: Item[] = [];
  /** How many of them are this record's: an array that is made shorter costs a call of the runtime's. */
  #count = 0;
  /** The numbers from FEW on; of several items with one key, the last. */
  readonly #later = new Map<string, number>();

  constructor(keyOf: (item: Item) => string) {
    this.#keyOf = keyOf;
  }

  clear(): void {
    if (this.#count > FEW) {
      this.#later.clear();
      this.#items.length = 0;
    }
    this.#count = 0;
  }

  add(item: Item): void {
    const number = this.#count;
    this.#items[number] = item;
    this.#count += 1;
    if (number >= FEW) this.#later.set(this.#keyOf(item), number);
  }

  /** The number of the last item shown with that key; -1: not found. */
  find(key: string): number {
    const items = this.#items;
    if (this.#count > FEW) {
      const number = this.#later.get(key);
      if (number !== undefined) return number;
    }
    for (let number = Math.min(FEW, this.#count) - 1; number >= 0; number -= 1) {
      const item = items[number];
      if (item !== undefined && this.#keyOf(item) === key) return number;
    }
    return -1;
  }

  at(number: number): Item | undefined {
    // An array that is asked for its item -1 looks for a property of that name.
    return number >= 0 && number < this.#count ? this.#items[number] : undefined;
  }
}

/** Bytes that a pool takes at most: four addresses, a strike of 33, a maturity of 9, two more. */
const POOL_BYTES = 160;

/**
 * Writes what quotes consist of. A pool or quote that the current record has already is written as its number there.
 */
export class QuoteWriter extends MsgpackWriter {
  readonly #out: GrowingBuffer;
  readonly #pools = new InterningTable<Pool>((pool) => pool.poolAddress);
  readonly #quotes = new InterningTable<Quote>((quote) => quote.quoteId);
  /** A pool's bytes are the same each time, and quotes of one pool mostly share the object. */
  readonly #poolBytes = new WeakMap<Pool, Uint8Array>();
  readonly #poolScratch = new GrowingBuffer(POOL_BYTES);
  readonly #poolWriter = new MsgpackWriter(this.#poolScratch);

  constructor(out: GrowingBuffer) {
    super(out);
    this.#out = out;
  }

  /** Forgets the last record's pools and quotes. */
  beginRecord(): void {
    this.#pools.clear();
    this.#quotes.clear();
  }

  address(value: Hex): void {
    this.hex(value, ADDRESS_BYTES);
  }

  word(value: Hex): void {
    this.hex(value, WORD_BYTES);
  }

  reason(value: InvalidReason | null): void {
    if (value === null) this.nil();
    else this.uint(value);
  }

  chain(value: ChainRole): void {
    this.uint(value === 'stream' ? 0 : 1);
  }

  origin(value: Origin): void {
    this.array(ORIGIN_FIELDS);
    this.uint(value.blockNumber);
    this.word(value.txHash);
    this.uint(value.logIndex);
  }

  position(value: ChainPosition): void {
    this.array(4);
    this.chain(value.chain);
    this.uint(value.blockNumber);
    this.word(value.blockHash);
    if (value.logIndex === null) this.nil();
    else this.uint(value.logIndex);
  }

  /** Equal pools get one number whether or not they are one object: a replay's objects are other ones. */
  pool(value: Pool): void {
    const number = this.#pools.find(value.poolAddress);
    const known = this.#pools.at(number);
    if (known !== undefined && samePool(known, value)) return this.uint(number);
    this.countPool(value);
    this.wholePool(value);
  }

  /** The record has this pool as its next one, written by somebody else. */
  countPool(value: Pool): void {
    this.#pools.add(value);
  }

  /** Always written out. */
  wholePool(value: Pool): void {
    let bytes = this.#poolBytes.get(value);
    if (bytes === undefined) {
      bytes = this.#encodePool(value);
      this.#poolBytes.set(value, bytes);
    }
    this.#out.put(bytes);
  }

  /** The zero address, that of every public quote, takes one byte. */
  taker(value: Hex): void {
    if (value === ZERO_ADDRESS) this.nil();
    else this.address(value);
  }

  quote(value: Quote): void {
    const number = this.#quotes.find(value.quoteId);
    const known = this.#quotes.at(number);
    if (known !== undefined && sameQuote(known, value)) return this.uint(number);
    this.countQuote(value);
    this.array(QUOTE_FIELDS);
    this.word(value.quoteId);
    this.pool(value.pool);
    this.address(value.provider);
    this.taker(value.taker);
    this.amount(value.price);
    this.amount(value.size);
    this.bool(value.isBuy);
    this.uint(value.deadline);
    this.uint(value.salt);
    if (value instanceof PackedQuote) return this.#packedEnd(value);
    const { r, s, v } = value.signature;
    this.word(r);
    this.word(s);
    this.uint(v);
    this.uint(value.ts);
    this.origin(value.origin);
  }

  /** From the signature on. */
  #packedEnd({ words, v, ts, blockNumber, logIndex }: PackedQuote): void {
    this.chars(words, R_AT, WORD_BYTES);
    this.chars(words, S_AT, WORD_BYTES);
    this.uint(v);
    this.uint(ts);
    this.array(ORIGIN_FIELDS);
    this.uint(blockNumber);
    this.chars(words, TX_AT, WORD_BYTES);
    this.uint(logIndex);
  }

  /** Registers this quote as the record's next one, written elsewhere; the caller counts its pool separately. */
  countQuote(value: Quote): void {
    this.#quotes.add(value);
  }

  #encodePool({ poolAddress, poolKey }: Pool): Uint8Array {
    const writer = this.#poolWriter;
    this.#poolScratch.clear(POOL_BYTES);
    writer.array(POOL_FIELDS);
    writer.hex(poolAddress, ADDRESS_BYTES);
    for (const address of [poolKey.base, poolKey.quote, poolKey.oracleAdapter]) {
      // The reader computes the letter case again: one that differs could not be restored.
      if (getAddress(address) !== address) throw new RangeError(`not an EIP-55 checksum: ${address}`);
      writer.hex(address, ADDRESS_BYTES);
    }
    writer.amount(poolKey.strike);
    writer.uint(poolKey.maturity);
    writer.bool(poolKey.isCallPool);
    return Uint8Array.from(this.#poolScratch.view());
  }
}

function samePool(a: Pool, b: Pool): boolean {
  if (a === b) return true;
  const [x, y] = [a.poolKey, b.poolKey];
  return (
    a.poolAddress === b.poolAddress &&
    x.base === y.base &&
    x.quote === y.quote &&
    x.oracleAdapter === y.oracleAdapter &&
    x.strike === y.strike &&
    x.maturity === y.maturity &&
    x.isCallPool === y.isCallPool
  );
}

/** Field by field: the id covers what was signed, but neither the signature nor the publication. */
function sameQuote(a: Quote, b: Quote): boolean {
  if (a === b) return true;
  return (
    a.quoteId === b.quoteId &&
    samePool(a.pool, b.pool) &&
    a.provider === b.provider &&
    a.taker === b.taker &&
    a.price === b.price &&
    a.size === b.size &&
    a.isBuy === b.isBuy &&
    a.deadline === b.deadline &&
    a.salt === b.salt &&
    a.ts === b.ts &&
    sameEnd(a, b)
  );
}

/** Signature and origin. */
function sameEnd(a: Quote, b: Quote): boolean {
  const [x, y] = [a.signature, b.signature];
  const [from, other] = [a.origin, b.origin];
  return (
    x.r === y.r &&
    x.s === y.s &&
    x.v === y.v &&
    from.txHash === other.txHash &&
    from.blockNumber === other.blockNumber &&
    from.logIndex === other.logIndex
  );
}
