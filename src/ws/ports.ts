import type { Rfq } from '../engine/command.js';
import type { FeedReaderLimits } from './feed-reader.js';
import type { FeedReadersLimits } from './feed-readers.js';
import type { Hex, PoolKey } from '../engine/quote.js';

/** The key store, as far as sockets need it. Verifying costs little: it happens on every message. */
export interface SocketKeys {
  verify(apiKey: string): { readonly id: string } | 'MISSING' | 'NOT_FOUND';
}

/** Where a request for quotes goes. A rejection of either promise is a fault of ours, never a client's. */
export interface RfqPorts {
  /** The key's addresses come in any letter case, the answer in lower case. IMPOSSIBLE: no pool can have this key; UNAVAILABLE: the chain can't be asked now. */
  poolAddressOf(poolKey: PoolKey): Promise<Hex | 'IMPOSSIBLE' | 'UNAVAILABLE'>;
  /**
   * Hands the request to the sequencer before it returns, so that the order of calls is the order in the log; resolves
   * once it is durable and told to subscribers, or refused.
   */
  publish(rfq: Rfq): Promise<'OK' | 'STORAGE_FULL' | 'BUSY'>;
}

/** Bounds of one socket; the numbers come from the configuration's limits. */
export interface SocketLimits extends FeedReaderLimits, FeedReadersLimits {
  /** Open at once: in all, of one address, of one key. */
  readonly wsConnections: number;
  readonly wsConnectionsPerAddress: number;
  readonly wsConnectionsPerKey: number;
  /** Followed at once over all connections of one key. */
  readonly wsChannelsPerKey: number;
  /** Levels of a side that ORDERBOOK shows, at most and when nothing else is asked for. */
  readonly wsBookLevels: number;
  /** Messages of any kind in the window after which a socket is closed. */
  readonly wsMessages: number;
  readonly wsMessageWindowMs: number;
  /** How long a socket may wait before its AUTH. */
  readonly wsAuthDeadlineMs: number;
  /** Messages answered with ERROR in the window after which a socket is closed. */
  readonly wsBadMessages: number;
  readonly wsBadMessageWindowMs: number;
  /** FILTERs allowed in the window. */
  readonly wsSubscribes: number;
  readonly wsSubscribeWindowMs: number;
  /** RFQs of one socket that may wait to become durable. */
  readonly wsWaitingRfqs: number;
}
