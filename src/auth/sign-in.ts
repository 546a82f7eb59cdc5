import { recoverMessageAddress } from 'viem';
import { parseSiweMessage, validateSiweMessage } from 'viem/siwe';
import type { Clock, Random } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { SignedOutSession } from './key-file.js';
import type { NewKey } from './key-store.js';
import type { NonceUse, ProofStore } from './proof-store.js';
import { type SealedBytes, sessionIdOf } from './session-token.js';

/** Random bytes of a nonce, behind 8 of the time that it was issued at and 8 of the key's id. */
const RANDOM_BYTES = 12;
const KEY_AT = 8;
const RANDOM_AT = 16;

export interface SignInLimits {
  readonly nonceMs: number;
  /** How far ahead of this process's clock another one may have issued a nonce: the seal vouches for the time. */
  readonly nonceLeadMs: number;
  /** Longest session; a message may ask for a shorter one. */
  readonly sessionMs: number;
}

export interface SignInOptions {
  readonly chainId: number;
  /** Hosts, with a port unless it is the scheme's own, that people sign in at; empty: those of this machine alone. */
  readonly domains: readonly string[];
  /** The bytes of nonces: any process with the same keys reads them. */
  readonly nonces: SealedBytes;
  readonly proofs: ProofStore;
  /** The token of a session of that key. */
  readonly startSession: (keyId: string, address: Hex, expiresAtMs: number) => string;
  readonly newKey: () => NewKey;
  /** Null: it is no token of a session. */
  readonly sessionOf: (token: string) => SignedOutSession | null;
  /** Whether the contract at that address accepts the signature of a message (EIP-1271). */
  readonly isContractSignature: (address: Hex, message: string, signature: Hex) => Promise<boolean | 'UNAVAILABLE'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: SignInLimits;
}

export interface IssuedNonce {
  readonly nonce: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export interface SignedMessage {
  readonly message: string;
  readonly signature: Hex;
  /** The proof is kept by a session that ends, or by the key. */
  readonly keep: 'session' | 'key';
}

/** Why a signed message proves nothing. */
export type RejectedMessage =
  /** `problem`: why the message does not hold, for the client. */
  | { readonly type: 'INVALID'; readonly problem: string }
  | { readonly type: 'NONCE_REJECTED' | 'UNAVAILABLE' }
  | { readonly type: 'TOO_MANY'; readonly retryAfterMs: number };

export type SignInResult =
  | { readonly type: 'SIGNED_IN'; readonly address: Hex; readonly token: string; readonly expiresAtMs: number }
  | { readonly type: 'PROVEN' | 'TOO_MANY_TAKERS' | 'KEY_REVOKED'; readonly address: Hex }
  | RejectedMessage;

export type KeyCreation =
  /** `replaced`: the address had a key, which is gone. */
  | {
      readonly type: 'CREATED';
      readonly address: Hex;
      readonly id: string;
      readonly key: string;
      readonly replaced: boolean;
    }
  | { readonly type: 'FULL' | 'NETWORK_FULL' }
  | RejectedMessage;

/** Sign-in with Ethereum (EIP-4361): proves that the holder of a key owns an address. */
export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Of that key alone. It takes no memory until it is spent. */
  issueNonce(keyId: string): IssuedNonce {
    const { clock, random, nonces, limits } = this.#options;
    const issuedAtMs = clock.wallMs();
    const payload = Buffer.alloc(RANDOM_AT + RANDOM_BYTES);
    payload.writeBigUInt64BE(BigInt(issuedAtMs));
    payload.write(keyId, KEY_AT, 'hex');
    payload.set(random.bytes(RANDOM_BYTES), RANDOM_AT);
    return { nonce: nonces.seal(payload).toString('hex'), expiresAtMs: issuedAtMs + limits.nonceMs };
  }

  /** Checks the message and its signature, spends its nonce, and keeps the proof. */
  async verify(keyId: string, signed: SignedMessage): Promise<SignInResult> {
    const { clock, limits, proofs } = this.#options;
    const owner = await this.#ownerOf(keyId, signed);
    if (owner.type !== 'OWNER') return owner;
    const { address, nonce } = owner;
    const expiresAtMs = Math.min(owner.expiresAtMs ?? Infinity, clock.wallMs() + limits.sessionMs);
    const token = this.#options.startSession(keyId, address, expiresAtMs);
    const session = { id: sessionIdOf(token), expiresAtMs };
    const rejected = await this.#spend({ ...nonce, address, ...(signed.keep === 'session' && { session }) });
    if (rejected !== null) return rejected;
    if (signed.keep === 'key') {
      const kept = KEPT[await proofs.prove(keyId, address)];
      return kept === 'UNAVAILABLE' ? { type: kept } : { type: kept, address };
    }
    return { type: 'SIGNED_IN', address, token, expiresAtMs };
  }

  /**
   * Checks the same, and creates the one key of the tier self that the address may have. `networkId` stands for the
   * network of the caller, who has no key yet: nonces are of it, and so is the key.
   */
  async createKey(networkId: string, signed: Omit<SignedMessage, 'keep'>): Promise<KeyCreation> {
    const { proofs, newKey } = this.#options;
    const owner = await this.#ownerOf(networkId, signed);
    if (owner.type !== 'OWNER') return owner;
    const { address, nonce } = owner;
    const rejected = await this.#spend({ ...nonce, address });
    if (rejected !== null) return rejected;
    const { id, key, hash } = newKey();
    const added = await proofs.addSelfKey({ id, hash, address, network: networkId });
    if (added !== 'ADDED' && added !== 'REPLACED') return { type: added };
    return { type: 'CREATED', address, id, key, replaced: added === 'REPLACED' };
  }

