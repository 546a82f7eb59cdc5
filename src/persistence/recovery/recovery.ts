import type { Engine } from '../../engine/engine.js';
import { type Disk, type Logger, PersistenceError } from '../disk/disk.js';
import { segmentName, segmentNumbers, snapshotIndexes } from '../format/file-names.js';
import { type LogSurvey, type PassedSegment, type SurveyedSegment, surveyLog } from '../log/log-scanner.js';
import { readRecords, readRecordsOf } from '../log/segment-reader.js';
import { Replayer, type StateAt, ToldHashes } from './replay.js';
import { type Candidate, factsOf, findBase, objection, readCandidate } from './snapshot-base.js';

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

/** What was replayed of a log before all of it had been looked through. */
export interface Ahead {
  readonly candidate: Candidate;
  /** The candidate's engine before the first record. */
  readonly base: StateAt;
  /** State hashes that were told behind it, and come to again. */
  readonly compared: number;
}

/**
 * Replays the newest snapshot's log while that is looked through: each segment as soon as its bytes are known to be
 * right, and the next one's too, in which the last hashes of its state are told. Null where that does not go: whatever
 * is wrong, a replay in order meets it again, and names it.
 */
export async function replayAhead(
  disk: Disk,
  snapshotIndex: number,
  reorgDepth: number,
  passed: AsyncIterable<PassedSegment>,
): Promise<Ahead | null> {
  try {
    const candidate = await readCandidate(disk, snapshotIndex, reorgDepth);
    if (typeof candidate === 'string') return null;
    const { engine } = candidate;
    const base = stateOf(engine);
    const told = new ToldHashes();
    const replayer = new Replayer(engine);
    let compared = 0;
    for await (const records of readRecordsOf(disk, oneBehind(passed, told), engine.index)) {
      for (const record of records) {
        replayer.apply(record);
        if (told.compare(engine, record)) compared += 1;
      }
    }
    return { candidate, base, compared };
  } catch {
    return null;
  }
}

/** Whether the log as a whole goes with what was replayed ahead, and tells of no state that was passed over. */
export function goesWith({ candidate, base, compared }: Ahead, survey: LogSurvey): boolean {
  const { engine } = candidate;
  const { last } = survey;
  return (
    engine.index === last.index &&
    engine.seq === last.seq &&
    ToldHashes.in(survey).countAfter(base.index) === compared &&
    objection(candidate, factsOf(survey)) === null
  );
}

/** As it is now: the engine goes on. */
function stateOf(engine: Engine): StateAt {
  const [hash, sum] = [engine.stateHash(), engine.stateSum()];
  return { index: engine.index, seq: engine.seq, stateHash: () => hash, stateSum: () => sum };
}

async function* oneBehind(passed: AsyncIterable<PassedSegment>, told: ToldHashes): AsyncGenerator<SurveyedSegment> {
  let before: SurveyedSegment | null = null;
  for await (const { segment, stateHashes } of passed) {
    for (const note of stateHashes) told.add(note);
    if (before !== null) yield before;
    before = segment;
  }
  if (before !== null) yield before;
}
