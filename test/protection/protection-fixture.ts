import { noncesOfKeys } from '../../src/protection/provider-consent.js';
import { QuoteProtection, type QuoteProtectionParts } from '../../src/protection/quote-protection.js';
import { limits, type Limits } from '../../src/config/limits.js';
import type { TimerKind } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Hex } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { ManualJournal } from '../engine/manual-journal.js';
import { enter, MAKER, newEngine, sampleQuote, START } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

export const KEY = 'key';
export const GRACE_MS = 30_000;
const PER_RECORD = 2;
export const RETRY_MS = 500;

interface Core {
  readonly engine: Engine;
  readonly journal: ManualJournal;
  readonly sequencer: Sequencer;
}

/** An engine whose time stands still. */
export function newCore(): Core {
  const journal = new ManualJournal();
  const engine = newEngine();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const time = new EngineTime(new ManualClock(), START * 1000);
  return { engine, journal, sequencer: new Sequencer({ engine, journal, time, expiredAtOnce: 100, onFault }) };
}

/** The timers of one key; their clock is the test's. */
function setUp({ engine, journal, sequencer }: Core, changed: Partial<Limits> = {}) {
  /** The signer of every signature. */
  const signed: { by: Hex | null } = { by: null };
  const clock = new ManualClock();
  const bounds = {
    ...limits,
    timerGraceMs: GRACE_MS,
    withdrawalsPerRequest: PER_RECORD,
    journalRetryMs: RETRY_MS,
    ...changed,
  };
  const parts: QuoteProtectionParts = {
    ...{ engine, sequencer, clock, chainId: 421_613, nowSeconds: () => START },
    ...{ limits: bounds, nonces: noncesOfKeys(bounds) },
    signatures: { signer: () => signed.by },
  };
  let protection = new QuoteProtection(parts);
  /** All that is written is durable, and so is all that comes of that. */
  const commit = async (): Promise<void> => {
    for (let count = -1; count !== journal.appended.length;) {
      count = journal.appended.length;
      await journal.flush();
      await Promise.resolve();
    }
  };
  const ask = async (request: Parameters<QuoteProtection['ask']>[0]) => {
    const asked = protection.ask(request);
    await commit();
    return asked;
  };
  const beat = (seconds: number, kind: TimerKind = 'HEARTBEAT') =>
    ask({ type: 'TIMER', kind, provider: MAKER, keyId: KEY, seconds });
  const authorize = () => ask({ type: 'AUTHORIZE', provider: MAKER, keyId: KEY, consent: 'PROVEN' });
  const restart = (): void => {
    protection.stop();
    protection = new QuoteProtection(parts);
    protection.start();
  };
  const post = (n: number, provider = MAKER): void => {
    sequencer.submit(enter(sampleQuote({ n, provider })));
  };
  const withdrawals = () =>
    journal.appended.flatMap(({ command }) => (command.type === 'WITHDRAW_QUOTES' ? [command] : []));
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await commit();
  };
  return {
    ...{ signed, clock, journal, engine, sequencer, commit, ask, beat, authorize, restart, post, withdrawals, advance },
    shown: () => engine.orders().valid.map(({ quote }) => quote.quoteId),
    timers: () => engine.protections.authorization(MAKER, KEY)?.timers,
  };
}

/** The timers of a key that its provider has authorized. */
export async function authorized(core = newCore(), changed: Partial<Limits> = {}) {
  const on = setUp(core, changed);
  await on.authorize();
  return on;
}
