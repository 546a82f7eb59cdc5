import { createKeccak } from 'hash-wasm';
import type { Hex, SignedQuote } from '../engine/quote.js';

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const QUOTE_TYPE =
  'FillQuoteOB(address provider,address taker,uint256 price,uint256 size,bool isBuy,uint256 deadline,uint256 salt)';
const WORD_BYTES = 32;
const LOW_64 = (1n << 64n) - 1n;

/** What the digest covers: a quote's own words and the pool that it is bound to. */
export type DigestInput = Pick<
  SignedQuote,
  'provider' | 'taker' | 'price' | 'size' | 'isBuy' | 'deadline' | 'salt' | 'pool'
>;

/**
 * EIP-712 digests of quotes: domain `{name: 'Premia', version: '1', chainId, verifyingContract: pool}`, type
 * `FillQuoteOB`. The digest that is signed is also the quote's id. The words are laid into one reused buffer and hashed by
 * one reused keccak, and domain separators are kept by pool: about fifty times viem's `hashTypedData` (bench/).
 */
export class QuoteDigest {
  readonly #keccak: Awaited<ReturnType<typeof createKeccak>>;
  readonly #struct = Buffer.alloc(8 * WORD_BYTES);
  readonly #words = viewOf(this.#struct);
  readonly #message = Buffer.alloc(2 + 2 * WORD_BYTES);
  readonly #domainHead: Buffer;
  readonly #domains = new Map<Hex, Uint8Array>();
  readonly #maxDomains: number;

  /** `chainId`: the settlement chain's. `maxDomains`: pools whose separators are remembered. */
  static async create(chainId: number, maxDomains: number): Promise<QuoteDigest> {
    return new QuoteDigest(await createKeccak(256), chainId, maxDomains);
  }

  private constructor(keccak: Awaited<ReturnType<typeof createKeccak>>, chainId: number, maxDomains: number) {
    this.#keccak = keccak;
    this.#maxDomains = maxDomains;
    this.#struct.set(this.keccak256(Buffer.from(QUOTE_TYPE)), 0);
    this.#message.set([0x19, 0x01], 0);
    this.#domainHead = Buffer.alloc(5 * WORD_BYTES);
    [DOMAIN_TYPE, 'Premia', '1'].forEach((text, i) => {
      this.#domainHead.set(this.keccak256(Buffer.from(text)), i * WORD_BYTES);
    });
    this.#domainHead.writeBigUInt64BE(BigInt(chainId), 3 * WORD_BYTES + 24);
  }

  /** 32 bytes: the hash that the provider signed. */
  digest(quote: DigestInput): Uint8Array {
    const words = this.#words;
    writeAddress(this.#struct, 1, quote.provider);
    writeAddress(this.#struct, 2, quote.taker);
    writeUint256(words, 3, quote.price);
    writeUint256(words, 4, quote.size);
    words.setUint8(6 * WORD_BYTES - 1, quote.isBuy ? 1 : 0);
    writeSafeInteger(words, 6, quote.deadline);
    writeSafeInteger(words, 7, quote.salt);
    this.#message.set(this.domainSeparator(quote.pool.poolAddress), 2);
    this.#message.set(this.keccak256(this.#struct), 2 + WORD_BYTES);
    return this.keccak256(this.#message);
  }

  /** 32 bytes: EIP-712 `hashStruct(eip712Domain)` of this pool. */
  domainSeparator(poolAddress: Hex): Uint8Array {
    let separator = this.#domains.get(poolAddress);
    if (separator === undefined) {
      writeAddress(this.#domainHead, 4, poolAddress);
      separator = this.keccak256(this.#domainHead);
      if (this.#domains.size >= this.#maxDomains) this.#domains.clear();
      this.#domains.set(poolAddress, separator);
    }
    return separator;
  }

  keccak256(bytes: Uint8Array): Uint8Array {
    return this.#keccak.init().update(bytes).digest('binary');
  }
}

export function toHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`;
}

function writeAddress(words: Buffer, index: number, address: Hex): void {
  words.write(address.slice(2), index * WORD_BYTES + 12, 20, 'hex');
}

/** All of the word but its last eight bytes stays zero: JavaScript's safe integers end at 2^53. */
function writeSafeInteger(words: DataView, index: number, value: number): void {
  const end = (index + 1) * WORD_BYTES;
  words.setUint32(end - 8, value / 2 ** 32);
  words.setUint32(end - 4, value);
}

function writeUint256(words: DataView, index: number, value: bigint): void {
  const end = (index + 1) * WORD_BYTES;
  if (value <= LOW_64) {
    // As nearly every price and size: no shift, which would be a bigint more each.
    for (let quarter = 2; quarter <= 4; quarter++) words.setFloat64(end - 8 * quarter, 0);
    words.setBigUint64(end - 8, value);
    return;
  }
  for (let quarter = 1, rest = value; quarter <= 4; quarter++, rest >>= 64n) {
    words.setBigUint64(end - 8 * quarter, rest & LOW_64);
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}
