import type { ChainRole } from '../engine/command.js';
import type { Order } from '../engine/quote.js';
import type { Metrics } from './metrics.js';

/** What gauges are read from. */
export interface Gauged {
  readonly seq: number;
  /** Live and invalid ones. */
  orders(): Iterable<Order>;
  pools(): Iterable<unknown>;
  chain(role: ChainRole): {
    /** Newest block; null when none was read yet. */
    readonly head: { readonly number: number; readonly timestamp: number } | null;
    readonly stale: string | null;
    /** Last block that the book holds; null: none. */
    readonly readBlock: number | null;
  };
  wallMs(): number;
  isReady(): boolean;
}

const ROLES = ['settlement', 'stream'] as const;

/** Reads the state of book and chains into their gauges. Looks at every known order: about 20 ms for a million. */
export function fillGauges(metrics: Metrics, gauged: Gauged): void {
  const counts = { bid: 0, ask: 0, invalid: 0 };
  for (const order of gauged.orders()) {
    if (order.state === 'live') counts[order.quote.isBuy ? 'bid' : 'ask'] += 1;
    else counts.invalid += 1;
  }
  for (const [state, count] of Object.entries(counts)) metrics.orders.labels(state).set(count);
  metrics.pools.set([...gauged.pools()].length);
  metrics.seq.set(gauged.seq);
  metrics.ready.set(gauged.isReady() ? 1 : 0);
  for (const role of ROLES) fillChain(metrics, role, gauged);
}

function fillChain(metrics: Metrics, role: ChainRole, gauged: Gauged): void {
  const { head, stale, readBlock } = gauged.chain(role);
  metrics.chainStale.labels(role).set(stale === null ? 0 : 1);
  if (head === null) return;
  metrics.chainHead.labels(role).set(head.number);
  metrics.chainAge.labels(role).set(Math.max(0, gauged.wallMs() / 1000 - head.timestamp));
  if (readBlock !== null) metrics.chainLag.labels(role).set(Math.max(0, head.number - readBlock));
}
