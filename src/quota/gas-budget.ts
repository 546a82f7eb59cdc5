import type { HeldTier } from '../auth/key-file.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import type { Hex } from '../engine/quote.js';
import type { QuotaHolder, TierQuotas } from './rate-limits.js';
import { DayBudget, keptDay, readKeptDay, UsageStore } from './day-budget.js';

/** Gas of `OrderbookStream.add`, measured: a part for the transaction, and one for each quote in it. */
const GAS_PER_TX = 21_800;
const GAS_PER_QUOTE = 12_100;
/** Under which a key's days are kept, before its id. */
const KEPT_AS = 'key ';

export interface GasBudgetOptions {
  /** The current quotas of a tier. */
  readonly of: (tier: HeldTier) => Pick<TierQuotas, 'quotesPerDay' | 'gasPerDay'>;
  /** Must continue after a restart where it stopped. */
  readonly nowMs: () => number;
  /** Stores what keys used; null: kept in memory only. */
  readonly kept: KeyValueStore | null;
  /** Called with the published quotes and the gas that a key is charged for. */
  readonly onCharged: (holder: QuotaHolder, quotes: number, gas: number) => void;
  /** Called for each refusal. */
  readonly onRefusal: (holder: QuotaHolder) => void;
}

/**
 * Limits the quotes and gas that the operator pays for each key within 24 hours. It reserves before sending, as if each
 * request had a transaction of its own, and refunds what was not sent.
 */
export class GasBudget {
  readonly #options: GasBudgetOptions;
  readonly #quotes: DayBudget;
  readonly #gas: DayBudget;
  readonly #store: UsageStore;

  constructor(options: GasBudgetOptions) {
    this.#options = options;
    this.#quotes = new DayBudget(options.nowMs);
    this.#gas = new DayBudget(options.nowMs);
    this.#store = new UsageStore(options.kept);
    this.#restore();
  }

  /**
   * False while the last write has failed: nothing may be reserved then. Each call retries the write, for the next
   * call.
   */
  canKeep({ id }: QuotaHolder): boolean {
    if (!this.#store.isKept) void this.#keep(id);
    return this.#store.isKept;
  }

  /** The refusal of a request that would not fit into a whole day of the key either; null: it would. */
  beyondDay(holder: QuotaHolder, quotes: number, gas: number): GasRefusal | null {
    const { quotesPerDay, gasPerDay } = this.#options.of(holder.tier);
    const [unit, needed, limit] =
      quotes > quotesPerDay ? (['quotes', quotes, quotesPerDay] as const) : (['gas', gas, gasPerDay] as const);
    if (needed <= limit) return null;
    this.#options.onRefusal(holder);
    return { type: 'BEYOND_DAY', unit, needed, limit };
  }

  /** Reserves all these quotes and all this gas, or nothing. Returns 0, or the milliseconds until the key's day ends. */
  take(holder: QuotaHolder, quotes: number, gas = gasOfQuotes(quotes)): number {
    const { id, tier } = holder;
    const { quotesPerDay, gasPerDay } = this.#options.of(tier);
    this.#forgetEnded();
    const quotesWaitMs = this.#quotes.take(id, BigInt(quotes), BigInt(quotesPerDay));
    const waitMs = quotesWaitMs > 0 ? quotesWaitMs : this.#gas.take(id, BigInt(gas), BigInt(gasPerDay));
    if (waitMs === 0) void this.#keep(id);
    else {
      if (quotesWaitMs === 0) this.#quotes.giveBack(id, BigInt(quotes), this.nowMs());
      this.#options.onRefusal(holder);
    }
    return waitMs;
  }

  /** The time of a reservation, by the budget's clock; to be read after it, since it may begin a day. */
  nowMs(): number {
    return this.#options.nowMs();
  }

  /**
   * Charges the sent quotes of a reservation made at `takenMs`, and refunds the rest. Durable when it resolves.
   */
  settle(holder: QuotaHolder, taken: number, sent: number, takenMs: number): Promise<void> {
    this.#quotes.giveBack(holder.id, BigInt(taken - sent), takenMs);
    return this.#charge(holder, gasOfQuotes(taken), sent, gasOfQuotes(sent), takenMs);
  }

  /** Charges the used gas of a reservation without quotes, made at `takenMs`; it may exceed it. Resolves as `settle`. */
  settleGas(holder: QuotaHolder, taken: number, used: number, takenMs: number): Promise<void> {
    return this.#charge(holder, taken, 0, used, takenMs);
  }

  async #charge(holder: QuotaHolder, taken: number, quotes: number, gas: number, takenMs: number): Promise<void> {
    this.#gas.giveBack(holder.id, BigInt(taken - gas), takenMs);
    if (gas > 0) this.#options.onCharged(holder, quotes, gas);
    await this.#keep(holder.id);
  }

