import type { QuoteSignature } from '../auth/quote-signature.js';
import { ProviderDigest } from '../auth/provider-signature.js';
import type { Command, FillBounds, SetFillLimit, SignedNonce, TimerKind } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Sequencer } from '../engine/sequencer.js';
import { CountedByKey } from '../system/counted-by-key.js';
import { TurnBudget } from '../system/turn-budget.js';
import {
  type Consent,
  type ConsentRefusal,
  consentRefusal,
  countNonce,
  type NoncesOfKeys,
  signedNonce,
} from './provider-consent.js';

/** A key's request on behalf of a provider. Addresses in lower case. `keyId`: the calling key's, unless stated below. */
export type ProtectionRequest = { readonly provider: Hex; readonly keyId: string } & (
  | { readonly type: 'AUTHORIZE'; readonly consent: Consent }
  /** `keyId`: of the key to revoke. It is the calling key's if `consent` is null. */
  | {
      readonly type: 'REVOKE';
      readonly consent: Consent;
      /** Id of the calling key; absent: an older gateway's request. */
      readonly askedBy?: string;
    }
  /** Sets the timer, and has it start again. */
  | { readonly type: 'TIMER'; readonly kind: TimerKind; readonly seconds: number }
  | {
      readonly type: 'FILL_LIMIT';
      readonly poolAddress: Hex;
      /** Null: no limit any more. */
      readonly bounds: FillBounds | null;
      readonly consent: Consent;
    }
);

export type ProtectionResult =
  | { readonly type: 'DONE' }
  | ConsentRefusal
  | { readonly type: 'INVALID_SECONDS' | 'NO_POOL' | 'TOO_MANY' }
  /** Nothing can be written now, in the words of the journal or of the cluster. */
  | { readonly type: 'NOT_NOW'; readonly refusal: string };

export interface QuoteProtections {
  ask(request: ProtectionRequest): Promise<ProtectionResult>;
}

export interface QuoteProtectionParts {
  readonly engine: Pick<
    Engine,
    'protections' | 'notWithdrawnOf' | 'isSpent' | 'spentNonces' | 'nearestNonceDeadline' | 'pool'
  >;
  readonly sequencer: Pick<Sequencer, 'submit' | 'whenDurable' | 'afterCommit'>;
  readonly signatures: Pick<QuoteSignature, 'signer'>;
  readonly nonces: NoncesOfKeys;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** The settlement chain's. */
  readonly chainId: number;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  readonly limits: {
    readonly signedAheadSeconds: number;
    readonly noncesPerProvider: number;
    readonly noncesKept: number;
    readonly authorizationSeconds: number;
    readonly authorizationsPerProvider: number;
    readonly authorizationsPerKey: number;
    readonly authorizationsKept: number;
    readonly timerMinSeconds: number;
    readonly timerMaxSeconds: number;
    readonly timerGraceMs: number;
    readonly fillLimitsPerProvider: number;
    readonly fillLimitsPerKey: number;
    readonly fillLimitsKept: number;
    readonly fillWindowSeconds: number;
    readonly withdrawalsPerRequest: number;
    readonly journalRetryMs: number;
  };
}

interface RunningTimer {
  readonly provider: Hex;
  readonly owner: string;
  readonly kind: TimerKind;
  dueMs: number;
  /** Its time has come, and the quotes are being withdrawn. */
  isFiring: boolean;
  cancel: CancelTimer;
}

/** Timers that run out between two turns of the event loop: after a start those of all providers may at once. */
const TIMERS_PER_TURN = 16;

const REASONS = { HEARTBEAT: 'HEARTBEAT_MISSED', CONNECTION: 'DISCONNECTED' } as const;

/**
 * Sets what withdraws quotes without a request of their provider, and runs the timers. The log has which timers there
 * are, but no heartbeats: after a start each has its whole time again, and at least a grace. A timer that runs out
 * withdraws the quotes a record at a time and stops last, so that a crash in between has it run out again.
 */
export class QuoteProtection implements QuoteProtections {
  readonly #parts: QuoteProtectionParts;
  readonly #digests: ProviderDigest;
  readonly #timers = new Map<string, RunningTimer>();
  /** Fill limits in force, by the key that set them first. */
  readonly #fillLimits: CountedByKey<string>;
  readonly #turns: TurnBudget;
  #isStopped = false;

  constructor(parts: QuoteProtectionParts) {
    this.#parts = parts;
    this.#digests = new ProviderDigest(parts.chainId);
    const { fillLimitsPerKey, fillLimitsKept } = parts.limits;
    this.#fillLimits = new CountedByKey({ perKey: fillLimitsPerKey, inAll: fillLimitsKept });
    this.#turns = new TurnBudget(parts.clock, TIMERS_PER_TURN);
  }

