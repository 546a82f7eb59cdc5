import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { loadNative } from '../../auth/secp256k1.js';
import type { Hex } from '../../engine/quote.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';

export interface TxReceipt extends BlockId {
  readonly txHash: Hex;
  readonly gasUsed: bigint;
  /** The fee paid, 1e-18 of the chain's own coin. */
  readonly feeWei: bigint;
  /** False: mined and reverted. */
  readonly succeeded: boolean;
}

/**
 * The purpose of one nonce. All transactions signed for it differ only in their fees, so that any of them has the same
 * effect.
 */
export interface TxIntent {
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit. */
  readonly gas: bigint;
  /** Fees of every version that may have been signed, in that order; at least one. */
  readonly versions: readonly Fees[];
}

/** EIP-1559 fees of a transaction, wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface TxRequest {
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit; estimated by the node when absent. */
  readonly gas?: bigint;
}

/** The cost of a transaction, by its receipt. */
export type TxCost = Pick<TxReceipt, 'gasUsed' | 'feeWei'>;

/** A transaction of ours on its way: what its nonce is for, and every version of it that any node may have. */
export class WalletTx {
  readonly nonce: number;
  /** Any of them may be the one that is mined. */
  readonly hashes: Hex[] = [];
  readonly #versions: Fees[] = [];
  readonly #request: Required<TxRequest>;

  constructor(nonce: number, request: Required<TxRequest>, versions: readonly Fees[] = []) {
    this.nonce = nonce;
    this.#request = request;
    this.#versions.push(...versions);
  }

  get request(): Required<TxRequest> {
    return this.#request;
  }

  /** Of the newest version; null before the first. */
  get fees(): Fees | null {
    return this.#versions.at(-1) ?? null;
  }

  /** Of the first version, which asks for the least money; null before it. */
  get firstFees(): Fees | null {
    return this.#versions[0] ?? null;
  }

  /** No more than the newest version offers, whatever a node says of it: budgets of a day are counted by this. */
  boundedCost({ gasUsed, feeWei }: TxCost): TxCost {
    const { gas } = this.#request;
    const most = gas * (this.fees?.maxFeePerGas ?? 0n);
    return { gasUsed: gasUsed < gas ? gasUsed : gas, feeWei: feeWei < most ? feeWei : most };
  }

  isVersion(fees: Fees): boolean {
    return this.#versions.includes(fees);
  }

  /** How often its fees were raised. */
  get raises(): number {
    return Math.max(0, this.#versions.length - 1);
  }

  get intent(): TxIntent {
    return { nonce: this.nonce, ...this.#request, versions: [...this.#versions] };
  }

  /** The intent with a further version, of these fees. */
  intentWith(fees: Fees): TxIntent {
    return { ...this.intent, versions: [...this.#versions, fees] };
  }

  addVersion(fees: Fees): void {
    this.#versions.push(fees);
  }
}

/** A transaction of EIP-1559 that sends no money and names no storage. */
export interface TxTerms extends Fees {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit. */
  readonly gas: bigint;
}

export interface TxSignature {
  readonly r: Hex;
  readonly s: Hex;
  /** 0 or 1. */
  readonly yParity: number;
}

/** EIP-2718 type of EIP-1559's transactions. */
const TX_TYPE = 2;
/** Strings and lists of up to so many bytes have their length in their first byte (RLP: Yellow Paper, appendix B). */
const SHORT_BYTES = 55;
const STRING = 0x80;
const LIST = 0xc0;
const NOTHING = Buffer.alloc(0);

/**
 * The fields that are signed, which both forms below have at their head. As bytes: viem puts a transaction together out
 * of pieces of hex, which takes 4 ms for one of 90 KB, twice, and leaves some of the longest turns' garbage; this takes
 * 0.1 ms. A test compares both.
 */
export function txFields({ chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, data }: TxTerms): Buffer {
  const numbers = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas].map((number) => string(digits(number)));
  const accessList = list(NOTHING);
  return Buffer.concat([...numbers, string(bytesOf(to)), string(NOTHING), string(bytesOf(data)), accessList]);
}

/** The bytes that the signature is over. */
export function unsignedTx(fields: Buffer): Buffer {
  return typed(fields);
}

/** The bytes for `eth_sendRawTransaction`. */
export function signedTx(fields: Buffer, { yParity, r, s }: TxSignature): Buffer {
  const numbers = [yParity, BigInt(r), BigInt(s)].map((number) => string(digits(number)));
  return typed(Buffer.concat([fields, ...numbers]));
}

function typed(fields: Buffer): Buffer {
  return Buffer.concat([Buffer.of(TX_TYPE), list(fields)]);
}

function string(bytes: Buffer): Buffer {
  const [first] = bytes;
  const isItself = bytes.length === 1 && first !== undefined && first < STRING;
  return isItself ? bytes : Buffer.concat([head(STRING, bytes.length), bytes]);
}

function list(items: Buffer): Buffer {
  return Buffer.concat([head(LIST, items.length), items]);
}

function head(kind: number, length: number): Buffer {
  if (length <= SHORT_BYTES) return Buffer.of(kind + length);
  const size = digits(length);
  return Buffer.concat([Buffer.of(kind + SHORT_BYTES + size.length), size]);
}

/** The shortest there is: 0 has none. */
function digits(number: number | bigint): Buffer {
  if (BigInt(number) === 0n) return NOTHING;
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
}

function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Signs transactions; viem's local accounts fit. */
export type TxAccount = Pick<PrivateKeyAccount, 'address' | 'sign'>;

/**
 * The native library signs where its binary loads: 0.1 ms of a publication's way, and viem's own 0.8. Both follow RFC
 * 6979 and EIP-2, so that the same digest gives the same signature; a test compares them.
 */
export function txAccount(privateKey: Hex): TxAccount {
  const account = privateKeyToAccount(privateKey);
  const native = loadNative();
  if (native === null) return account;
  const key = Buffer.from(privateKey.slice(2), 'hex');
  return {
    address: account.address,
    sign({ hash }) {
      const { rs, recoveryId } = native.sign(Buffer.from(hash.slice(2), 'hex'), key);
      const signature: Hex = `0x${Buffer.from(rs).toString('hex')}${recoveryId === 0 ? '1b' : '1c'}`;
      return Promise.resolve(signature);
    },
  };
}
