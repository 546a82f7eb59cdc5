import type { Content } from './content.js';
import type { RefusedError } from './errors.js';

export type Channel = 'QUOTES' | 'RFQ' | 'ORDERBOOK' | 'TICKER';

/** Where a subscription goes on: it has everything up to `fromSeq` of that log. */
export interface Place {
  readonly epoch: string;
  readonly fromSeq: number;
}

/** `wish`: what is to be let through. `place` null: from a snapshot, or without a book from now. */
export function filterMessage(channel: Channel, wish: object, { book }: Content, place: Place | null): object {
  const body = { ...wish, ...place };
  if (channel !== 'QUOTES') return { type: 'FILTER', channel, body };
  // Who keeps no quotes wants none where going on fails, either: there may be more than a snapshot may have.
  if (book === null) return { type: 'FILTER', channel, body: { ...body, snapshot: false } };
  return { type: 'FILTER', channel, body: place === null ? { ...body, snapshot: true } : body };
}

/** The FILTER was refused for the quotes that its snapshot would have. */
export function isSnapshotTooLarge({ message }: RefusedError): boolean {
  return message.startsWith('Too many quotes for a snapshot');
}

/** The key had sent as many messages as it may in a second: it is not about this FILTER. */
export function isRateLimited({ message }: RefusedError): boolean {
  return message === 'RATELIMITED';
}
