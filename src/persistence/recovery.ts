import type { Engine } from '../engine/engine.js';
import type { Disk } from './disk.js';
import { readRecords } from './log-records.js';
import type { LogSurvey, PassedSegment } from './log-survey.js';
import type { Logger } from './logger.js';
import { PersistenceError } from './persistence-error.js';
import { goesWith, replayAhead } from './replay-ahead.js';
import { Replayer } from './replayer.js';
import { segmentName, segmentNumbers, snapshotIndexes } from './segment.js';
import { factsOf, findBase } from './snapshot-base.js';
import { surveyLog } from './survey.js';
import { ToldHashes } from './told-hashes.js';

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

/** A look through the log that goes on in another thread. */
export interface RunningSurvey {
  /** Ends when there is no more, also where the survey fails. */
  readonly passed: AsyncIterable<PassedSegment>;
  readonly survey: Promise<LogSurvey>;
}

/** Reads and checks every byte of the log's segments, as `surveyLog` does, away from this thread. */
export type Survey = (epoch: Buffer) => RunningSurvey;

/**
 * Reads and checks everything, and rebuilds the engine. Changes nothing on the disk. With `surveyAside` a long log is
 * replayed while that goes on. Throws PersistenceError: DAMAGED, NO_BASE, DIFFERS or NEWER_FORMAT, naming the place.
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
  const snapshots = snapshotIndexes(names);
  const recovered =
    surveyAside === undefined || segments < LONG_SEGMENTS
      ? await recoverInOrder(disk, await surveyLog(disk, epoch), snapshots, reorgDepth, logger)
      : await recoverAhead(disk, surveyAside(epoch), snapshots, reorgDepth, logger);
  const { snapshotIndex, comparedHashes } = recovered;
  const { index, seq } = recovered.survey.last;
  logger.info({ index, seq, snapshotIndex, replayed: index - snapshotIndex, comparedHashes }, 'the log is read');
  return recovered;
}

/** With what was replayed meanwhile, where that went well; else in order. */
async function recoverAhead(
  disk: Disk,
  { passed, survey: surveying }: RunningSurvey,
  snapshots: readonly number[],
  reorgDepth: number,
  logger: Logger,
): Promise<Recovered> {
  const newest = snapshots.at(-1);
  const replaying = newest === undefined ? null : replayAhead(disk, newest, reorgDepth, passed);
  // Neither is left to go on, or to fail with nobody there to hear of it, when the other one fails.
  await Promise.allSettled([replaying, surveying]);
  const survey = await surveying;
  const ahead = await replaying;
  if (ahead === null || !goesWith(ahead, survey)) {
    return recoverInOrder(disk, survey, snapshots, reorgDepth, logger);
  }
  const { engine } = ahead.candidate;
  const isBaseTold = ToldHashes.in(survey).compare(ahead.base, null);
  const comparedHashes = ahead.compared + (isBaseTold ? 1 : 0);
  return { engine, survey, snapshotIndex: ahead.base.index, passedSnapshots: [], comparedHashes };
}

async function recoverInOrder(
  disk: Disk,
  survey: LogSurvey,
  snapshots: readonly number[],
  reorgDepth: number,
  logger: Logger,
): Promise<Recovered> {
  const { engine, passed } = await findBase(disk, snapshots, factsOf(survey), reorgDepth, logger);
  const snapshotIndex = engine.index;
  const comparedHashes = await replay(disk, survey, engine);
  return { engine, survey, snapshotIndex, passedSnapshots: passed, comparedHashes };
}

/** Everything after what the engine has. Resolves to the number of state hashes that were compared. */
async function replay(disk: Disk, survey: LogSurvey, engine: Engine): Promise<number> {
  const replayer = new Replayer(engine);
  const told = ToldHashes.in(survey);
  let compared = told.compare(engine, null) ? 1 : 0;
  for await (const records of readRecords(disk, survey.segments, engine.index, survey.last.index)) {
    for (const record of records) {
      replayer.apply(record);
      if (told.compare(engine, record)) compared += 1;
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
