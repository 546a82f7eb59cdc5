import type { FillBounds, TimerKind } from './command.js';
import type { Hex } from './quote.js';
import { TimeIndex } from './time-index.js';

/** Blocks with fills that are kept apart for one limit: beyond that the two oldest count as one. */
const MOST_BLOCKS = 64;

/** A provider lets an API key act for it, until then. */
export interface Authorization {
  readonly provider: Hex;
  /** Id of the key. */
  readonly owner: string;
  /** Unix seconds: the last one in which it counts. */
  readonly until: number;
  /** Seconds after which each timer withdraws the provider's quotes; 0: it is off. */
  readonly timers: Readonly<Record<TimerKind, number>>;
}

/** Fills of one provider in one pool that a block of the settlement chain has. `time`: Unix seconds of the block. */
type FilledBlock = readonly [blockNumber: number, time: number, size: bigint, fills: number];

/** How much of a provider's quotes in a pool may be filled in a time before all of them are withdrawn. */
export interface FillLimit {
  readonly provider: Hex;
  readonly poolAddress: Hex;
  readonly bounds: FillBounds;
  /** Unix seconds: the pool's maturity. */
  readonly until: number;
}

interface KeptAuthorization extends Authorization {
  place: number;
}

interface KeptLimit extends FillLimit {
  /** Since the limit was set or last reached, oldest first, as far as they may still count. */
  recent: readonly FilledBlock[];
  place: number;
}

export type AuthorizationRow = readonly [
  provider: Hex,
  owner: string,
  until: number,
  heartbeatSeconds: number,
  connectionSeconds: number,
];

export type FillLimitRow = readonly [
  provider: Hex,
  poolAddress: Hex,
  contracts: bigint,
  fills: number,
  seconds: number,
  until: number,
  recent: readonly FilledBlock[],
];

/** A fill as a limit counts it. */
export interface CountedFill {
  readonly provider: Hex;
  readonly poolAddress: Hex;
  readonly size: bigint;
  readonly blockNumber: number;
  readonly time: number;
}

const NO_TIMERS = { HEARTBEAT: 0, CONNECTION: 0 } as const;

/** Withdrawals without a request of the provider: authorisations of keys with their timers, and fill limits. */
export class Protections {
  readonly #authorizations = new Map<Hex, Map<string, KeptAuthorization>>();
  readonly #byUntil = new TimeIndex<KeptAuthorization>((kept, place) => (kept.place = place));
  readonly #limits = new Map<Hex, Map<Hex, KeptLimit>>();
  readonly #byMaturity = new TimeIndex<KeptLimit>((kept, place) => (kept.place = place));
  #authorizationCount = 0;
  #limitCount = 0;
  /** Digest of the rows; null: they have changed since. */
  #digest: string | null = null;

  get isEmpty(): boolean {
    return this.#authorizationCount === 0 && this.#limitCount === 0;
  }