  #keep(id: string): Promise<void> {
    const [quotes, gas] = [keptDay(this.#quotes.of(id)), keptDay(this.#gas.of(id))];
    return this.#store.put(`${KEPT_AS}${id}`, { quotes, gas });
  }

  /** Deletes days that have ended, also those of keys that are gone. */
  #forgetEnded(): void {
    for (const id of this.#gas.ended()) {
      if (!this.#quotes.hasEnded(id)) continue;
      this.#gas.delete(id);
      this.#quotes.delete(id);
      this.#options.kept?.remove(`${KEPT_AS}${id}`).catch(() => undefined);
    }
  }

  /** Restores the days of an earlier run, and deletes those that have ended. */
  #restore(): void {
    const { kept, nowMs } = this.#options;
    for (const [key, value] of kept?.found ?? []) {
      if (!key.startsWith(KEPT_AS)) continue;
      const found = Object(value) as { readonly quotes?: unknown; readonly gas?: unknown };
      const quotes = readKeptDay(found.quotes, `What ${key} used`);
      const gas = readKeptDay(found.gas, `What ${key} used`);
      if (Math.max(quotes.endsMs, gas.endsMs) <= nowMs()) {
        kept?.remove(key).catch(() => undefined);
        continue;
      }
      const id = key.slice(KEPT_AS.length);
      this.#quotes.put(id, quotes);
      this.#gas.put(id, gas);
    }
  }
}

/** Gas that quotes are charged with, as if each request had a transaction of its own. */
export function gasOfQuotes(quotes: number): number {
  return quotes === 0 ? 0 : GAS_PER_TX + quotes * GAS_PER_QUOTE;
}

/** Gas of the operator's transactions on the settlement chain: slightly above most measured on the local chain. */
export const GAS_PER_DEPLOYMENT = 260_000;
export const GAS_PER_SETTLEMENT = 135_000;
export const GAS_PER_FILL = 280_000;
export const GAS_PER_APPROVAL = 50_000;
/** With the deployment of the pool. */
export const GAS_PER_VAULT_TRADE = 500_000;
/** Of `cancelQuotesOB`: a part for the transaction, and one for each quote. */
export const GAS_PER_CANCEL = 26_000;
export const GAS_PER_CANCELLED_QUOTE = 25_000;

/** The cap of the wallet that sends. */
export interface CappedSender {
  readonly address: Hex;
  /** 0 if the wallet may spend; else the milliseconds until it may again. */
  waitMs(): number;
}

/** The cap of one route, for one request. */
export interface RouteCap {
  /** Reserves all this gas, or returns why not. */
  take(gas: number): GasRefusal | null;
  /** Charges the used gas of a reservation made at `takenMs`; it may exceed it. Durable when it resolves. */
  settle(taken: number, used: number, takenMs: number): Promise<void>;
}

/** One request of a key with the scope operator. */
export interface OperatorAction {
  readonly cap: RouteCap;
  onMined(holder: QuotaHolder, txHash: Hex, succeeded: boolean): void;
}

/** Those whose limits hold for one request. */
export interface GasPayers {
  readonly operatorGas: GasBudget;
  readonly sender: CappedSender;
  readonly holder: QuotaHolder;
  /** Of its route; null: it has none. */
  readonly cap: RouteCap | null;
}

/**
 * Reserves all these quotes and all this gas within every limit, or nothing and returns why not. The number is the time
 * of the reservation, by the budget's clock.
 */
