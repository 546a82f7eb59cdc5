import { ChainTrail } from '../engine/chain-trail.js';
import type { Command } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { ChainRow, EngineState } from '../engine/state-rows.js';
import { RecordReader } from '../persistence/codec/record-codec.js';
import { type Disk, isMissing, PersistenceError, readStart } from '../persistence/disk/disk.js';
import { snapshotIndexes, snapshotName } from '../persistence/format/file-names.js';
import { HEADER_BYTES, readSnapshotHeader } from '../persistence/format/header.js';
import { type PlacedRecord, readRecords, type SegmentStart, segmentStarts } from '../persistence/log/segment-reader.js';
import { createEngine, Replayer } from '../persistence/recovery/replay.js';
import { readSnapshot } from '../persistence/snapshot/snapshot-file.js';
import type { PastMoment, PastPoint } from './questions.js';

export interface PastStatesLimits {
  /** Records that are replayed for one answer, and again read to find a block. */
  readonly pastReplayRecords: number;
  /** Engines of the past that stay in memory. */
  readonly pastEngines: number;
}

/** How far the log and time have come. */
export interface LogNow {
  /** The last record that may be read, which is durable. */
  readonly throughIndex: number;
  /** Engine time, milliseconds. */
  readonly nowMs: number;
}

export type PastState =
  | {
      readonly type: 'STATE';
      /** As it was: to be read before another state is asked for. */
      readonly engine: Engine;
      readonly at: PastMoment;
      /** Records that were read for it. */
      readonly recordsRead: number;
    }
  | { readonly type: 'GONE'; readonly oldest: PastMoment }
  | { readonly type: 'NOT_REACHED' }
  /** No snapshot is close enough. */
  | { readonly type: 'TOO_FAR' };

class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot';
}

/** Where a replay can begin: a snapshot, or the log's own beginning. */
interface ReplayBase {
  readonly index: number;
  readonly seq: number;
  readonly tsMs: number;
}

const BEGINNING: ReplayBase = { index: 0, seq: 0, tsMs: 0 };

/** Builds states of the log's past: from the newest snapshot before each, and the records behind it. */
export class PastStates {
  readonly #disk: Disk;
  readonly #reorgDepth: number;
  readonly #limits: PastStatesLimits;
  /** By record index; null: the file is no snapshot. */
  readonly #headers = new Map<number, ReplayBase | null>();
  /** Of snapshots: how far the settlement chain was read. */
  readonly #settlement = new Map<number, ChainRow>();
  /** The one that was used last is the last. */
  #engines: Engine[] = [];

  constructor(disk: Disk, reorgDepth: number, limits: PastStatesLimits) {
    this.#disk = disk;
    this.#reorgDepth = reorgDepth;
    this.#limits = limits;
  }

