import type { FillBounds, SignedNonce } from '../engine/command.js';
import type { Hex } from '../engine/quote.js';
import { Keccak256, MAX_MESSAGE_BYTES, toHex } from './keccak256.js';

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId)';
const QUOTES_FIELDS = '(address provider,bytes32[] quoteIds,uint256 nonce,uint256 deadline)';
const KEY_FIELDS = '(address provider,string keyId,uint256 nonce,uint256 deadline)';
const LIMIT_FIELDS =
  '(address provider,address poolAddress,uint256 contracts,uint256 fills,uint256 windowSeconds,uint256 nonce,uint256 deadline)';
const WORD_BYTES = 32;

/** Types that a provider signs to withdraw quotes, and to restore them. */
export type WithdrawalType = 'WithdrawQuotes' | 'RestoreQuotes';

/** A withdrawal as it is signed. Addresses and ids in lower case. */
export interface SignedWithdrawal extends SignedNonce {
  readonly provider: Hex;
  /** At most MOST_SIGNED_IDS. */
  readonly quoteIds: readonly Hex[];
}

export interface SignedAuthorization extends SignedNonce {
  readonly provider: Hex;
  readonly keyId: string;
}

export interface SignedFillLimit extends SignedNonce {
  readonly provider: Hex;
  readonly poolAddress: Hex;
  /** All 0: there is no limit any more. */
  readonly bounds: FillBounds;
}

/** Ids whose words make one message for the hash. */
export const MOST_SIGNED_IDS = Math.floor(MAX_MESSAGE_BYTES / WORD_BYTES);

/**
 * EIP-712 digests of what a provider signs for this service: withdrawals of quotes, keys that may act for the provider,
 * and fill limits. Domain `{name: 'Quotebook', version: '1', chainId}`, which no contract has; `chainId` is the
 * settlement chain's.
 */
export class ProviderDigest {
  readonly #keccak = new Keccak256();
  readonly #domain: Buffer;

  constructor(chainId: number) {
    this.#domain = this.#hash([
      this.#text(DOMAIN_TYPE),
      this.#text('Quotebook'),
      this.#text('1'),
      uint(BigInt(chainId)),
    ]);
  }

  /** The hash that the provider signs. */
  of(type: WithdrawalType, { provider, quoteIds, nonce, deadline }: SignedWithdrawal): Hex {
    const ids = this.#hash(quoteIds.map(word));
    return this.#of(`${type}${QUOTES_FIELDS}`, [word(provider), ids], { nonce, deadline });
  }

  /** Of what lets an API key act for the provider, or no longer. */
  ofKey(type: 'AuthorizeKey' | 'RevokeKey', { provider, keyId, ...signed }: SignedAuthorization): Hex {
    return this.#of(`${type}${KEY_FIELDS}`, [word(provider), this.#text(keyId)], signed);
  }

  ofFillLimit({ provider, poolAddress, bounds, ...signed }: SignedFillLimit): Hex {
    const { contracts, fills, seconds } = bounds;
    const values = [word(provider), word(poolAddress), uint(contracts), uint(BigInt(fills)), uint(BigInt(seconds))];
    return this.#of(`SetFillLimit${LIMIT_FIELDS}`, values, signed);
  }

  #of(type: string, values: readonly Buffer[], { nonce, deadline }: SignedNonce): Hex {
    const struct = this.#hash([this.#text(type), ...values, uint(nonce), uint(BigInt(deadline))]);
    return toHex(this.#hash([Buffer.from([0x19, 0x01]), this.#domain, struct]));
  }

  #text(text: string): Buffer {
    return this.#hash([Buffer.from(text)]);
  }

  #hash(parts: readonly Buffer[]): Buffer {
    return Buffer.from(this.#keccak.of(Buffer.concat(parts)));
  }
}

function uint(value: bigint): Buffer {
  return word(`0x${value.toString(16)}`);
}

function word(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2).padStart(2 * WORD_BYTES, '0'), 'hex');
}