export function reserveGas(
  { operatorGas, sender, holder, cap }: GasPayers,
  quotes: number,
  gas: number,
): number | GasRefusal {
  const capWaitMs = sender.waitMs();
  if (capWaitMs > 0) return { type: 'SPEND_CAP', wallet: sender.address, retryAfterMs: capWaitMs };
  if (!operatorGas.canKeep(holder)) return { type: 'STORAGE_FULL' };
  const never = operatorGas.beyondDay(holder, quotes, gas);
  if (never !== null) return never;
  const refusal = cap?.take(gas) ?? null;
  if (refusal !== null) return refusal;
  const retryAfterMs = operatorGas.take(holder, quotes, gas);
  // After both, either of which may have begun a day.
  const takenMs = operatorGas.nowMs();
  if (retryAfterMs === 0) return takenMs;
  void cap?.settle(gas, 0, takenMs);
  return { type: 'OVER_BUDGET', retryAfterMs };
}

/**
 * The gas of one request's transactions. It reserves the estimate from the key's budget before sending, and charges the
 * actual gas once the transactions are mined.
 */
export class GasReservation {
  #taken = 0;
  #takenMs = 0;
  #used = 0;
  #capWaitMs = 0;

  constructor(
    private readonly operatorGas: GasBudget,
    private readonly sender: CappedSender,
    private readonly holder: QuotaHolder,
    private gasPerTx: number,
    /** Of a route that only keys with the scope operator may use; null: of any other. */
    private readonly action: OperatorAction | null = null,
  ) {}

  /** Does the work and charges for it. Returns SPEND_CAP if the wallet's cap let nothing be sent. */
  async run<T>(work: (charge: GasReservation) => Promise<T>): Promise<T | GasRefusal> {
    try {
      const result = await work(this);
      const isCapped = this.#capWaitMs > 0 && this.#used === 0;
      return isCapped ? { type: 'SPEND_CAP', wallet: this.sender.address, retryAfterMs: this.#capWaitMs } : result;
    } finally {
      await Promise.all([
        this.operatorGas.settleGas(this.holder, this.#taken, this.#used, this.#takenMs),
        this.#taken > 0 ? this.action?.cap.settle(this.#taken, this.#used, this.#takenMs) : undefined,
      ]);
    }
  }

  /**
   * Reserves for all these transactions, or returns why not. Must be called once, before the first is sent. `gasEach`: in
   * place of the usual gas of one.
   */
  take(transactions: number, gasEach = this.gasPerTx): GasRefusal | null {
    if (transactions === 0) return null;
    this.gasPerTx = gasEach;
    const { operatorGas, sender, holder, action } = this;
    const gas = transactions * gasEach;
    const reserved = reserveGas({ operatorGas, sender, holder, cap: action?.cap ?? null }, 0, gas);
    if (typeof reserved !== 'number') return reserved;
    this.#taken = gas;
    this.#takenMs = reserved;
    return null;
  }

  /** A transaction was mined and used this much gas; null: it may still be mined, and counts as its estimate. */
  sent(gasUsed: bigint | null): void {
    this.#used += gasUsed === null ? this.gasPerTx : Number(gasUsed);
  }

  /** A transaction was mined, maybe long after the request was answered. */
  mined(txHash: Hex, succeeded: boolean): void {
    this.action?.onMined(this.holder, txHash, succeeded);
  }

  /** A transaction was not sent: the wallet may spend again in `waitMs`. */
  capped(waitMs: number): void {
    this.#capWaitMs = waitMs;
  }
}

/** The reason why the operator's wallet sends nothing for a key now. */
export type GasRefusal =
  /** The key has used its daily budget. */
  | { readonly type: 'OVER_BUDGET'; readonly retryAfterMs: number }
  /** The request needs more quotes or gas than the key may use in a day, however long it waits. */
  | {
      readonly type: 'BEYOND_DAY';
      readonly unit: 'quotes' | 'gas';
      readonly needed: number;
      readonly limit: number;
    }
  /** The wallet has reached its daily cap. */
  | { readonly type: 'SPEND_CAP'; readonly wallet: Hex; readonly retryAfterMs: number }
  /** The routes for keys with the scope operator have used their daily cap: the named one, or all together. */
  | { readonly type: 'OPERATOR_CAP'; readonly spender: string; readonly retryAfterMs: number }
  /** The disk is full, so usage cannot be recorded: a restart would let keys use it again. */
  | { readonly type: 'STORAGE_FULL' };