  /**
   * The state as of a point. Of an event: after the record that it is of, since the events of one record take effect
   * together, and before the next event. Of a block: after the last record before the settlement chain was read beyond
   * it, on the branch that counts. Of a time: after the last record with no later stamp.
   */
  async at(point: PastPoint, now: LogNow): Promise<PastState> {
    for (;;) {
      const files = (await this.#disk.list()).join();
      try {
        return await this.#at(point, now);
      } catch (error) {
        // The files that it was reading may have been removed, as the oldest part of the log is.
        const isRemoved = isMissing(error) && (await this.#disk.list()).join() !== files;
        if (!isRemoved && !(error instanceof UnusableSnapshot)) throw error;
      }
    }
  }

  async #at(point: PastPoint, now: LogNow): Promise<PastState> {
    const { throughIndex, nowMs } = now;
    const segments = await segmentStarts(this.#disk);
    const bases = await this.#bases(segments, throughIndex);
    const base = await this.#baseOf(point, bases);
    if (base === null) {
      const oldest = bases[0] ?? BEGINNING;
      return { type: 'GONE', oldest: { ...oldest, blockNumber: known(await this.#blockOf(oldest)) } };
    }
    if (point.type === 'TIME' && point.tsMs > nowMs) return { type: 'NOT_REACHED' };
    let target = throughIndex;
    let recordsRead = 0;
    if (point.type === 'BLOCK') {
      const found = await this.#lastRecordAt(point.blockNumber, base, segments, throughIndex);
      if (typeof found === 'string') return { type: found };
      target = found.index;
      recordsRead = found.recordsRead;
    }
    const engine = await this.#startFor(point, base, target);
    const reader = new RecordReader();
    const isBeyond = ({ bytes, payloadAt, end }: PlacedRecord): boolean => {
      if (point.type === 'TIME') return reader.readCommand(bytes, payloadAt, end).stamp.tsMs > point.tsMs;
      if (point.type !== 'SEQ' || engine.seq < point.seq) return false;
      return reader.read(bytes, payloadAt, end).events.length > 0;
    };
    const replayed = await this.#replay(engine, segments, target, isBeyond);
    if (replayed === 'TOO_FAR') return { type: 'TOO_FAR' };
    this.#engines = [...this.#engines, engine].slice(-this.#limits.pastEngines);
    if (point.type === 'SEQ' && engine.seq < point.seq) return { type: 'NOT_REACHED' };
    return { type: 'STATE', engine, at: momentOf(engine), recordsRead: recordsRead + replayed };
  }

  /** Rising, the last ones that no gap of more records than are replayed parts. */
  async #bases(segments: readonly SegmentStart[], throughIndex: number): Promise<ReplayBase[]> {
    const keptAfter = segments[0]?.first.index ?? 0;
    const bases: ReplayBase[] = keptAfter === 0 ? [BEGINNING] : [];
    const indexes = snapshotIndexes(await this.#disk.list());
    for (const known of this.#headers.keys()) if (!indexes.includes(known)) this.#headers.delete(known);
    for (const index of indexes) {
      if (index < keptAfter || index > throughIndex) continue;
      if (!this.#headers.has(index)) this.#headers.set(index, await this.#readHeader(index));
      const base = this.#headers.get(index);
      if (base !== undefined && base !== null) bases.push(base);
    }
    const isNear = (place: number): boolean =>
      (bases[place]?.index ?? 0) - (bases[place - 1]?.index ?? 0) <= this.#limits.pastReplayRecords;
    let first = Math.max(0, bases.length - 1);
    while (first > 0 && isNear(first)) first -= 1;
    return bases.slice(first);
  }

  async #readHeader(index: number): Promise<ReplayBase | null> {
    const read = readSnapshotHeader(await readStart(this.#disk, snapshotName(index), HEADER_BYTES));
    if (typeof read === 'string') return null;
    const { seq, tsMs } = read.header;
    return { index, seq, tsMs };
  }

  /** The last one that is not beyond the point; null: all are. */
  async #baseOf(point: PastPoint, bases: readonly ReplayBase[]): Promise<ReplayBase | null> {
    for (const base of [...bases].reverse()) {
      if (point.type === 'SEQ' && base.seq <= point.seq) return base;
      if (point.type === 'TIME' && base.tsMs <= point.tsMs) return base;
      if (point.type === 'BLOCK' && (await this.#blockOf(base)) <= point.blockNumber) return base;
    }
    return null;
  }

  async #blockOf(base: ReplayBase): Promise<number> {
    return (await this.#trailOf(base)).position?.blockNumber ?? NO_BLOCK_READ;
  }

  /** Of the settlement chain. */
  async #trailOf({ index }: ReplayBase): Promise<ChainTrail> {
    const trail = new ChainTrail(this.#reorgDepth);
    if (index === 0) return trail;
    const row = this.#settlement.get(index) ?? (await this.#snapshot(index)).settlement;
    if (this.#settlement.size > TRAILS_KEPT) this.#settlement.clear();
    this.#settlement.set(index, row);
    const [floor, position, blocks] = row;
    const [blockNumber = 0, blockHash = '0x', logIndex = null] = position ?? [];
    trail.restore(
      position && { chain: 'settlement', blockNumber, blockHash, logIndex },
      blocks.map(([blockNumber, blockHash]) => ({ blockNumber, blockHash })),
      floor,
    );
    return trail;
  }

  /** Throws UnusableSnapshot, once for each that is not whole: it is left out from then on. */
  async #snapshot(index: number): Promise<EngineState> {
    try {
      return (await readSnapshot(this.#disk, index)).state;
    } catch (cause) {
      if (!(cause instanceof PersistenceError) || cause.code !== 'DAMAGED') throw cause;
      this.#headers.set(index, null);
      throw new UnusableSnapshot(snapshotName(index), { cause });
    }
  }

  /**
   * The last record at which the settlement chain was read to that block and no further: a reorg may go back to it,
   * until it is below the floor of what a reorg can undo.
   */
  async #lastRecordAt(
    blockNumber: number,
    base: ReplayBase,
    segments: readonly SegmentStart[],
    throughIndex: number,
  ): Promise<{ readonly index: number; readonly recordsRead: number } | 'NOT_REACHED' | 'TOO_FAR'> {
    const reader = new RecordReader();
    const trail = await this.#trailOf(base);
    const position = (): number => trail.position?.blockNumber ?? NO_BLOCK_READ;
    let { index } = base;
    let wasReached = position() >= blockNumber;
    let recordsRead = 0;
    for await (const records of readRecords(this.#disk, segments, base.index, throughIndex)) {
      for (const record of records) {
        recordsRead += 1;
        if (recordsRead > 2 * this.#limits.pastReplayRecords) return 'TOO_FAR';
        follow(trail, reader.readCommand(record.bytes, record.payloadAt, record.end).command);
        wasReached ||= position() >= blockNumber;
        if (position() <= blockNumber) index = record.index;
        else if (trail.floor > blockNumber) return { index, recordsRead };
      }
    }
    return wasReached ? { index, recordsRead } : 'NOT_REACHED';
  }

  /** An engine that is not beyond the point: one of before, or one with the snapshot's state. */
  async #startFor(point: PastPoint, base: ReplayBase, target: number): Promise<Engine> {
    const near = this.#engines
      .filter(({ index, seq, tsMs }) => {
        if (index < base.index || index > target) return false;
        if (point.type === 'SEQ') return seq <= point.seq;
        return point.type !== 'TIME' || tsMs <= point.tsMs;
      })
      .sort((a, b) => a.index - b.index)
      .at(-1);
    if (near !== undefined) {
      this.#engines = this.#engines.filter((engine) => engine !== near);
      return near;
    }
    const engine = createEngine(this.#reorgDepth);
    if (base.index > 0) engine.importState(await this.#snapshot(base.index));
    return engine;
  }

  /** Up to record `target`, or to the one before `isBeyond`. Resolves to how many were replayed. */
  async #replay(
    engine: Engine,
    segments: readonly SegmentStart[],
    target: number,
    isBeyond: (record: PlacedRecord) => boolean,
  ): Promise<number | 'TOO_FAR'> {
    const replayer = new Replayer(engine);
    let count = 0;
    for await (const records of readRecords(this.#disk, segments, engine.index, target)) {
      for (const record of records) {
        if (isBeyond(record)) return count;
        count += 1;
        if (count > this.#limits.pastReplayRecords) return 'TOO_FAR';
        replayer.apply(record);
      }
    }
    return count;
  }
}

/** Before the first block. */
const NO_BLOCK_READ = -1;
/** Snapshots whose trails are known: each has some 70 blocks. */
const TRAILS_KEPT = 2_000;

function known(blockNumber: number): number | null {
  return blockNumber === NO_BLOCK_READ ? null : blockNumber;
}

function momentOf(engine: Engine): PastMoment {
  const { index, seq, tsMs } = engine;
  return { index, seq, tsMs, blockNumber: engine.positions().settlement?.blockNumber ?? null };
}

/** Moves the trail of the settlement chain as the command does. */
function follow(trail: ChainTrail, command: Command): void {
  if (!('position' in command) || command.position.chain !== 'settlement') return;
  if (command.type === 'REWIND_SETTLEMENT') trail.rewind(command.position);
  else trail.advance(command.position);
}
