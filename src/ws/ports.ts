import type { KeyHolder } from '../auth/key-store.js';
import type { Rfq } from '../engine/command.js';
import type { Hex, PoolKey } from '../engine/quote.js';
import type { BodyCall } from '../wire/socket.js';
import type { SchemaError } from '../wire/validation.js';
import type { MessageProblem } from './messages.js';

/** Bounds of a reader that is behind; the numbers come from the configuration's limits. */
export interface CatchUpLimits {
  /** Unread bytes of a peer above which the server delays what can wait. */
  readonly wsSlowBytes: number;
  /** Events read at a time for a reader that comes back, and pause before a slow one is looked at again. */
  readonly wsReplayEvents: number;
  readonly wsCatchUpMs: number;
  /** Pause of a reader that the log has no time for. */
  readonly logBusyMs: number;
}

export interface HeartbeatLimits {
  readonly wsHeartbeatMs: number;
  readonly wsSlowBytes: number;
  readonly wsCatchUpMs: number;
}

export interface FeedReaderLimits extends CatchUpLimits {
  readonly wsSnapshotQuotes: number;
  readonly wsSnapshotPageQuotes: number;
  readonly wsSnapshotPageTickers: number;
}

export type SocketCallName = 'POST_QUOTES' | 'DRY_RUN' | BodyCall['type'];

/** Result of a call. `details`: fields of its error beside code and text, or null. */
export type SocketCallOutcome =
  | { readonly ok: true; readonly body: unknown }
  | (MessageProblem & {
      readonly ok: false;
      /** Where the body does not match its schema, what is wrong with it. */
      readonly errors: readonly SchemaError[] | null;
      readonly details: Readonly<Record<string, unknown>> | null;
    });

/** Carries out a call as its HTTP route does. A rejection is a fault of ours. */
export type CarryOutCall = (
  holder: KeyHolder,
  call: { readonly name: SocketCallName; readonly body: unknown; readonly isGone: () => boolean },
) => Promise<SocketCallOutcome>;

/** The key store, as far as sockets need it. Verifying costs little: it happens on every message. */
export interface SocketKeys {
  verify(apiKey: string): KeyHolder | 'MISSING' | 'NOT_FOUND';
  /** Counts an unknown key from that address. Returns 0, or the milliseconds for which its unknown keys are ignored. */
  strike(remoteAddress: string): number;
}

/** Quotas of a key's sockets by its tier. They may change between calls. */
export interface SocketQuotas {
  of(tier: KeyHolder['tier']): { readonly connections: number; readonly channels: number };
  /** Takes one message. Returns 0, or the milliseconds until the next is allowed. */
  takeMessage(holder: KeyHolder): number;
  /** Takes so many requests for quotes. Returns as `takeMessage`. */
  takeRfqs(holder: KeyHolder, count: number): number;
  /** Counts rows and bytes that were written for the key. */
  charge(holder: KeyHolder, rows: number, bytes: number): void;
  /** Milliseconds until the key may receive more; 0: now. */
  debtMs(holder: KeyHolder): number;
  /** Counts a refusal. */
  refused(quota: 'connections' | 'channels', tier: KeyHolder['tier']): void;
}

/** Where a request for quotes goes. A rejection of either promise is a fault of ours, never a client's. */
export interface RfqPorts {
  /**
   * The key's addresses come in any letter case, the answer in lower case. IMPOSSIBLE: no pool can have this key;
   * UNAVAILABLE: the chain can't be asked now.
   */
  poolAddressOf(poolKey: PoolKey): Promise<Hex | 'IMPOSSIBLE' | 'UNAVAILABLE'>;
  /**
   * Hands the request to the sequencer before it returns, so that the order of calls is the order in the log; resolves
   * once it is durable and published to subscribers, or refused. `owner`: id of the key that
   * sent it, to which its answers are shown; null: to nobody.
   */
  publish(rfq: Rfq, owner: string | null): Promise<'OK' | 'STORAGE_FULL' | 'BUSY'>;
}

/** Bounds of one socket; the numbers come from the configuration's limits. */
export interface SocketLimits extends FeedReaderLimits, HeartbeatLimits {
  /** Open at once: in all, and of one address. */
  readonly wsConnections: number;
  readonly wsConnectionsPerAddress: number;
  /** Levels of a side that ORDERBOOK shows, at most and when nothing else is asked for. */
  readonly wsBookLevels: number;
  /** How long a socket may wait before its AUTH. */
  readonly wsAuthDeadlineMs: number;
  /** Messages answered with ERROR in the window after which a socket is closed. */
  readonly wsBadMessages: number;
  readonly wsBadMessageWindowMs: number;
  /** FILTERs allowed in the window. */
  readonly wsSubscribes: number;
  readonly wsSubscribeWindowMs: number;
  /** FILTERs and UNSUBSCRIBEs of one socket that wait while its key is over its rows or bytes. */
  readonly wsWaitingFilters: number;
  /** RFQs of one socket that may wait to become durable. */
  readonly wsWaitingRfqs: number;
  /** Calls of one socket that may wait for their answers. */
  readonly wsWaitingCalls: number;
  /** How long after an RFQ came the address of its pool key may be unknown. */
  readonly wsRfqLookupMs: number;
}
