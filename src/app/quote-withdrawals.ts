import type { QuoteSignature } from '../auth/quote-signature.js';
import { WithdrawalDigest, type WithdrawalType } from '../auth/withdrawal-signature.js';
import type { Engine } from '../engine/engine.js';
import type { Hex } from '../engine/quote.js';
import type { Sequencer } from '../engine/sequencer.js';
import type { QuoteWithdrawals, WithdrawalRequest, WithdrawalResult } from '../http/withdrawal-routes.js';

export interface QuoteWithdrawalsParts {
  readonly engine: Pick<Engine, 'get' | 'withdrawal' | 'isSpent' | 'spentNonces' | 'seq'>;
  readonly sequencer: Pick<Sequencer, 'submit' | 'whenDurable'>;
  readonly signatures: Pick<QuoteSignature, 'signer'>;
  /** The settlement chain's. */
  readonly chainId: number;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  readonly limits: {
    readonly signedAheadSeconds: number;
    readonly noncesPerProvider: number;
    readonly noncesKept: number;
  };
}

/**
 * Withdraws and restores quotes that their provider names in a signed message. The signature is checked here; that a
 * nonce counts once is the engine's rule, so that it holds after a restart and in every replica.
 */
export function quoteWithdrawals(parts: QuoteWithdrawalsParts): QuoteWithdrawals {
  const { engine, sequencer, signatures, nowSeconds, limits } = parts;
  const digests = new WithdrawalDigest(parts.chainId);

  function refusal(type: WithdrawalType, request: WithdrawalRequest): WithdrawalResult | null {
    const { provider, nonce, deadline, signature } = request;
    const now = nowSeconds();
    if (deadline < now) return { type: 'EXPIRED' };
    if (deadline > now + limits.signedAheadSeconds) return { type: 'TOO_FAR_AHEAD' };
    if (signatures.signer(digests.of(type, request), signature) !== provider) return { type: 'BAD_SIGNATURE' };
    if (engine.isSpent(provider, nonce)) return { type: 'NONCE_SPENT' };
    const { ofProvider, total } = engine.spentNonces(provider);
    if (ofProvider < limits.noncesPerProvider && total < limits.noncesKept) return null;
    return { type: 'TOO_MANY_NONCES', retryAfterMs: 1000 };
  }

  function isOwn(quoteId: Hex, provider: Hex): boolean {
    return (engine.get(quoteId)?.quote.provider ?? engine.withdrawal(quoteId)?.provider) === provider;
  }

  async function carryOut(type: WithdrawalType, request: WithdrawalRequest): Promise<WithdrawalResult> {
    const refused = refusal(type, request);
    if (refused !== null) return refused;
    const { provider, quoteIds, nonce, deadline } = request;
    const isWithdrawal = type === 'WithdrawQuotes';
    const [changed, unchanged, unknown]: [Hex[], Hex[], Hex[]] = [[], [], []];
    for (const quoteId of new Set(quoteIds)) {
      const isWithdrawn = engine.withdrawal(quoteId) !== undefined;
      (isOwn(quoteId, provider) ? (isWithdrawn === isWithdrawal ? unchanged : changed) : unknown).push(quoteId);
    }
    const own = [...changed, ...unchanged];
    // Of a signature about no quote of the signer's no nonce is kept: such signatures cost nothing, and memory does.
    if (own.length > 0) {
      const common = { provider, quoteIds: own, signed: { nonce, deadline } };
      const submitted = sequencer.submit(
        isWithdrawal
          ? { type: 'WITHDRAW_QUOTES', reason: 'REQUESTED', ...common }
          : { type: 'RESTORE_QUOTES', ...common },
      );
      if (submitted.refusal !== null) return { type: 'NOT_NOW', refusal: submitted.refusal };
    }
    const { seq } = engine;
    await sequencer.whenDurable();
    return { type: 'DONE', changed, unchanged, unknown, seq };
  }

  return {
    withdraw: (request) => carryOut('WithdrawQuotes', request),
    restore: (request) => carryOut('RestoreQuotes', request),
  };
}