  async #ownerOf(
    keyId: string,
    signed: Omit<SignedMessage, 'keep'>,
  ): Promise<
    | {
        readonly type: 'OWNER';
        readonly address: Hex;
        readonly nonce: Omit<NonceUse, 'address'>;
        readonly expiresAtMs: number | null;
      }
    | RejectedMessage
  > {
    const { clock, limits } = this.#options;
    const nowMs = clock.wallMs();
    const read = this.#read(signed.message, nowMs);
    if ('problem' in read) return { type: 'INVALID', problem: read.problem };
    const { address } = read;
    const nonce = this.#readNonce(read.nonce, keyId);
    const ageMs = nonce === null ? Infinity : nowMs - nonce.issuedAtMs;
    if (nonce === null || ageMs < -limits.nonceLeadMs || ageMs >= limits.nonceMs) return { type: 'NONCE_REJECTED' };
    const isSigner = await this.#isSigner(address, signed);
    if (isSigner === 'UNAVAILABLE') return { type: 'UNAVAILABLE' };
    if (!isSigner) return { type: 'INVALID', problem: `The signature is not of ${address}` };
    return { type: 'OWNER', address, nonce, expiresAtMs: read.expiresAtMs };
  }

  /** Null: it is spent. */
  async #spend(use: NonceUse): Promise<RejectedMessage | null> {
    const spent = await this.#options.proofs.spend(use);
    if (spent === 'SPENT') return null;
    if (spent === 'UNAVAILABLE') return { type: 'UNAVAILABLE' };
    return spent === 'REJECTED' ? { type: 'NONCE_REJECTED' } : { type: 'TOO_MANY', retryAfterMs: spent.retryAfterMs };
  }
  /** Ends the session of that token for all processes with these keys. */
  async signOut(token: string): Promise<'SIGNED_OUT' | 'NO_SESSION' | 'TOO_MANY' | 'UNAVAILABLE'> {
    const session = this.#options.sessionOf(token);
    return session === null ? 'NO_SESSION' : this.#options.proofs.signOut(session);
  }

  #read(
    text: string,
    nowMs: number,
  ):
    | { readonly problem: string }
    | { readonly address: Hex; readonly nonce: string; readonly expiresAtMs: number | null } {
    const message = parseSiweMessage(text);
    const { address, domain, uri, nonce, version, chainId, issuedAt, expirationTime } = message;
    if (address === undefined || !domain || !uri || !nonce || version !== '1' || isWrongTime(issuedAt)) {
      return { problem: 'The message is no sign-in message of EIP-4361' };
    }
    if (!this.#isServed(domain)) return { problem: `The domain ${domain} is none of signInDomains` };
    if (!URL.canParse(uri) || new URL(uri).host !== domain) {
      return { problem: 'The URI of the message is of another host than its domain' };
    }
    if (chainId !== this.#options.chainId) {
      return { problem: `The message is for chain ${chainId}, not for ${this.#options.chainId}` };
    }
    if (!validateSiweMessage({ message, time: new Date(nowMs) })) {
      return { problem: 'The message has expired, or does not hold yet' };
    }
    return {
      address: address.toLowerCase() as Hex,
      nonce,
      expiresAtMs: expirationTime === undefined ? null : expirationTime.getTime(),
    };
  }

  /**
   * A page of another host can have people sign for its own domain alone: so the domain is compared with what the
   * operator set, not with what the request says.
   */
  #isServed(domain: string): boolean {
    const { domains } = this.#options;
    if (domains.length > 0) return domains.includes(domain);
    return URL.canParse(`http://${domain}`) && LOOPBACK.includes(new URL(`http://${domain}`).hostname);
  }

  #readNonce(text: string, keyId: string): Omit<NonceUse, 'address'> | null {
    const { nonces } = this.#options;
    const payload = /^[0-9a-f]{88}$/.test(text) ? nonces.open(Buffer.from(text, 'hex')) : null;
    if (payload?.toString('hex', KEY_AT, RANDOM_AT) !== keyId) return null;
    return { id: payload.toString('hex', RANDOM_AT), keyId, issuedAtMs: Number(payload.readBigUInt64BE()) };
  }

  async #isSigner(address: Hex, { message, signature }: Omit<SignedMessage, 'keep'>): Promise<boolean | 'UNAVAILABLE'> {
    const signer = await recoverMessageAddress({ message, signature }).catch(() => null);
    if (signer?.toLowerCase() === address) return true;
    return this.#options.isContractSignature(address, message, signature);
  }
}

const KEPT = {
  PROVEN: 'PROVEN',
  TOO_MANY: 'TOO_MANY_TAKERS',
  NOT_FOUND: 'KEY_REVOKED',
  UNAVAILABLE: 'UNAVAILABLE',
} as const;

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1'];

function isWrongTime(time: Date | undefined): boolean {
  return time === undefined || Number.isNaN(time.getTime());
}
