import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Stamp } from '../../src/engine/command.js';
import type { JournalRecord } from '../../src/engine/ports.js';
import { RecordWriter } from '../../src/persistence/codec/record-codec.js';
import { GrowingBuffer } from '../../src/persistence/disk/buffer.js';
import { FRAME_HEAD_BYTES } from '../../src/persistence/format/frame.js';
import { COMMIT_BYTES } from '../../src/persistence/format/header.js';
import type { OpenLog } from '../../src/persistence/recovery/open-log.js';
import { BareLog } from '../baselines/bare-log.js';
import { contest, type Contestant, rowOf } from '../contest.js';
import { atLeast, type Row, type Scenario } from '../scenario.js';
import { EngineLife } from '../workload/engine-life.js';
import { openBenchLog } from '../workload/log.js';
import { START_SECONDS } from '../workload/quotes.js';

const RESTING = 1000;
const BARE_BYTES = 64 << 20;
/**
 * So few that they are still in the processor's caches when they are written down, as those are that the engine has
 * just made.
 */
const RECORDS_A_RUN = 500;
/** As few as can be of a hundred records: the first of a run is put together while nothing is written yet. */
const LEAST_COMMITS_A_RUN = 10;

/** Hands out records that the log has not had, in their order. */
class Records {
  readonly #life = new EngineLife();

  constructor(private readonly log: OpenLog) {
    for (let i = 0; i < RESTING; i++) this.log.journal.append(this.#record(this.#life.arrival()));
  }

  take(pairs: number): JournalRecord[] {
    return Array.from({ length: pairs }, () => this.#life.replacement())
      .flat()
      .map((command) => this.#record(command));
  }

  #record(command: JournalRecord['command']): JournalRecord {
    const { engine } = this.log;
    const stamp: Stamp = { index: engine.index + 1, tsMs: START_SECONDS * 1000 };
    return { stamp, command, events: engine.apply(command, stamp) };
  }
}

/** Size of a group of these records on the disk: a frame each, and the commit's. */
function groupBytes(records: readonly JournalRecord[]): number {
  const out = new GrowingBuffer(1 << 16);
  const writer = new RecordWriter(out);
  for (const record of records) writer.write(record);
  return out.length + (records.length + 1) * FRAME_HEAD_BYTES + COMMIT_BYTES;
}

function ourLog(log: OpenLog, records: Records, perCommit: number, commits: number): Contestant {
  let groups = 0;
  log.journal.onGroup(() => (groups += 1));
  return {
    name: 'ours',
    prepare: () => {
      const ready = records.take(Math.ceil((perCommit * commits) / 2));
      // Otherwise V8 could collect the garbage of making them during the commits.
      globalThis.gc?.({ type: 'minor' });
      return async () => {
        const before = groups;
        const put = (from: number): Promise<void> => {
          for (const record of ready.slice(from, from + perCommit)) log.journal.append(record);
          return log.journal.flush();
        };
        let last = put(0);
        // A turn of the event loop: the first group is on its way. From then on there is one that is written and one
        // that waits.
        await nextTurn();
        for (let from = perCommit; from < ready.length; from += perCommit) {
          const waiting = put(from);
          await last;
          last = waiting;
        }
        await last;
        // Records that arrive while a group is written become one group: this counts the log's own groups.
        return groups - before;
      };
    },
  };
}

function bareLog(bare: BareLog, bytes: number, commits: number): Contestant {
  const group = Buffer.alloc(bytes, 0x5a);
  return {
    name: 'bare write + fdatasync',
    prepare: () => async () => {
      for (let i = 0; i < commits; i++) await bare.commit(group);
      return commits;
    },
  };
}

export const logCommits: Scenario = {
  name: 'log',
  title: 'Commits of the log',
  workload: `Groups of 1, 10 and 100 records: encoded, framed, hashed, written and synced, one at a time while the next one is
encoded. The baseline writes as many ready bytes to a preallocated file of the same directory and syncs them.`,
  async run(scale) {
    const isFull = scale === 'full';
    const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
    const log = await openBenchLog(path.join(directory, 'log'), false);
    const bare = await BareLog.open(path.join(directory, 'bare'), isFull ? BARE_BYTES : 1 << 20);
    const rows: Row[] = [];
    try {
      const records = new Records(log);
      for (const perCommit of [1, 10, 100]) {
        const commits = isFull ? Math.max(LEAST_COMMITS_A_RUN, RECORDS_A_RUN / perCommit) : 4;
        const ours = ourLog(log, records, perCommit, commits);
        const sample = records.take(perCommit);
        for (const record of sample) log.journal.append(record);
        const bytes = Math.round((groupBytes(sample) * perCommit) / sample.length);
        const [mine = [], again = [], theirs = []] = await contest([ours, ours, bareLog(bare, bytes, commits)], {
          // Shorter runs, more of them.
          rounds: isFull ? (perCommit === 100 ? 61 : 21) : 1,
          warmUps: isFull ? 2 : 0,
          clock: 'wall',
        });
        const label = `${perCommit} ${perCommit === 1 ? 'record' : 'records'} a commit, ${bytes.toLocaleString('en-US')} bytes`;
        const goal = perCommit === 100 ? atLeast(0.85) : null;
        rows.push(rowOf(label, { ours: mine, again, theirs }, 'write + fdatasync', goal, 'commits/s'));
      }
    } finally {
      await log.close();
      await bare.close();
      await rm(directory, { recursive: true, force: true });
    }
    return { rows };
  },
};