  /** Has the timers run that the log tells of. */
  start(): void {
    const { engine, limits } = this.#parts;
    for (const { provider, owner, timers } of engine.protections.authorizations()) {
      for (const kind of ['HEARTBEAT', 'CONNECTION'] as const) {
        if (timers[kind] > 0) this.#renew(provider, owner, kind, Math.max(timers[kind] * 1000, limits.timerGraceMs));
      }
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  async ask(request: ProtectionRequest): Promise<ProtectionResult> {
    const { sequencer } = this.#parts;
    const decided = this.#commandFor(request);
    if ('refused' in decided) return decided.refused;
    if (decided.command !== null) {
      const submitted = sequencer.submit(decided.command);
      if (submitted.refusal !== null) return { type: 'NOT_NOW', refusal: submitted.refusal };
    }
    if (decided.command?.type === 'SET_FILL_LIMIT') this.#countFillLimit(request.keyId, decided.command);
    if (request.type === 'TIMER') {
      const { provider, keyId, kind, seconds } = request;
      if (seconds === 0) this.#drop(timerName(provider, keyId, kind));
      else this.#renew(provider, keyId, kind, seconds * 1000);
    } else countNonce(this.#parts.nonces, askedBy(request), signedNonce(request.consent));
    await sequencer.whenDurable();
    return { type: 'DONE' };
  }

  /** Null: it is so already. */
  #commandFor(
    request: ProtectionRequest,
  ): { readonly command: Command | null } | { readonly refused: ProtectionResult } {
    const { engine, limits, nowSeconds } = this.#parts;
    const { provider, keyId } = request;
    const known = engine.protections.authorization(provider, keyId);
    if (request.type === 'TIMER') {
      const { kind, seconds } = request;
      if (known === undefined || known.until < nowSeconds()) return { refused: { type: 'NOT_AUTHORIZED' } };
      if (seconds !== 0 && (seconds < limits.timerMinSeconds || seconds > limits.timerMaxSeconds)) {
        return { refused: { type: 'INVALID_SECONDS' } };
      }
      const isSet = known.timers[kind] === seconds;
      return { command: isSet ? null : { type: 'SET_TIMER', provider, owner: keyId, kind, seconds } };
    }
    const digest = (signed: SignedNonce): Hex => this.#digestOf(request, signed);
    const ahead = request.type === 'AUTHORIZE' ? limits.authorizationSeconds : limits.signedAheadSeconds;
    const isAllowed = request.type !== 'AUTHORIZE' && known !== undefined && known.until >= nowSeconds();
    const { consent } = request;
    const refused = consentRefusal(this.#parts, {
      provider,
      askedBy: askedBy(request),
      consent,
      digest,
      aheadSeconds: ahead,
      // Authorisations last for months: they leave half of the places to the rest.
      noncesKept: request.type === 'AUTHORIZE' ? limits.noncesKept / 2 : limits.noncesKept,
      isAllowed,
    });
    if (refused !== null) return { refused };
    const signed = signedNonce(consent);
    const { counts } = engine.protections;
    if (request.type === 'FILL_LIMIT') {
      const { poolAddress, bounds } = request;
      const pool = engine.pool(poolAddress);
      if (pool === undefined) return { refused: { type: 'NO_POOL' } };
      if (bounds !== null && (bounds.seconds < 1 || bounds.seconds > limits.fillWindowSeconds)) {
        return { refused: { type: 'INVALID_SECONDS' } };
      }
      const own = [...engine.protections.limitsOf(provider)];
      const isNew = bounds !== null && own.every((limit) => limit.poolAddress !== poolAddress);
      const isFull = own.length >= limits.fillLimitsPerProvider || counts.fillLimits >= limits.fillLimitsKept;
      if (isNew && (isFull || !this.#fillLimits.hasRoom(keyId, nowSeconds()))) {
        return { refused: { type: 'TOO_MANY' } };
      }
      const until = pool.pool.poolKey.maturity;
      return { command: { type: 'SET_FILL_LIMIT', provider, poolAddress, until, bounds, signed } };
    }
    if (request.type === 'AUTHORIZE' && known === undefined && !this.#hasRoomFor(provider, keyId)) {
      return { refused: { type: 'TOO_MANY' } };
    }
    const until = request.type === 'REVOKE' ? 0 : (signed?.deadline ?? nowSeconds() + limits.authorizationSeconds);
    return { command: { type: 'AUTHORIZE_KEY', provider, owner: keyId, until, signed } };
  }

  /** For one more authorisation. Few keys must not take the places of all. */
  #hasRoomFor(provider: Hex, keyId: string): boolean {
    const { protections } = this.#parts.engine;
    const { authorizationsPerProvider, authorizationsPerKey, authorizationsKept } = this.#parts.limits;
    if (protections.counts.authorizations >= authorizationsKept) return false;
    if ([...protections.authorizationsOf(provider)].length >= authorizationsPerProvider) return false;
    return [...protections.authorizations()].filter(({ owner }) => owner === keyId).length < authorizationsPerKey;
  }

  #countFillLimit(keyId: string, { provider, poolAddress, until, bounds }: SetFillLimit): void {
    const id = `${provider} ${poolAddress}`;
    if (bounds === null) this.#fillLimits.delete(id);
    else if (!this.#fillLimits.has(id)) this.#fillLimits.add(keyId, id, until);
  }

  #digestOf(request: Exclude<ProtectionRequest, { readonly type: 'TIMER' }>, signed: SignedNonce): Hex {
    const { provider, keyId } = request;
    if (request.type !== 'FILL_LIMIT') {
      return this.#digests.ofKey(request.type === 'AUTHORIZE' ? 'AuthorizeKey' : 'RevokeKey', {
        provider,
        keyId,
        ...signed,
      });
    }
    const { poolAddress, bounds } = request;
    return this.#digests.ofFillLimit({ provider, poolAddress, bounds: bounds ?? NO_BOUNDS, ...signed });
  }

  #renew(provider: Hex, owner: string, kind: TimerKind, waitMs: number): void {
    const { clock } = this.#parts;
    const name = timerName(provider, owner, kind);
    const dueMs = clock.monotonicMs() + waitMs;
    const known = this.#timers.get(name);
    if (known !== undefined) {
      const isSooner = dueMs < known.dueMs;
      known.dueMs = dueMs;
      // One that is due later looks again when its first time has come.
      if (isSooner && !known.isFiring) this.#wait(name, known);
      return;
    }
    const timer = { provider, owner, kind, dueMs, isFiring: false, cancel: () => undefined };
    this.#timers.set(name, timer);
    this.#wait(name, timer);
  }

  #wait(name: string, timer: RunningTimer, waitMs = timer.dueMs - this.#parts.clock.monotonicMs()): void {
    timer.cancel();
    timer.cancel = this.#parts.clock.after(Math.max(waitMs, 0), () => this.#look(name, timer));
  }

  #look(name: string, timer: RunningTimer): void {
    if (this.#isStopped || this.#timers.get(name) !== timer) return;
    if (!timer.isFiring && timer.dueMs > this.#parts.clock.monotonicMs()) return this.#wait(name, timer);
    if (!this.#turns.hasRoom) {
      timer.cancel = this.#turns.wait(() => this.#look(name, timer));
      return;
    }
    this.#turns.spend();
    this.#fire(name, timer);
  }

  /** Withdraws as many quotes as a record takes; the next ones once that is durable. */
  #fire(name: string, timer: RunningTimer): void {
    const { engine, sequencer, limits, nowSeconds, clock } = this.#parts;
    const { provider, owner, kind } = timer;
    const known = engine.protections.authorization(provider, owner);
    if (known === undefined || known.until < nowSeconds() || known.timers[kind] === 0) return this.#drop(name);
    if (!timer.isFiring) timer.dueMs = clock.monotonicMs();
    timer.isFiring = true;
    const quoteIds = engine.notWithdrawnOf(provider, limits.withdrawalsPerRequest);
    const isDone = quoteIds.length === 0;
    if (isDone && timer.dueMs > clock.monotonicMs()) {
      // A heartbeat came meanwhile: it runs on.
      timer.isFiring = false;
      return this.#wait(name, timer);
    }
    const submitted = sequencer.submit(
      isDone
        ? { type: 'SET_TIMER', provider, owner, kind, seconds: 0 }
        : { type: 'WITHDRAW_QUOTES', provider, quoteIds, reason: REASONS[kind], signed: null },
    );
    if (submitted.refusal !== null) this.#wait(name, timer, limits.journalRetryMs);
    else if (isDone) this.#drop(name);
    else sequencer.afterCommit(() => this.#look(name, timer));
  }

  #drop(name: string): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }
}

/** Id of the calling key. */
function askedBy(request: ProtectionRequest): string {
  return request.type === 'REVOKE' ? (request.askedBy ?? '') : request.keyId;
}

const NO_BOUNDS = { contracts: 0n, fills: 0, seconds: 0 };

function timerName(provider: Hex, owner: string, kind: TimerKind): string {
  return `${provider} ${kind} ${owner}`;
}
