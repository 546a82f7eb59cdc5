import { QuoteDigest, QuoteSignature } from '../auth/quote-signature.js';
import { loadSecp256k1 } from '../auth/secp256k1.js';
import { InlineSignatureChecks, SignatureCache, SignaturePool } from '../auth/signature-pool.js';
import { QuoteDryRun } from '../chain/publish/dry-run.js';
import { QuoteIntake } from '../chain/publish/quote-intake.js';
import { QuoteRules, QuoteValidation } from '../chain/publish/quote-validation.js';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Sequencer } from '../engine/sequencer.js';
import { knownOrder } from './book-views.js';
import type { Chains } from './chains.js';
import type { TimeStep } from './post-traces.js';
import type { CoreOptions } from './service-options.js';

/** Parts that compute quote ids and check signatures. */
export interface SignatureParts {
  readonly digests: QuoteDigest;
  /** On this thread, one at a time. */
  readonly signatures: QuoteSignature;
  /** Of many, on threads of their own where these pay; what was found lately is remembered. */
  readonly signatureChecks: SignatureCache;
}

export async function openSignatures(
  { profile, clock, limits, logger }: CoreOptions,
  onFault: (error: unknown) => void,
): Promise<SignatureParts> {
  const secp256k1 = await loadSecp256k1();
  logger.info({ library: secp256k1.library }, 'signature library loaded');
  const digests = new QuoteDigest(profile.settlement.chainId, limits.poolCache);
  const signatures = new QuoteSignature(digests, secp256k1);
  const inlineChecks = new InlineSignatureChecks(signatures, clock, limits.checksPerTurn);
  const pool = new SignaturePool(inlineChecks, limits, onFault);
  return { digests, signatures, signatureChecks: new SignatureCache(pool, limits.rememberedSignatures) };
}

export interface IntakeOptions {
  readonly sequencer: Sequencer;
  readonly chains: Chains;
  readonly signing: SignatureParts;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  /** Clock of the waits for quotes, which end when the service stops. */
  readonly requestClock: Clock;
}

/** Handlers of posted quotes. */
export interface IntakeParts {
  /** Null without a wallet. */
  readonly intake: QuoteIntake | null;
  /** Everything but the publication. */
  readonly dryRun: QuoteDryRun;
}

/** Puts together the checks of posted quotes, and with a wallet their publication. */
export function openIntake({ engine, clock, limits, traces }: CoreOptions, parts: IntakeOptions): IntakeParts {
  const { sequencer, nowSeconds, requestClock } = parts;
  const { pools, states, publisher } = parts.chains;
  const { digests, signatures, signatureChecks } = parts.signing;
  const { checksPerTurn } = limits;
  const known = { get: (quoteId: Hex) => knownOrder(engine, quoteId), whenDurable: () => sequencer.whenDurable() };
  const rules = new QuoteRules(signatures, nowSeconds, limits);
  const common = { orders: known, pools, rules, states, clock, checksPerTurn };
  const dryRun = new QuoteDryRun({ ...common, digests, signatures });
  if (publisher === null) return { intake: null, dryRun };
  const validating = (around: TimeStep): QuoteValidation => {
    const timedChecks: Pick<SignatureCache, 'verifyAll'> = {
      verifyAll: (claimed) => around('verify signatures', () => signatureChecks.verifyAll(claimed)),
    };
    const timedStates: typeof states = { read: (...args) => around('ask the pools', () => states.read(...args)) };
    return new QuoteValidation({ ...common, signatureChecks: timedChecks, states: timedStates });
  };
  const validation = traces?.validation(validating) ?? new QuoteValidation({ ...common, signatureChecks });
  return { intake: new QuoteIntake(known, validation, publisher, requestClock, limits), dryRun };
}
