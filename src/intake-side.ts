import type { ChainSide } from './chain/chain-side-options.js';
import { QuoteRehearsal } from './chain/publish/dry-run.js';
import { QuoteIntake } from './chain/publish/quote-intake.js';
import { IntakeChecks, QuoteChecks } from './chain/publish/quote-validation.js';
import { knownOrder } from './engine-side.js';
import type { Clock } from './engine/ports.js';
import type { Hex } from './engine/quote.js';
import type { Sequencer } from './engine/sequencer.js';
import type { ServiceOptions } from './service-options.js';
import type { SignatureSide } from './signature-side.js';

export interface IntakeSideParts {
  readonly sequencer: Sequencer;
  readonly chains: ChainSide;
  readonly signing: SignatureSide;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  /** Of those who wait for their quotes. */
  readonly askersClock: Clock;
}

/** What becomes of posted quotes. */
export interface IntakeSide {
  /** Null without a wallet. */
  readonly intake: QuoteIntake | null;
  /** Everything but the publication. */
  readonly rehearsal: QuoteRehearsal;
}

/** Puts together the checks of posted quotes, and with a wallet their publication. */
export function openIntake({ engine, clock, limits }: ServiceOptions, parts: IntakeSideParts): IntakeSide {
  const { sequencer, nowSeconds, askersClock } = parts;
  const { pools, states, publisher } = parts.chains;
  const { digests, signatures, signatureChecks } = parts.signing;
  const { checksPerTurn } = limits;
  const known = { get: (quoteId: Hex) => knownOrder(engine, quoteId), whenDurable: () => sequencer.whenDurable() };
  const checks = new QuoteChecks(signatures, nowSeconds, limits);
  const rehearsal = new QuoteRehearsal(known, pools, digests, signatures, checks, states, clock, checksPerTurn);
  if (publisher === null) return { intake: null, rehearsal };
  const intakeChecks = new IntakeChecks(known, pools, checks, signatureChecks, states, clock, checksPerTurn);
  return { intake: new QuoteIntake(known, intakeChecks, publisher, askersClock, limits), rehearsal };
}