  get counts(): { readonly authorizations: number; readonly fillLimits: number } {
    return { authorizations: this.#authorizationCount, fillLimits: this.#limitCount };
  }

  authorization(provider: Hex, owner: string): Authorization | undefined {
    return this.#authorizations.get(provider)?.get(owner);
  }

  authorizationsOf(provider: Hex): Iterable<Authorization> {
    return this.#authorizations.get(provider)?.values() ?? [];
  }

  *authorizations(): Generator<Authorization> {
    for (const ofProvider of this.#authorizations.values()) yield* ofProvider.values();
  }

  /** In the order of the providers. */
  authorizationsTo(owner: string): Authorization[] {
    const own = [...this.authorizations()].filter((authorization) => authorization.owner === owner);
    return own.sort((a, b) => (a.provider < b.provider ? -1 : 1));
  }

  limitsOf(provider: Hex): Iterable<FillLimit> {
    return this.#limits.get(provider)?.values() ?? [];
  }

  /** Until then, and no longer; a time that has passed revokes it. Timers that are set stay so. */
  authorize(provider: Hex, owner: string, until: number, nowSeconds: number): void {
    const known = this.#authorizations.get(provider)?.get(owner);
    if (known !== undefined) this.#revoke(known);
    if (until >= nowSeconds) this.#addAuthorization({ provider, owner, until, timers: known?.timers ?? NO_TIMERS });
  }

  /** Nothing happens without an authorisation. */
  setTimer(provider: Hex, owner: string, kind: TimerKind, seconds: number): void {
    const known = this.#authorizations.get(provider)?.get(owner);
    if (known === undefined) return;
    this.#revoke(known);
    this.#addAuthorization({ ...known, timers: { ...known.timers, [kind]: seconds } });
  }

  /** Null: there is no limit any more. A limit that is set anew has counted nothing. */
  setLimit(provider: Hex, poolAddress: Hex, until: number, bounds: FillBounds | null): void {
    const known = this.#limits.get(provider)?.get(poolAddress);
    if (known !== undefined) this.#dropLimit(known);
    if (bounds !== null) this.#addLimit({ provider, poolAddress, bounds, until }, []);
  }

  /** True: the fill is beyond the limit, which counts from nothing again. */
  filled({ provider, poolAddress, size, blockNumber, time }: CountedFill): boolean {
    const limit = this.#limits.get(provider)?.get(poolAddress);
    if (limit === undefined) return false;
    this.#digest = null;
    const { contracts, fills, seconds } = limit.bounds;
    const recent = limit.recent.filter((block) => block[1] > time - seconds);
    const last = recent.at(-1);
    if (last?.[0] === blockNumber) recent[recent.length - 1] = [blockNumber, time, last[2] + size, last[3] + 1];
    else recent.push([blockNumber, time, size, 1]);
    const [oldest, second] = recent;
    if (recent.length > MOST_BLOCKS && oldest !== undefined && second !== undefined) {
      recent.splice(0, 2, [second[0], second[1], oldest[2] + second[2], oldest[3] + second[3]]);
    }
    let [filledSize, count] = [0n, 0];
    for (const [, , ofBlock, countOfBlock] of recent) {
      filledSize += ofBlock;
      count += countOfBlock;
    }
    const isOver = (contracts > 0n && filledSize > contracts) || (fills > 0 && count > fills);
    limit.recent = isOver ? [] : recent;
    return isOver;
  }

  /** A reorg undid the blocks after this one: their fills do not count. */
  rewind(blockNumber: number): void {
    if (this.#limitCount === 0) return;
    this.#digest = null;
    for (const ofProvider of this.#limits.values()) {
      for (const limit of ofProvider.values()) {
        limit.recent = limit.recent.filter((block) => block[0] <= blockNumber);
      }
    }
  }

  /** Forgets what time has run out for. */
  expire(nowSeconds: number): void {
    if (this.isEmpty) return;
    for (const kept of this.#byUntil.takeThrough(nowSeconds - 1)) this.#forget(kept);
    for (const kept of this.#byMaturity.takeThrough(nowSeconds)) this.#forgetLimit(kept);
  }

  /** By provider, and by key or pool. */
  exportRows(): { readonly authorizations: AuthorizationRow[]; readonly fillLimits: FillLimitRow[] } {
    const authorizations = [...this.authorizations()].map(
      ({ provider, owner, until, timers }) =>
        [provider, owner, until, timers.HEARTBEAT, timers.CONNECTION] as AuthorizationRow,
    );
    const limits = [...this.#limits.values()].flatMap((ofProvider) => [...ofProvider.values()]);
    const fillLimits = limits.map(
      ({ provider, poolAddress, bounds: { contracts, fills, seconds }, until, recent }) =>
        [provider, poolAddress, contracts, fills, seconds, until, recent] as FillLimitRow,
    );
    return { authorizations: authorizations.sort(byTwo), fillLimits: fillLimits.sort(byTwo) };
  }

  importRows(authorizations: readonly AuthorizationRow[], fillLimits: readonly FillLimitRow[]): void {
    for (const [provider, owner, until, heartbeat, connection] of authorizations) {
      const timers = { HEARTBEAT: heartbeat, CONNECTION: connection };
      this.#addAuthorization({ provider, owner, until, timers });
    }
    for (const [provider, poolAddress, contracts, fills, seconds, until, recent] of fillLimits) {
      this.#addLimit({ provider, poolAddress, until, bounds: { contracts, fills, seconds } }, recent);
    }
  }

  /** Hash of all rows, written one a line. */
  digest(sha256: (text: string) => string): string {
    if (this.#digest === null) {
      const { authorizations, fillLimits } = this.exportRows();
      this.#digest = sha256([...authorizations, ...fillLimits].map((row) => row.join()).join('\n'));
    }
    return this.#digest;
  }

  #addAuthorization({ provider, owner, until, timers }: Authorization): void {
    const kept: KeptAuthorization = { provider, owner, until, timers, place: 0 };
    const ofProvider = this.#authorizations.get(provider) ?? new Map<string, KeptAuthorization>();
    this.#authorizations.set(provider, ofProvider.set(owner, kept));
    kept.place = this.#byUntil.add(until, kept);
    this.#authorizationCount += 1;
    this.#digest = null;
  }

  #revoke(kept: KeptAuthorization): void {
    this.#byUntil.remove(kept.until, kept.place);
    this.#forget(kept);
  }

  #forget({ provider, owner }: Authorization): void {
    const ofProvider = this.#authorizations.get(provider);
    ofProvider?.delete(owner);
    if (ofProvider?.size === 0) this.#authorizations.delete(provider);
    this.#authorizationCount -= 1;
    this.#digest = null;
  }

  #addLimit(limit: FillLimit, recent: readonly FilledBlock[]): void {
    const kept: KeptLimit = { ...limit, recent, place: 0 };
    const ofProvider = this.#limits.get(limit.provider) ?? new Map<Hex, KeptLimit>();
    this.#limits.set(limit.provider, ofProvider.set(limit.poolAddress, kept));
    kept.place = this.#byMaturity.add(limit.until, kept);
    this.#limitCount += 1;
    this.#digest = null;
  }

  #dropLimit(kept: KeptLimit): void {
    this.#byMaturity.remove(kept.until, kept.place);
    this.#forgetLimit(kept);
  }

  #forgetLimit({ provider, poolAddress }: FillLimit): void {
    const ofProvider = this.#limits.get(provider);
    ofProvider?.delete(poolAddress);
    if (ofProvider?.size === 0) this.#limits.delete(provider);
    this.#limitCount -= 1;
    this.#digest = null;
  }
}

function byTwo(
  [a, b]: readonly [string, string, ...unknown[]],
  [c, d]: readonly [string, string, ...unknown[]],
): number {
  if (a !== c) return a < c ? -1 : 1;
  return b < d ? -1 : 1;
}
