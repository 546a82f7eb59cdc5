import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startService } from '../../src/app/service.js';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { type Limits, limits as defaultLimits } from '../../src/config/limits.js';
import type { Journal } from '../../src/engine/ports.js';
import type { Pool, Quote } from '../../src/engine/quote.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { openBenchLog } from '../workload/log.js';
import { makerOf, poolOf, quoteOf } from '../workload/quotes.js';
import { publishedQuotes } from '../workload/published-quotes.js';
import { chainsAtOnce, enterQuote, profileAtOnce, rpcOfNobody } from './chains-at-once.js';
import { plainOptions } from './plain-options.js';
import { publishCommitted, type PublishDialogue, type PublishSchedule } from './publish-schedule.js';
import type { ChainsOptions } from '../../src/app/chains.js';

export interface QuotebookDialogue extends ServerDialogue, PublishDialogue {
  KEY: { given: null; answer: string };
  /** Puts quotes of one contract into a pool, all asks, each at a price of its own. */
  FILL_POOL: { given: { readonly pool: number; readonly quotes: number; readonly deadline?: number }; answer: null };
  /** Has the settlement chain's time come to that second; answers when all quotes due by then have expired. */
  EXPIRE: { given: { readonly second: number }; answer: null };
  /** Has a snapshot made of everything; answers when it is on the disk. */
  SNAPSHOT: { given: null; answer: null };
}

const MAKERS = 20;
/** Numbers of the resting quotes; the published quotes have others. */
const FIRST_RESTING = 50_000_000;
/** Limits of one address and one key are lifted: they are not measured. */
const limits: Limits = {
  ...defaultLimits,
  wsIdleSeconds: 960,
  wsConnectionsPerAddress: 10_000,
};
const unbounded = {
  requestsPerSecond: 1e9,
  quotesPerMinute: 1e9,
  quoteBurst: 1e9,
  quotesPerDay: 1e12,
  gasPerDay: 1e15,
  connections: 1e9,
  channels: 1e9,
  messagesPerSecond: 1e9,
  rfqsPerMinute: 1e9,
  rowsPerSecond: 1e9,
  answerBytesPerSecond: 1e12,
  answersWaiting: 1e6,
};

/** Every commit, before the service hears of it. */
let onCommit: (index: number) => void = () => undefined;
let chainOptions: ChainsOptions | null = null;
let resting = 0;

const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
const log = await openBenchLog(path.join(dataDir, 'log'), true);
const keys = await KeyStore.open({
  files: new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs, lockFile),
  clock: systemClock,
  random: systemRandom,
  cacheSize: limits.keyCache,
});
const { key } = await keys.create('paid', 'bench');
const { journal } = log;
const watchedJournal: Journal = {
  append: (record) => journal.append(record),
  refusal: () => journal.refusal(),
  flush: () => journal.flush(),
  close: () => journal.close(),
  onCommit(listener) {
    journal.onCommit((index) => {
      onCommit(index);
      listener(index);
    });
  },
};

const service = await startService({
  ...plainOptions,
  profile: profileAtOnce,
  rpc: { settlement: rpcOfNobody, stream: rpcOfNobody },
  openChains(options) {
    chainOptions = options;
    return chainsAtOnce(options);
  },
  operator: null,
  engine: log.engine,
  journal: watchedJournal,
  epoch: log.epoch,
  keys,
  limits,
  tierQuotas: { free: unbounded, paid: unbounded, self: unbounded },
});
await service.ready;

function chains(): ChainsOptions {
  if (chainOptions === null) throw new Error('The service opened no chains');
  return chainOptions;
}

async function fillPool({ pool, quotes, deadline }: QuotebookDialogue['FILL_POOL']['given']): Promise<null> {
  const into: Pool = poolOf(pool);
  for (let i = 0; i < quotes; i++) {
    const n = FIRST_RESTING + resting++;
    const price = BigInt(1 + i) * 10n ** 13n;
    const terms = { n, pool: into, price, isBuy: false, provider: makerOf(n % MAKERS) };
    enterQuote(chains(), quoteOf(deadline === undefined ? terms : { ...terms, deadline }));
    // As many as a follower enters in one turn: more of them would be weighed with the log's buffers for them.
    if ((i + 1) % limits.checksPerTurn === 0) await journal.flush();
  }
  await journal.flush();
  return null;
}

async function expire({ second }: QuotebookDialogue['EXPIRE']['given']): Promise<null> {
  chains().onSettlementTime(second);
  while ((log.engine.nextDueMs() ?? Infinity) <= second * 1000) await pause(1);
  await journal.flush();
  return null;
}

async function makeSnapshot(): Promise<null> {
  await log.snapshotter.take();
  return null;
}

let readyQuotes: readonly Quote[] = [];

function makeReady(schedule: PublishSchedule): null {
  readyQuotes = publishedQuotes(schedule);
  return null;
}

answerQuestions<QuotebookDialogue>(
  {
    ...serverAnswers(service.port),
    KEY: () => key,
    FILL_POOL: fillPool,
    EXPIRE: expire,
    SNAPSHOT: makeSnapshot,
    READY: makeReady,
    PUBLISH: (schedule) =>
      publishCommitted(schedule, readyQuotes, {
        index: () => log.engine.index,
        listen: (listener) => (onCommit = listener),
        enter: (quote) => enterQuote(chains(), quote),
      }),
  },
  async () => {
    await service.stop();
    await log.close();
    keys.close();
    await rm(dataDir, { recursive: true, force: true });
  },
);
