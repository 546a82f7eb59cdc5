import type { Engine } from '../engine/engine.js';
import type { Disk } from './disk.js';
import { readRecordsOf } from './log-records.js';
import type { LogSurvey, PassedSegment, SurveyedSegment } from './log-survey.js';
import { Replayer } from './replayer.js';
import { factsOf, objection, readCandidate, type Candidate } from './snapshot-base.js';
import { ToldHashes, type StateAt } from './told-hashes.js';

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
