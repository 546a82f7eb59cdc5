import { ProviderDigest, type WithdrawalType } from '../auth/provider-signature.js';
import type { Engine } from '../engine/engine.js';
import type { Hex } from '../engine/quote.js';
import type { Sequencer } from '../engine/sequencer.js';
import {
  type Consent,
  type ConsentRefusal,
  consentRefusal,
  countNonce,
  type ProviderConsentParts,
  signedNonce,
} from './provider-consent.js';

/** Addresses and ids in lower case. */
export interface WithdrawalRequest {
  readonly provider: Hex;
  /** Id of the calling key; absent: an older gateway's request. */
  readonly askedBy?: string;
  /** Or all that the book has of the provider, of one pool or of every; no signature names these. */
  readonly quoteIds: readonly Hex[] | { readonly ofPool: Hex | null };
  readonly consent: Consent;
}

/** `changed` are withdrawn, or shown again. `seq`: the last event, which the answer shows. */
export interface WithdrawalDone {
  readonly type: 'DONE';
  readonly changed: readonly Hex[];
  readonly unchanged: readonly Hex[];
  readonly unknown: readonly Hex[];
  readonly seq: number;
  /** Where all were asked for: whether there are others than one request takes. */
  readonly more?: boolean;
}

export type WithdrawalResult =
  | WithdrawalDone
  | ConsentRefusal
  /** Nothing can be written now, in the words of the journal or of the cluster. */
  | { readonly type: 'NOT_NOW'; readonly refusal: string };

export interface QuoteWithdrawals {
  withdraw(request: WithdrawalRequest): Promise<WithdrawalResult>;
  restore(request: WithdrawalRequest): Promise<WithdrawalResult>;
}

export interface QuoteWithdrawalsParts extends ProviderConsentParts {
  readonly engine: ProviderConsentParts['engine'] & Pick<Engine, 'get' | 'ordersOf' | 'withdrawal' | 'seq'>;
  readonly sequencer: Pick<Sequencer, 'submit' | 'whenDurable'>;
  /** The settlement chain's. */
  readonly chainId: number;
  readonly limits: ProviderConsentParts['limits'] & {
    readonly signedAheadSeconds: number;
    readonly noncesKept: number;
    readonly withdrawalsPerRequest: number;
  };
}

/** Withdraws and restores quotes that their provider names in a signed message, or with a key that proved its address. */
export function quoteWithdrawals(parts: QuoteWithdrawalsParts): QuoteWithdrawals {
  const { engine, sequencer, limits } = parts;
  const digests = new ProviderDigest(parts.chainId);

  function isOwn(quoteId: Hex, provider: Hex): boolean {
    return (engine.get(quoteId)?.quote.provider ?? engine.withdrawal(quoteId)?.provider) === provider;
  }

  /** One more than a request takes shows that there are more. */
  function shownOf(provider: Hex, pool: Hex | null): { readonly quoteIds: Hex[]; readonly more: boolean } {
    const quoteIds: Hex[] = [];
    for (const { state, quote } of engine.ordersOf(provider)) {
      if (state === 'withdrawn' || (pool !== null && quote.pool.poolAddress !== pool)) continue;
      if (quoteIds.length === limits.withdrawalsPerRequest) return { quoteIds, more: true };
      quoteIds.push(quote.quoteId);
    }
    return { quoteIds, more: false };
  }

  async function carryOut(type: WithdrawalType, request: WithdrawalRequest): Promise<WithdrawalResult> {
    const { provider, askedBy = '', consent } = request;
    // No signature names them: before they are looked for.
    if ('ofPool' in request.quoteIds && consent !== 'PROVEN') return { type: 'NOT_AUTHORIZED' };
    const { quoteIds, more } =
      'ofPool' in request.quoteIds
        ? shownOf(provider, request.quoteIds.ofPool)
        : { quoteIds: request.quoteIds, more: undefined };
    const refused = consentRefusal(parts, {
      provider,
      askedBy,
      consent,
      digest: (signed) => digests.of(type, { provider, quoteIds, ...signed }),
      aheadSeconds: limits.signedAheadSeconds,
      noncesKept: limits.noncesKept,
      isAllowed: false,
    });
    if (refused !== null) return refused;
    const isWithdrawal = type === 'WithdrawQuotes';
    const [changed, unchanged, unknown]: [Hex[], Hex[], Hex[]] = [[], [], []];
    for (const quoteId of new Set(quoteIds)) {
      const isWithdrawn = engine.withdrawal(quoteId) !== undefined;
      (isOwn(quoteId, provider) ? (isWithdrawn === isWithdrawal ? unchanged : changed) : unknown).push(quoteId);
    }
    const signed = signedNonce(consent);
    // A signature that names no quote of its signer stores no nonce: it costs its sender nothing, and memory is limited.
    const named = signed === null ? changed : [...changed, ...unchanged];
    if (named.length > 0) {
      const message = consent === null || consent === 'PROVEN' ? null : { quoteIds, signature: consent.signature };
      const common = { provider, quoteIds: named, signed, ...(message !== null && { message }) };
      const submitted = sequencer.submit(
        isWithdrawal
          ? { type: 'WITHDRAW_QUOTES', reason: 'REQUESTED', ...common }
          : { type: 'RESTORE_QUOTES', ...common },
      );
      if (submitted.refusal !== null) return { type: 'NOT_NOW', refusal: submitted.refusal };
      countNonce(parts.nonces, askedBy, signed);
    }
    const { seq } = engine;
    await sequencer.whenDurable();
    return { type: 'DONE', changed, unchanged, unknown, seq, ...(more !== undefined && { more }) };
  }

  return {
    withdraw: (request) => carryOut('WithdrawQuotes', request),
    restore: (request) => carryOut('RestoreQuotes', request),
  };
}
