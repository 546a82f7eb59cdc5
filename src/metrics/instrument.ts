import type { ChainRole } from '../engine/command.js';
import type { Clock, Journal } from '../engine/ports.js';
import type { Rpc } from '../chain/rpc/rpc-client.js';
import type { Order } from '../engine/quote.js';
import type { NetSocket, SocketHandlers } from '../net/net.js';
import type { Metrics } from './metrics.js';

/** The same journal, with its commits timed: from the first record of a group to the commit that includes it. */
export function measuredJournal(journal: Journal, clock: Clock, { commits, commitRecords }: Metrics): Journal {
  const waiting: { index: number; atMs: number }[] = [];
  journal.onCommit((index) => {
    const [first] = waiting;
    if (first === undefined || first.index > index) return;
    commits.observe((clock.monotonicMs() - first.atMs) / 1000);
    let count = 0;
    while ((waiting[count]?.index ?? Infinity) <= index) count++;
    waiting.splice(0, count);
    commitRecords.inc(count);
  });
  return {
    append(record) {
      waiting.push({ index: record.stamp.index, atMs: clock.monotonicMs() });
      journal.append(record);
    },
    refusal: () => journal.refusal(),
    onCommit: (listener) => journal.onCommit(listener),
    flush: () => journal.flush(),
    close: () => journal.close(),
  };
}

/** The methods that the service calls. Any other counts as `other`, so that there are only so many series. */
const RPC_METHODS: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_estimateGas',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByNumber',
  'eth_getLogs',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'eth_sendRawTransaction',
]);

/** The same chain, with its requests counted by their method and what came of them. */
export function measuredRpc(rpc: Rpc, chain: ChainRole, { rpcRequests }: Metrics): Rpc {
  const counted = async ({ method }: { readonly method: string }, answer: Promise<unknown>): Promise<unknown> => {
    const label = RPC_METHODS.has(method) ? method : 'other';
    try {
      const result = await answer;
      rpcRequests.labels(chain, label, 'answered').inc();
      return result;
    } catch (error) {
      rpcRequests.labels(chain, label, 'failed').inc();
      throw error;
    }
  };
  return {
    preferAnother: () => rpc.preferAnother?.(),
    get switches() {
      return rpc.switches ?? 0;
    },
    request: (args) => counted(args, rpc.request(args)),
    requestFromAnother: (args) => counted(args, (rpc.requestFromAnother ?? rpc.request).call(rpc, args)),
  };
}

/** The same handlers, with sockets, their messages and their ends counted, and those that were not let in. */
export function measuredSockets(handlers: SocketHandlers, metrics: Metrics): SocketHandlers {
  const { sockets, socketMessages, socketCloses, socketRefusals, slowestReader } = metrics;
  const open = new Set<NetSocket>();
  metrics.beforeReading(() => {
    let most = 0;
    for (const socket of open) most = Math.max(most, socket.bufferedBytes());
    slowestReader.set(most);
  });
  return {
    upgrade(request) {
      const decision = handlers.upgrade(request);
      if (!('accept' in decision)) socketRefusals.labels(String(decision.status)).inc();
      return decision;
    },
    open(socket) {
      sockets.inc();
      open.add(socket);
      handlers.open(socket);
    },
    message(socket, data, isBinary) {
      socketMessages.inc();
      handlers.message(socket, data, isBinary);
    },
    close(socket, code) {
      sockets.dec();
      open.delete(socket);
      socketCloses.labels(isRegistered(code) ? String(code) : 'other').inc();
      handlers.close(socket, code);
    },
    overBudgetReason: (socket) => handlers.overBudgetReason?.(socket) ?? 'Too slow',
  };
}

/** A call over a socket, and what came of it. */
type CarryOut<Caller, Call extends { readonly name: string }, Outcome> = (
  caller: Caller,
  call: Call,
) => Promise<Outcome>;

/** The same calls, each timed until its outcome is known, under the name of the call. */
export function measuredCalls<
  Caller,
  Call extends { readonly name: string },
  Outcome extends { readonly ok: true } | { readonly ok: false; readonly code: string },
>(carryOut: CarryOut<Caller, Call, Outcome>, clock: Clock, { socketCalls }: Metrics): CarryOut<Caller, Call, Outcome> {
  return async (caller, call) => {
    const startedMs = clock.monotonicMs();
    let label = 'internal_error';
    try {
      const outcome = await carryOut(caller, call);
      label = outcome.ok ? 'ok' : outcome.code;
      return outcome;
    } finally {
      socketCalls.labels(call.name, label).observe((clock.monotonicMs() - startedMs) / 1000);
    }
  };
}

/** In the IANA registry of close codes, from 1000 to 1015. A client may send thousands of others: each would be a series. */
function isRegistered(code: number): boolean {
  return code >= 1000 && code <= 1015;
}

/** Source of the gauges. */
export interface Gauged {
  readonly seq: number;
  /** Live, invalid and withdrawn ones. */
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
  const counts = { bid: 0, ask: 0, invalid: 0, withdrawn: 0 };
  for (const order of gauged.orders()) {
    if (order.state === 'live') counts[order.quote.isBuy ? 'bid' : 'ask'] += 1;
    else if (order.state === 'invalid') counts.invalid += 1;
    else if (order.state === 'withdrawn') counts.withdrawn += 1;
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
