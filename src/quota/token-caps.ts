import type { TokenProfile } from '../chain/contracts/deployments.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import { parseDecimal } from '../wire/primitives.js';
import { DayBudget, UsageStore } from './day-budget.js';

/** The name under which the days of all tokens are kept. */
const KEPT_AS = 'operator tokens';

export interface TokenCapOptions {
  /** Most that may be spent within 24 hours, by symbol, in the token's smallest units; a token without one has no cap. */
  readonly perDay: ReadonlyMap<string, bigint>;
  /** Must continue after a restart where it stopped. */
  readonly nowMs: () => number;
  /** Stores what was spent; null: kept in memory only. */
  readonly kept: KeyValueStore | null;
}

/** Caps by symbol, in the token's smallest units, or what is wrong with their texts, one sentence each. */
export interface ReadTokenCaps {
  readonly perDay: ReadonlyMap<string, bigint>;
  readonly problems: readonly string[];
}

/** Reads the setting `operatorTokensPerDay`: texts such as `USDC=50000`, in whole tokens. */
export function readTokenCaps(
  texts: readonly string[],
  tokens: readonly Pick<TokenProfile, 'symbol' | 'decimals'>[],
): ReadTokenCaps {
  const perDay = new Map<string, bigint>();
  const named = new Set<string>();
  const problems: string[] = [];
  for (const text of texts) {
    const [symbol = '', amount = ''] = text.split('=');
    const token = tokens.find((known) => known.symbol === symbol);
    const units = token === undefined ? 'NO_TOKEN' : parseDecimal(amount, token.decimals);
    if (named.has(symbol)) problems.push(`names ${symbol} more than once: give each token one amount`);
    else if (token === undefined) {
      const symbols = tokens.map((known) => known.symbol).join(', ');
      problems.push(`has ${text}, and the profile has no token ${symbol}: give one of ${symbols}`);
    } else if (units === 'TOO_PRECISE') {
      problems.push(`has ${text}, and ${symbol} has ${token.decimals} decimals: give no more`);
    } else if (typeof units !== 'bigint')
      problems.push(`has ${text}, which is no amount of ${symbol}: give a smaller one`);
    else perDay.set(symbol, units);
    named.add(symbol);
  }
  return { perDay, problems: problems.map((problem) => `operatorTokensPerDay ${problem}.`) };
}

/** Why the operator's wallet spends no more of a token now. */
export type TokenCapRefusal =
  | { readonly type: 'TOKEN_CAP'; readonly symbol: string; readonly retryAfterMs: number }
  /** The disk is full: a restart would let the same be spent again. */
  | { readonly type: 'STORAGE_FULL' };

/**
 * Caps the tokens that the operator's wallet pays for its keys within 24 hours from the first payment: what fills and
 * trades with vaults cost. It reserves before sending and refunds what was not spent.
 */
export class TokenCaps {
  readonly #options: TokenCapOptions;
  readonly #days: DayBudget;
  readonly #store: UsageStore;

  constructor(options: TokenCapOptions) {
    this.#options = options;
    this.#days = new DayBudget(options.nowMs);
    this.#store = new UsageStore(options.kept);
    const found: unknown = options.kept?.found.get(KEPT_AS) ?? {};
    for (const [symbol, day] of Object.entries(Object(found) as Record<string, unknown>)) {
      const { endsMs, spent } = Object(day) as { endsMs?: unknown; spent?: unknown };
      if (!Number.isSafeInteger(endsMs) || typeof spent !== 'string' || !/^[0-9]+$/.test(spent)) {
        throw new Error(`What was spent of ${symbol} was kept in a form not understood`);
      }
      this.#days.put(symbol, { endsMs: endsMs as number, used: BigInt(spent) });
    }
  }

  /** Reserves all of `units`, or nothing and returns why not. */
  take(symbol: string, units: bigint): TokenCapRefusal | null {
    const cap = this.#options.perDay.get(symbol);
    if (cap === undefined || units === 0n) return null;
    if (!this.#store.isKept) {
      void this.#keep(); // the next call may find it kept
      return { type: 'STORAGE_FULL' };
    }
    const retryAfterMs = this.#days.take(symbol, units, cap);
    if (retryAfterMs > 0) return { type: 'TOKEN_CAP', symbol, retryAfterMs };
    void this.#keep();
    return null;
  }

  /** The time of a reservation, by the caps' clock; to be read after it, since it may begin a day. */
  nowMs(): number {
    return this.#options.nowMs();
  }

  /**
   * Charges what was spent of a reservation made at `takenMs`, and refunds the rest, unless that day has ended. Durable
   * when it resolves.
   */
  async settle(symbol: string, taken: bigint, used: bigint, takenMs: number): Promise<void> {
    if (!this.#options.perDay.has(symbol)) return;
    this.#days.giveBack(symbol, taken - used, takenMs);
    await this.#keep();
  }

  #keep(): Promise<void> {
    const days = Array.from(this.#days.entries(), ([symbol, { endsMs, used }]) => [
      symbol,
      { endsMs, spent: used.toString() },
    ]);
    return this.#store.put(KEPT_AS, Object.fromEntries(days));
  }
}
