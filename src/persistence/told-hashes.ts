import { placeOf, type PlacedRecord } from './log-records.js';
import type { LogSurvey } from './log-survey.js';
import type { Note } from './notes.js';
import { PersistenceError } from './persistence-error.js';
import { snapshotName } from './segment.js';

/** An engine, or what one was. */
export interface StateAt {
  readonly index: number;
  readonly seq: number;
  stateHash(): string;
  stateSum(): string;
}

/** What a log tells of the engine's state after some of its records. */
export class ToldHashes {
  readonly #byIndex = new Map<number, { readonly hashes: Set<string>; readonly sums: Set<string> }>();

  /** All that a log tells. */
  static in({ stateHashes, snapshots }: LogSurvey): ToldHashes {
    const told = new ToldHashes();
    for (const note of [...stateHashes, ...snapshots.values()]) told.add(note);
    return told;
  }

  add({ type, index, stateHash }: Note): void {
    const here = this.#byIndex.get(index) ?? { hashes: new Set(), sums: new Set() };
    (type === 'STATE_SUM' ? here.sums : here.hashes).add(stateHash);
    this.#byIndex.set(index, here);
  }

  /** Of how many records after `index` it tells. */
  countAfter(index: number): number {
    return [...this.#byIndex.keys()].filter((told) => told > index).length;
  }

  /**
   * True when the log tells of this very state, false when it doesn't tell of any. Throws DIFFERS. `record`: the last
   * one applied; null: the state is as a snapshot says.
   */
  compare(state: StateAt, record: PlacedRecord | null): boolean {
    const here = this.#byIndex.get(state.index);
    if (here === undefined) return false;
    if (here.hashes.size > 0) check(state, 'hash', state.stateHash(), here.hashes, record);
    if (here.sums.size > 0) check(state, 'sum', state.stateSum(), here.sums, record);
    return true;
  }
}

function check(
  { index, seq }: StateAt,
  what: string,
  found: string,
  told: Iterable<string>,
  record: PlacedRecord | null,
): void {
  for (const expected of told) {
    if (found === expected) continue;
    const where = record === null ? { file: snapshotName(index), offset: 0 } : placeOf(record);
    const place = { ...where, index, seq };
    throw new PersistenceError('DIFFERS', `the state's ${what} is ${found}, by the log it was ${expected}`, { place });
  }
}
