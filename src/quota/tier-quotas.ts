/** What the keys of one tier may use. Each number is per key. */
export interface TierQuotas {
  readonly requestsPerSecond: number;
  readonly quotesPerMinute: number;
  /** Quotes that may be posted at once by a key that has posted none for a while; also the most in one request. */
  readonly quoteBurst: number;
  /** Quotes that the operator publishes for it in 24 hours, and what it pays for all that it sends for it, in gas. */
  readonly quotesPerDay: number;
  readonly gasPerDay: number;
  /** WebSockets open at once. */
  readonly connections: number;
  /** Channels followed at once over all its sockets. */
  readonly channels: number;
  /** Messages that its sockets may send, all together. */
  readonly messagesPerSecond: number;
  /** Quotes, events and levels, and their bytes, in large answers and in what its sockets request. */
  readonly rowsPerSecond: number;
  readonly answerBytesPerSecond: number;
  /** Large answers that wait while another one is made. */
  readonly answersWaiting: number;
}

export type Tier = 'free' | 'paid';
export type QuotaTable = Readonly<Record<Tier, TierQuotas>>;

/** Whose quota is used. */
export interface QuotaHolder {
  readonly id: string;
  readonly tier: Tier;
}
