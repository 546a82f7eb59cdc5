import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignedNonce } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Hex, Signature } from '../engine/quote.js';

/** Why a key may set something for a provider: the provider signed it, or proved its address with the key, or neither. */
export type Consent = (SignedNonce & { readonly signature: Signature }) | 'PROVEN' | null;

/** Why a provider has not consented to what a key asks for it. */
export type ConsentRefusal =
  | { readonly type: 'NOT_AUTHORIZED' | 'EXPIRED' | 'TOO_FAR_AHEAD' | 'BAD_SIGNATURE' | 'NONCE_SPENT' }
  /** The provider, or all of them, have signed with as many nonces as are kept. */
  | { readonly type: 'TOO_MANY_NONCES'; readonly retryAfterMs: number };

export interface ProviderConsentParts {
  readonly engine: Pick<Engine, 'isSpent' | 'spentNonces'>;
  readonly signatures: Pick<QuoteSignature, 'signer'>;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  readonly limits: { readonly noncesPerProvider: number };
}

const NONCES_RETRY_MS = 1000;

/**
 * Why a provider has not consented to what is asked on its behalf; null: it has. That a nonce counts once is the engine's
 * rule, so that it holds after a restart and in every replica: here it is looked up to give the reason.
 */
export function consentRefusal(
  { engine, signatures, nowSeconds, limits }: ProviderConsentParts,
  asked: {
    readonly provider: Hex;
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
  if (ofProvider < limits.noncesPerProvider && total < asked.noncesKept) return null;
  return { type: 'TOO_MANY_NONCES', retryAfterMs: NONCES_RETRY_MS };
}

/** The part of a consent that the log keeps; null: no signature was needed. */
export function signedNonce(consent: Consent): SignedNonce | null {
  return consent === null || consent === 'PROVEN' ? null : { nonce: consent.nonce, deadline: consent.deadline };
}
