import { getAddress } from 'viem/utils';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import { ZERO_ADDRESS, type Hex, type InvalidReason, type Origin, type Pool, type Quote } from '../engine/quote.js';
import { GrowingBuffer } from './growing-buffer.js';
import { MsgpackWriter } from './msgpack-writer.js';
import { Numbered } from './numbered.js';
import { ADDRESS_BYTES, POOL_FIELDS, QUOTE_FIELDS, WORD_BYTES } from './quote-layout.js';

/** Bytes that a pool takes at most: four addresses, a strike of 33, a maturity of 9, two more. */
const POOL_BYTES = 160;

/**
 * Writes what quotes consist of. A pool or quote that the current record has already is written as its number there.
 */
export class QuoteWriter extends MsgpackWriter {
  readonly #out: GrowingBuffer;
  readonly #pools = new Numbered<Pool>((pool) => pool.poolAddress);
  readonly #quotes = new Numbered<Quote>((quote) => quote.quoteId);
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
    this.array(3);
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
    this.word(value.signature.r);
    this.word(value.signature.s);
    this.uint(value.signature.v);
    this.uint(value.ts);
    this.origin(value.origin);
  }

  /** The record has this quote as its next one, written by somebody else; its pool is counted by itself. */
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
    a.signature.r === b.signature.r &&
    a.signature.s === b.signature.s &&
    a.signature.v === b.signature.v &&
    a.ts === b.ts &&
    a.origin.txHash === b.origin.txHash &&
    a.origin.blockNumber === b.origin.blockNumber &&
    a.origin.logIndex === b.origin.logIndex
  );
}
