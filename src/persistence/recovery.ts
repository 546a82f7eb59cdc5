import type { Engine } from '../engine/engine.js';
import type { Disk } from './disk.js';
import { placeOf, readRecords, type PlacedRecord } from './log-records.js';
import type { Logger } from './logger.js';
import { PersistenceError } from './persistence-error.js';
import { Replayer } from './replayer.js';
import { segmentName, segmentNumbers, snapshotIndexes, snapshotName } from './segment.js';
import { findBase, type LogFacts } from './snapshot-base.js';
import { surveyLog, type LogSurvey } from './survey.js';

/** An engine as the log leaves it. */
export interface Recovered {
  readonly engine: Engine;
  readonly survey: LogSurvey;
  /** Record up to which a snapshot gave the state; 0: none did. */
  readonly snapshotIndex: number;
  /** Newer snapshots that are of no use, by record index. */
  readonly passedSnapshots: readonly number[];
  /** State hashes that the log told and the replay came to again. */
  readonly comparedHashes: number;
}

/** One is written to and one lies ready: so few are read before a thread has begun. */
const LONG_SEGMENTS = 3;

/** Reads and checks every byte of the log's segments, as `surveyLog` does, away from this thread. */
export type Survey = (epoch: Buffer) => Promise<LogSurvey>;

/**
 * Reads and checks everything, and rebuilds the engine. Changes nothing on the disk. With `surveyAside` the newest
 * snapshot of a long log is read while that goes on. Throws PersistenceError: DAMAGED, NO_BASE, DIFFERS or
 * NEWER_FORMAT, naming the place.
 */
export async function recover(
  disk: Disk,
  epoch: Buffer,
  reorgDepth: number,
  logger: Logger,
  surveyAside?: Survey,
): Promise<Recovered> {
  const names = await disk.list();
  const segments = segmentNumbers(names).length;
  if (segments === 0) {
    throw new PersistenceError('NO_BASE', `${disk.label} was in use, and its log is gone: it has no segments`);
  }
  const isShort = segments < LONG_SEGMENTS;
  const surveying = surveyAside === undefined || isShort ? await surveyLog(disk, epoch) : surveyAside(epoch);
  const facts = factsOf(surveying);
  const finding = findBase(disk, snapshotIndexes(names), facts, reorgDepth, logger);
  // Neither is left to go on, or to fail with nobody there to hear of it, when the other one fails.
  await Promise.allSettled([facts, finding]);
  const survey = await surveying;
  const { engine, passed } = await finding;
  const snapshotIndex = engine.index;
  const comparedHashes = await replay(disk, survey, engine);
  const { index, seq } = survey.last;
  logger.info({ index, seq, snapshotIndex, replayed: index - snapshotIndex, comparedHashes }, 'the log is read');
  return { engine, survey, snapshotIndex, passedSnapshots: passed, comparedHashes };
}

async function factsOf(surveying: LogSurvey | Promise<LogSurvey>): Promise<LogFacts> {
  const survey = await surveying;
  return { ...survey, chainAt: (group) => survey.chains.get(group) };
}

/** Everything after what the engine has. Resolves to the number of state hashes that were compared. */
async function replay(disk: Disk, survey: LogSurvey, engine: Engine): Promise<number> {
  const replayer = new Replayer(engine);
  const told = toldHashes(survey);
  let compared = 0;
  const compare = (record: PlacedRecord | null): void => {
    const here = told.get(engine.index);
    if (here === undefined) return;
    checkHashes(engine, here, record);
    compared += 1;
  };
  compare(null);
  for await (const records of readRecords(disk, survey.segments, engine.index, survey.last.index)) {
    for (const record of records) {
      replayer.apply(record);
      compare(record);
    }
  }
  if (engine.index !== survey.last.index || engine.seq !== survey.last.seq) {
    const last = survey.segments.at(-1);
    const place = {
      file: segmentName(last?.number ?? 1),
      offset: last?.end ?? 0,
      index: engine.index,
      seq: engine.seq,
    };
    throw new PersistenceError(
      'DIFFERS',
      `the log ends with record ${survey.last.index} and event ${survey.last.seq}`,
      { place },
    );
  }
  return compared;
}

/** What a log tells of the engine's state after one record. */
interface ToldHashes {
  readonly hashes: Set<string>;
  readonly sums: Set<string>;
}

/** By record. */
function toldHashes(survey: LogSurvey): Map<number, ToldHashes> {
  const told = new Map<number, ToldHashes>();
  for (const { type, index, stateHash } of [...survey.stateHashes, ...survey.snapshots.values()]) {
    const here = told.get(index) ?? { hashes: new Set(), sums: new Set() };
    (type === 'STATE_SUM' ? here.sums : here.hashes).add(stateHash);
    told.set(index, here);
  }
  return told;
}

/** `record`: the last one applied; null: the engine is as a snapshot says. */
function checkHashes(engine: Engine, { hashes, sums }: ToldHashes, record: PlacedRecord | null): void {
  if (hashes.size > 0) checkHash(engine, 'hash', engine.stateHash(), hashes, record);
  if (sums.size > 0) checkHash(engine, 'sum', engine.stateSum(), sums, record);
}

function checkHash(
  engine: Engine,
  what: string,
  found: string,
  told: Iterable<string>,
  record: PlacedRecord | null,
): void {
  for (const expected of told) {
    if (found === expected) continue;
    const where = record === null ? { file: snapshotName(engine.index), offset: 0 } : placeOf(record);
    const place = { ...where, index: engine.index, seq: engine.seq };
    const message = `the state's ${what} is ${found}, by the log it was ${expected}`;
    throw new PersistenceError('DIFFERS', message, { place });
  }
}
