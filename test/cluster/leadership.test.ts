import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type LeaseStore, waitToLead } from '../../src/cluster/leadership.js';
import { ManualClock } from '../system/manual-clock.js';

const TTL_MS = 3_000;
const POLL_MS = 250;

const RENEW_MS = 1_000;

/** A lease that another member holds, and whose end the servers never notice. */
class HeldLease implements LeaseStore {
  holder = 'other';
  #revision = 1;

  create(): Promise<number | null> {
    return Promise.resolve(null);
  }

  renew(holder: string, revision: number): Promise<number | null> {
    return this.seize(holder, revision);
  }

  seize(holder: string, revision: number): Promise<number | null> {
    if (revision !== this.#revision) return Promise.resolve(null);
    this.holder = holder;
    this.#revision += 1;
    return Promise.resolve(this.#revision);
  }

  revision(): Promise<number | null> {
    return Promise.resolve(this.#revision);
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

t.test('a standby takes the lease of a leader that stopped, though the servers have not ended it', async (t) => {
  const clock = new ManualClock();
  const store = new HeldLease();
  const ledAtMs: number[] = [];
  let isStopped = false;
  const waiting = waitToLead({
    store,
    member: 'standby',
    ttlMs: TTL_MS,
    renewMs: RENEW_MS,
    pollMs: POLL_MS,
    clock,
    log: {
      lead: () => {
        ledAtMs.push(clock.monotonicMs());
        isStopped = true;
        return Promise.resolve(null);
      },
    },
    openOptions: {} as Parameters<typeof waitToLead>[0]['openOptions'],
    onFault: (error) => t.fail(error.message),
    isStopped: () => isStopped,
  });
  const renewals = 5;
  const lastRenewalMs = renewals * RENEW_MS;
  while (ledAtMs.length === 0 && clock.monotonicMs() < 20_000) {
    if (clock.monotonicMs() > 0 && clock.monotonicMs() <= lastRenewalMs && clock.monotonicMs() % RENEW_MS === 0) {
      await store.renew('other', (await store.revision()) ?? 0);
    }
    await turn();
    clock.advance(POLL_MS);
  }
  await waiting;
  t.equal(store.holder, 'standby');
  const [waitedMs = 0] = ledAtMs.map((ms) => ms - lastRenewalMs);
  t.ok(waitedMs >= 2_250, `${waitedMs} ms after the last renewal: the leader has stopped after 2,000`);
  t.ok(waitedMs <= 2_250 + 3 * POLL_MS, `${waitedMs} ms after the last renewal`);
});
