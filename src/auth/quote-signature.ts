import { type Hex, type Signature, type SignedQuote, ZERO_ADDRESS } from '../engine/quote.js';
import { LruMap } from '../system/lru-map.js';
import { Keccak256, toHex } from './keccak256.js';
import { type ClaimedSignature, PackedVerifier, type Secp256k1 } from './secp256k1.js';

/** Checks, here and now, that a quote was signed by its provider. */
export class QuoteSignature {
  readonly #digests: QuoteDigest;
  readonly #verifier: PackedVerifier;

  constructor(digests: QuoteDigest, secp256k1: Secp256k1) {
    this.#digests = digests;
    this.#verifier = new PackedVerifier(secp256k1);
  }

  /** The quote's id: its EIP-712 digest. */
  quoteId(quote: DigestInput): Hex {
    return this.#digests.quoteId(quote);
  }

  /**
   * The signer of `quoteId` in lower case; null if `s` is in the upper half, `v` is not 27 or 28, or no key fits.
   */
  signer(quoteId: Hex, signature: Signature): Hex | null {
    const address = this.#verifier.signer({ quoteId, provider: ZERO_ADDRESS, signature });
    return address && toHex(address);
  }

  /** True when `provider` signed it. */
  verify(claimed: ClaimedSignature): boolean {
    return this.#verifier.verify(claimed);
  }
}

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const QUOTE_TYPE =
  'FillQuoteOB(address provider,address taker,uint256 price,uint256 size,bool isBuy,uint256 deadline,uint256 salt)';
const WORD_BYTES = 32;
const LOW_64 = (1n << 64n) - 1n;

/** Input of the digest: a quote's own words and the pool that it is bound to. */
export type DigestInput = Pick<
  SignedQuote,
  'provider' | 'taker' | 'price' | 'size' | 'isBuy' | 'deadline' | 'salt' | 'pool'
>;

/**
 * EIP-712 digests of quotes: domain `{name: 'Premia', version: '1', chainId, verifyingContract: pool}`, type
 * `FillQuoteOB`. The digest that is signed is also the quote's id. The words are laid into one reused buffer and hashed
 * by one reused keccak, domain separators are kept by pool, and addresses that were the last quote's too stay where
 * they are: about fifty times viem's `hashTypedData` (bench/).
 */
export class QuoteDigest {
  readonly #keccak = new Keccak256();
  readonly #struct = this.#keccak.message(8 * WORD_BYTES);
  /** The addresses now in the buffer, which starts as zeros. */
  #provider = ZERO_ADDRESS;
  #taker = ZERO_ADDRESS;
  readonly #message = this.#keccak.message(2 + 2 * WORD_BYTES);
  readonly #domain = this.#keccak.message(5 * WORD_BYTES);
  readonly #domains: LruMap<Hex, Uint8Array>;

  /** `chainId`: the settlement chain's. `maxDomains`: pools whose separators are remembered. */
  constructor(chainId: number, maxDomains: number) {
    this.#domains = new LruMap(maxDomains);
    this.#struct.bytes.set(this.keccak256(Buffer.from(QUOTE_TYPE)), 0);
    this.#message.bytes.set([0x19, 0x01], 0);
    [DOMAIN_TYPE, 'Premia', '1'].forEach((text, i) => {
      this.#domain.bytes.set(this.keccak256(Buffer.from(text)), i * WORD_BYTES);
    });
    writeSafeInteger(this.#domain.words, 3, chainId);
  }

  /** 32 bytes: the hash that the provider signed. */
  digest(quote: DigestInput): Uint8Array {
    this.#write(quote);
    return this.#message.hash();
  }

  /** The same as a quote's id. */
  quoteId(quote: DigestInput): Hex {
    this.#write(quote);
    return this.#message.hexHash();
  }

  /** 32 bytes: EIP-712 `hashStruct(eip712Domain)` of this pool. */
  domainSeparator(poolAddress: Hex): Uint8Array {
    let separator = this.#domains.get(poolAddress);
    if (separator === undefined) {
      writeAddress(this.#domain.buffer, 4, poolAddress);
      separator = this.#domain.hash();
      this.#domains.set(poolAddress, separator);
    }
    return separator;
  }

  /** Of short messages, as Keccak256.of. */
  keccak256(bytes: Uint8Array): Uint8Array {
    return this.#keccak.of(bytes);
  }

  #write(quote: DigestInput): void {
    const { buffer, words } = this.#struct;
    if (quote.provider !== this.#provider) writeAddress(buffer, 1, (this.#provider = quote.provider));
    if (quote.taker !== this.#taker) writeAddress(buffer, 2, (this.#taker = quote.taker));
    writeUint256(words, 3, quote.price);
    writeUint256(words, 4, quote.size);
    words.setUint8(6 * WORD_BYTES - 1, quote.isBuy ? 1 : 0);
    writeSafeInteger(words, 6, quote.deadline);
    writeSafeInteger(words, 7, quote.salt);
    this.#message.bytes.set(this.domainSeparator(quote.pool.poolAddress), 2);
    this.#struct.hashInto(this.#message, 2 + WORD_BYTES);
  }
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
