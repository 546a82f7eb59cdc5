import type { Engine } from '../engine/engine.js';
import type { Clock } from '../engine/ports.js';
import type { Publish } from '../feed/topics.js';
import { fillGauges, measuredJournal, measuredRpc } from '../metrics/instrument.js';
import type { Metrics } from '../metrics/metrics.js';
import type { QuotePublishing } from '../http/publish-route.js';
import type { LogStorage } from '../persistence/recovery/log-backup.js';
import type { ChainsView, CommittedRecords } from './core.js';
import type { ServiceOptions } from './service-options.js';

/** The same options with log and chains measured. */
export function measuredOptions<O extends Pick<ServiceOptions, 'journal' | 'clock' | 'rpc'>>(
  options: O,
  metrics: Metrics | null,
): O {
  if (metrics === null) return options;
  const { journal, clock, rpc } = options;
  return {
    ...options,
    journal: measuredJournal(journal, clock, metrics),
    rpc: {
      settlement: measuredRpc(rpc.settlement, 'settlement', metrics),
      stream: measuredRpc(rpc.stream, 'stream', metrics),
    },
  };
}

/** The same publishing, with each publication timed that the intake took. */
export function measuredPublishing(
  publishing: QuotePublishing,
  clock: Clock,
  metrics: Metrics | null,
): QuotePublishing {
  if (metrics === null) return publishing;
  return {
    ...publishing,
    async submit(caller, quotes, areOperators) {
      const startMs = clock.monotonicMs();
      const result = await publishing.submit(caller, quotes, areOperators);
      if (PUBLICATION_RESULTS.has(result.type)) {
        metrics.publication.labels(result.type.toLowerCase()).observe((clock.monotonicMs() - startMs) / 1000);
      }
      return result;
    },
  };
}

/** Results of quotes that were sent to the chain; the others are refused before. */
const PUBLICATION_RESULTS: ReadonlySet<string> = new Set(['ANSWERED', 'NOT_CONFIRMED', 'CHAIN_UNREACHABLE']);

/** The log's size, its volume's room and its newest snapshot, looked at with each reading. */
export function measureStorage(
  metrics: Metrics,
  storage: () => Promise<LogStorage>,
  clock: Pick<Clock, 'wallMs'>,
): void {
  metrics.beforeReading(async () => {
    // The other metrics are most wanted while a disk fails.
    const found = await storage().catch(() => null);
    if (found === null) return;
    const { logBytes, freeBytes, snapshotMs } = found;
    metrics.logBytes.set(logBytes);
    metrics.diskFree.set(freeBytes);
    if (snapshotMs !== null) metrics.snapshotAge.set(Math.max(0, (clock.wallMs() - snapshotMs) / 1000));
  });
}

/**
 * Times how long the listeners take that are added to `records` between this call and a call of the function that it
 * returns: those that hand messages to the sockets.
 */
export function timeFanOut(
  { eventToSocket }: Metrics,
  records: MeasuredParts['records'],
  clock: Pick<Clock, 'monotonicMs'>,
): () => void {
  let startMs = 0;
  records.onEvents(() => (startMs = clock.monotonicMs()));
  return () => records.onEvents(() => eventToSocket.observe((clock.monotonicMs() - startMs) / 1000));
}

export interface MeasuredParts {
  readonly engine: Engine;
  readonly records: Pick<CommittedRecords, 'onEvents'>;
  readonly chains: ChainsView;
  readonly clock: Clock;
  readonly isReady: () => boolean;
}

/** Counts what is committed, and lets gauges read book and chains. */
export function measureEngine(metrics: Metrics, { engine, records, chains, clock, isReady }: MeasuredParts): void {
  records.onEvents((committed) => {
    for (const { events } of committed) for (const { type } of events) metrics.events.labels(type).inc();
  });
  metrics.beforeReading(() => {
    for (const role of ['settlement', 'stream'] as const) {
      const spentWei = chains.spending?.[role].spentWei;
      if (spentWei !== undefined) metrics.walletSpent.labels(role).set(toGwei(spentWei));
      const balanceWei = chains.balances?.[role].wei ?? null;
      if (balanceWei !== null) metrics.walletBalance.labels(role).set(toGwei(balanceWei));
    }
  });
  metrics.beforeReading(() =>
    fillGauges(metrics, {
      seq: engine.seq,
      orders: () => engine.known(),
      pools: () => engine.pools(),
      chain(role) {
        const { head, stale } = chains.health[role].status();
        return { head, stale, readBlock: engine.positions()[role]?.blockNumber ?? null };
      },
      wallMs: () => clock.wallMs(),
      isReady,
    }),
  );
}

function toGwei(wei: bigint): number {
  return Number(wei / 10n ** 9n);
}

/** The same publishing, counted. */
export function measuredPublish(publish: Publish, metrics: Metrics | null): Publish {
  if (metrics === null) return publish;
  const { publications, publishedBytes } = metrics;
  return (topic, message, isBinary) => {
    publications.inc();
    publishedBytes.inc(message.length);
    publish(topic, message, isBinary);
  };
}
