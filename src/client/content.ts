import type { KeyedMessage, TickerFact } from './facts.js';
import type { Hex } from './set-hash.js';

export type Snapshot = Extract<
  KeyedMessage,
  { readonly type: 'QUOTES_SNAPSHOT' | 'ORDERBOOK_SNAPSHOT' | 'TICKER_SNAPSHOT' }
>;
/** Says which one it follows. */
export type NumberedMessage = Exclude<KeyedMessage, Snapshot | TickerFact>;

/** What the messages of a subscription add up to. */
export interface Content {
  /** Null: the channel tells what happens, and has no book. */
  readonly book: BookContent | null;
  /** The next message; one of another channel never comes. */
  apply(message: NumberedMessage | TickerFact): void;
}

export interface BookContent {
  clear(): void;
  /** `MORE`: pages follow. `WRONG`: what has come is not what was sent. */
  takeSnapshot(message: Snapshot): 'WHOLE' | 'MORE' | 'WRONG';
  /** Null: the server tells none. */
  hash(key: string): Hex | null;
  /** False: it begins anew on each connection. */
  readonly canResume: boolean;
  /** It is whole, and as the server has it: after a snapshot. */
  onWhole(): void;
}
