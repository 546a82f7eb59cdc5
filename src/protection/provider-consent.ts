import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignedNonce } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Hex, Signature } from '../engine/quote.js';
import { CountedByKey } from '../system/counted-by-key.js';

/** Why a key may set something for a provider: the provider signed it, or proved its address with the key, or neither. */
export type Consent = (SignedNonce & { readonly signature: Signature }) | 'PROVEN' | null;

/** Why a provider has not consented to what a key asks for it. */
export type ConsentRefusal =
  | { readonly type: 'NOT_AUTHORIZED' | 'EXPIRED' | 'TOO_FAR_AHEAD' | 'BAD_SIGNATURE' | 'NONCE_SPENT' }
  /** As many nonces are kept as may be: of the provider, of all, or of what the key asked for. */
  | { readonly type: 'TOO_MANY_NONCES'; readonly retryAfterMs: number };

export interface ProviderConsentParts {
  readonly engine: Pick<Engine, 'isSpent' | 'spentNonces' | 'nearestNonceDeadline'>;
  readonly signatures: Pick<QuoteSignature, 'signer'>;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  readonly limits: { readonly noncesPerProvider: number };
  readonly nonces: NoncesOfKeys;
}

/** The nonces that are kept, by the key that asked for what they sign. */
export type NoncesOfKeys = CountedByKey<SignedNonce>;

export function noncesOfKeys(limits: { readonly noncesPerKey: number; readonly noncesKept: number }): NoncesOfKeys {
  return new CountedByKey({ perKey: limits.noncesPerKey, inAll: limits.noncesKept });
}

/**
 * Why a provider has not consented to what is asked on its behalf; null: it has. That a nonce counts once is the engine's
 * rule, so that it holds after a restart and in every replica: here it is looked up to give the reason.
 */
export function consentRefusal(
  { engine, signatures, nowSeconds, limits, nonces }: ProviderConsentParts,
  asked: {
    readonly provider: Hex;
    /** Id of the calling key. */
    readonly askedBy: string;
    readonly consent: Consent;
    /** The EIP-712 digest that the provider signs. */
    readonly digest: (signed: SignedNonce) => Hex;
    readonly aheadSeconds: number;
    /** Nonces of all providers that may be kept for it. */
    readonly noncesKept: number;
    /** Whether it is allowed without a signature and a proof, too. */
    readonly isAllowed: boolean;
  },
): ConsentRefusal | null {
  const { provider, consent } = asked;
  if (consent === 'PROVEN') return null;
  if (consent === null) return asked.isAllowed ? null : { type: 'NOT_AUTHORIZED' };
  const now = nowSeconds();
  if (consent.deadline < now) return { type: 'EXPIRED' };
  if (consent.deadline > now + asked.aheadSeconds) return { type: 'TOO_FAR_AHEAD' };
  if (signatures.signer(asked.digest(consent), consent.signature) !== provider) return { type: 'BAD_SIGNATURE' };
  if (engine.isSpent(provider, consent.nonce)) return { type: 'NONCE_SPENT' };
  const { ofProvider, total } = engine.spentNonces(provider);
  const roomAt = Math.max(
    ofProvider < limits.noncesPerProvider ? now : engine.nearestNonceDeadline(provider) + 1,
    total < asked.noncesKept ? now : engine.nearestNonceDeadline(null) + 1,
    nonces.hasRoom(asked.askedBy, now) ? now : nonces.nearestEnd(asked.askedBy),
  );
  return roomAt === now ? null : { type: 'TOO_MANY_NONCES', retryAfterMs: (roomAt - now) * 1000 };
}

/** The part of a consent that the log keeps; null: no signature was needed. */
export function signedNonce(consent: Consent): SignedNonce | null {
  return consent === null || consent === 'PROVEN' ? null : { nonce: consent.nonce, deadline: consent.deadline };
}

/** Counts a nonce for the key that asked, for as long as the engine keeps it. */
export function countNonce(nonces: NoncesOfKeys, askedBy: string, signed: SignedNonce | null): void {
  if (signed !== null) nonces.add(askedBy, signed, signed.deadline + 1);
}
