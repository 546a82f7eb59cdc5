import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { LogProcess } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';
import { SimDisk } from './sim-disk.js';

const SEED = 900;
const RECORDS = 110;
const GROUPS_OF = 4;
/** Behind the first snapshot. */
const EXPIRING_RECORD = 70;

/** Where the committed files are, from a compiled test. */
export const GOLDEN = new URL('../../../test/persistence/golden/', import.meta.url);

/**
 * A closed log of this version, with a snapshot in its middle and every kind of command and event, the same at each
 * call.
 */
export async function makeGoldenLog(seed = SEED): Promise<{
  readonly files: ReadonlyMap<string, Buffer>;
  readonly expected: { readonly lastIndex: number; readonly lastSeq: number; readonly stateHash: string };
}> {
  const clock = new SimClock();
  const random = new SeededRandom(seed);
  const disk = new SimDisk({ clock, random });
  const options = { segmentBytes: 16 << 10, snapshotEveryRecords: RECORDS / 2, retainLogBytes: Infinity };
  const process = await clock.until(LogProcess.start(disk, clock, random, options));
  const workload = new Workload(random);
  const { engine, journal } = process.log;
  const kinds = new Set<string>();
  process.sequencer.onEvents((records) => {
    for (const { command, events } of records) {
      for (const { type } of [command, ...events]) kinds.add(type);
      if ('message' in command) kinds.add(SIGNED);
      if (command.type === 'FILL_QUOTE' && events.some(({ type }) => type === 'QUOTE_WITHDRAWN'))
        kinds.add(BEYOND_LIMIT);
    }
  });
  for (let record = 0; record < RECORDS; record += 1) {
    if (record === EXPIRING_RECORD) expireTwo(process);
    else workload.submitNext(process);
    if (record % GROUPS_OF === 0) await clock.until(journal.flush());
    await clock.advance(1);
  }
  await clock.until(process.log.close());
  const missing = KINDS.filter((kind) => !kinds.has(kind));
  if (missing.length > 0) throw new Error(`the golden log has no ${missing.join()}`);
  const files = new Map(disk.fileNames().map((name) => [name, disk.contentOf(name)]));
  return { files, expected: { lastIndex: engine.index, lastSeq: engine.seq, stateHash: engine.stateHash() } };
}

function expireTwo(process: LogProcess): void {
  const { engine } = process.log;
  const quoteIds = engine.dueBy(Infinity, 2).map(({ quote }) => quote.quoteId);
  process.submit({ type: 'EXPIRE_QUOTES', second: Math.floor(engine.tsMs / 1000) + 1000, quoteIds });
}

/** A fill that withdraws quotes. */
const BEYOND_LIMIT = 'fill beyond a limit';

/** A command with the message that its provider signed. */
const SIGNED = 'signed message';

const KINDS = [
  'ENTER_QUOTE',
  'FILL_QUOTE',
  'CANCEL_QUOTE',
  'SET_VALIDITY',
  'DEPLOY_POOL',
  'REWIND_STREAM',
  'REWIND_SETTLEMENT',
  'ADVANCE_POSITION',
  'PUBLISH_RFQ',
  'EXPIRE_QUOTES',
  'WITHDRAW_QUOTES',
  'RESTORE_QUOTES',
  'AUTHORIZE_KEY',
  'SET_TIMER',
  'SET_FILL_LIMIT',
  'QUOTE_POSTED',
  'QUOTE_FILLED',
  'QUOTE_REMOVED',
  'QUOTE_INVALIDATED',
  'QUOTE_REVALIDATED',
  'QUOTE_RESTATED',
  'POOL_DEPLOYED',
  'POOL_WITHDRAWN',
  'RFQ_PUBLISHED',
  'QUOTE_WITHDRAWN',
  'QUOTE_RESTORED',
  'WITHDRAWN_QUOTE_FILLED',
  'WITHDRAWN_QUOTE_RESTATED',
  BEYOND_LIMIT,
  SIGNED,
] as const;
