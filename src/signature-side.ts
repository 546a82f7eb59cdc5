import { QuoteDigest, QuoteSignature } from './auth/quote-signature.js';
import { loadSecp256k1 } from './auth/secp256k1.js';
import { InlineSignatureChecks, RememberedSignatures, SignaturePool } from './auth/signature-pool.js';
import type { ServiceOptions } from './service-options.js';

/** What knows of quotes' ids and signatures. */
export interface SignatureSide {
  readonly digests: QuoteDigest;
  /** On this thread, one at a time. */
  readonly signatures: QuoteSignature;
  /** Of many, on threads of their own where these pay; what was found lately is remembered. */
  readonly signatureChecks: RememberedSignatures;
}

export async function openSignatures(
  { profile, clock, limits, logger }: ServiceOptions,
  onFault: (error: unknown) => void,
): Promise<SignatureSide> {
  const secp256k1 = await loadSecp256k1();
  logger.info({ library: secp256k1.library }, 'signatures are checked by');
  const digests = new QuoteDigest(profile.settlement.chainId, limits.poolCache);
  const signatures = new QuoteSignature(digests, secp256k1);
  const inlineChecks = new InlineSignatureChecks(signatures, clock, limits.checksPerTurn);
  const pool = new SignaturePool(inlineChecks, limits, onFault);
  return { digests, signatures, signatureChecks: new RememberedSignatures(pool, limits.rememberedSignatures) };
}
