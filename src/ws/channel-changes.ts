import type { KeyHolder } from '../auth/key-store.js';
import { type TakerAccess, takerOfRequests } from '../auth/taker-access.js';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Feed } from '../feed/feed.js';
import { coverRequestOf, filterKeys, filterOf, tradeSelectionOf, viewOf } from '../feed/filters.js';
import type { TurnBudget } from '../system/turn-budget.js';
import { noPoolText } from '../wire/primitives.js';
import type {
  CoverFilterMessage,
  FilterV2Message,
  OrderbookFilterMessage,
  TickerFilterMessage,
  TradesFilterMessage,
  UnsubscribeV2Message,
} from '../wire/socket.js';
import type { Acknowledge, ResumePoint } from './feed-reader.js';
import type { Heartbeats } from './heartbeats.js';
import type { KeySessions } from './key-sessions.js';
import {
  type ChannelChange,
  type Follow,
  type MessageProblem,
  noSize,
  otherChain,
  problems,
  type Refusal,
  replyTexts,
  takerProblem,
} from './messages.js';
import type { SocketKeys, SocketLimits } from './ports.js';
import type { Session } from './session.js';

export interface ChannelChangesOptions {
  /** The settlement chain's, the only one that filters and requests may name. */
  readonly chainId: string;
  /** Source of everything beyond the plain protocol. */
  readonly feed: Feed;
  readonly keys: SocketKeys;
  /** Null: no deployed pool has the name. */
  readonly poolNamed: (instrument: string) => Hex | null;
  readonly takers: TakerAccess;
  readonly clock: Clock;
  /** Shared with all else that is done in slices. */
  readonly turns: TurnBudget;
  readonly limits: SocketLimits;
}

/** Carries out the FILTER and UNSUBSCRIBE messages of each socket in the order in which it sent them. */
export class ChannelChanges {
  readonly #options: ChannelChangesOptions;
  readonly #heartbeats: Heartbeats;
  readonly #keySessions: KeySessions;

  constructor(options: ChannelChangesOptions, heartbeats: Heartbeats, keySessions: KeySessions) {
    this.#options = options;
    this.#heartbeats = heartbeats;
    this.#keySessions = keySessions;
  }

  /**
   * A FILTER that reads the book waits until the key has paid for what it was sent before, and for its turn among all
   * that is done in slices. Later messages of the socket about its channels wait with it.
   */
  request(session: Session, change: ChannelChange, holder: KeyHolder, id?: string): Refusal {
    const { waiting } = session;
    if (waiting.length === 0 && !this.#mustWait(session, change)) return this.#change(session, change, holder, id);
    if (waiting.length >= this.#options.limits.wsWaitingFilters) return problems.rateLimited;
    waiting.push({ change, id });
    if (waiting.length === 1) this.#wait(session);
    return null;
  }

  #mustWait(session: Session, message: ChannelChange): boolean {
    return readsBook(session, message) && (session.pace.debtMs() > 0 || !this.#options.turns.hasRoom);
  }

  #wait(session: Session): void {
    const { clock, turns } = this.#options;
    const proceed = (): void => this.#proceed(session);
    const debtMs = session.pace.debtMs();
    session.cancelWait = debtMs > 0 ? clock.after(debtMs, proceed) : turns.wait(proceed);
  }

  #proceed(session: Session): void {
    for (let [next] = session.waiting; next !== undefined; [next] = session.waiting) {
      const holder = session.credentials && this.#options.keys.verify(session.credentials.apiKey);
      // Its key was revoked: the gateway closes the socket.
      if (session.socket.closed || holder === null || typeof holder === 'string') return;
      const { change, id } = next;
      if (this.#mustWait(session, change)) return this.#wait(session);
      session.waiting.shift();
      const refusal = this.#change(session, change, holder, id);
      if (refusal !== null) session.sendError(refusal, id);
    }
  }

  #change(session: Session, message: ChannelChange, holder: KeyHolder, id: string | undefined): Refusal {
    if (message.type === 'UNSUBSCRIBE') return this.#unsubscribe(session, message, id);
    const refusal = this.#follow(session, message, holder, id);
    if (refusal === null) session.shows(message.channel, takerOf(message));
    return refusal;
  }

  #follow(session: Session, message: Follow, holder: KeyHolder, id: string | undefined): Refusal {
    const problem =
      this.#validateFollow(session, message, holder) ??
      (message.channel === 'TICKER' || message.channel === 'COVER' ? null : resumeProblem(message.body));
    if (problem !== null) return problem;
    if (readsBook(session, message)) this.#options.turns.spend();
    if (message.channel === 'ORDERBOOK') return this.#filterBook(session, message, id);
    if (message.channel === 'COVER') return this.#filterCover(session, message, id);
    if (message.channel === 'TRADES') return this.#filterTrades(session, message, id);
    return message.channel === 'TICKER'
      ? this.#filterTickers(session, message, id)
      : this.#filter(session, message, id);
  }

  #filter(session: Session, { channel, body }: FilterV2Message, id: string | undefined): Refusal {
    const filter = filterOf(body);
    const keys = filterKeys(channel, this.#options.chainId, filter);
    if (!session.isPlain) {
      const start = { resume: resumePoint(body), wantsSnapshot: body.snapshot ?? null };
      return session.reader.follow(channel, filter, start, this.#acknowledge(session, id));
    }
    // Answer first, subscribe after it in the same tick: messages of the old filter are sent before the answer, messages
    // of the new one after it.
    const sent = session.sendInfo(replyTexts.subscribed(keys));
    if (sent) session.subscribe(channel, keys, filter.narrowing);
    return null;
  }

  #filterBook(session: Session, { body }: OrderbookFilterMessage, id: string | undefined): Refusal {
    const view = viewOf(body, body.depth ?? this.#options.limits.wsBookLevels);
    session.reader.followBook(view, resumePoint(body), this.#acknowledge(session, id));
    this.#heartbeats.add(session.reader);
    return null;
  }

  #filterTickers(session: Session, { body }: TickerFilterMessage, id: string | undefined): Refusal {
    session.reader.followTickers(
      (body.poolAddress?.toLowerCase() as Hex | undefined) ?? null,
      this.#acknowledge(session, id),
    );
    return null;
  }

  #filterCover(session: Session, { body }: CoverFilterMessage, id: string | undefined): Refusal {
    if (BigInt(body.size) === 0n) return noSize('FILTER');
    const { poolAddress, instrument, ...others } = body;
    if ((poolAddress === undefined) === (instrument === undefined)) {
      return { code: 'invalid_parameter', message: 'Invalid FILTER: body must have either poolAddress or instrument' };
    }
    const pool = poolAddress ?? this.#options.poolNamed(instrument ?? '');
    if (pool === null) return notDeployed(instrument);
    return session.reader.followCover(coverRequestOf({ ...others, poolAddress: pool }), this.#acknowledge(session, id));
  }

  #filterTrades(session: Session, { body }: TradesFilterMessage, id: string | undefined): Refusal {
    const { poolAddress, instrument, ...others } = body;
    if (poolAddress !== undefined && instrument !== undefined) {
      const message = 'Invalid FILTER: body must have at most one of poolAddress and instrument';
      return { code: 'invalid_parameter', message };
    }
    const pool = instrument === undefined ? poolAddress : this.#options.poolNamed(instrument);
    if (pool === null) return notDeployed(instrument);
    const selection = tradeSelectionOf(pool === undefined ? others : { ...others, poolAddress: pool });
    session.reader.followTrades(selection, resumePoint(body), this.#acknowledge(session, id));
    return null;
  }

  #acknowledge(session: Session, id: string | undefined): Acknowledge {
    const { epoch } = this.#options.feed;
    return (subscribed) => session.acknowledge(replyTexts.subscribed(subscribed.keys), subscribed, epoch, id);
  }

  #validateFollow(session: Session, message: Follow, holder: KeyHolder): Refusal {
    const { channel, body } = message;
    const { clock, limits, takers } = this.#options;
    if (body.chainId !== this.#options.chainId) return otherChain(body.chainId, this.#options.chainId);
    if (session.subscribes.reaches(clock.monotonicMs())) {
      const message = `Too many FILTERs: at most ${limits.wsSubscribes} in ${limits.wsSubscribeWindowMs / 1000} seconds`;
      return { code: 'rate_limited', message };
    }
    const taker = takerOf(message);
    if (!takers.maySee(holder, taker)) return takerProblem(taker);
    return this.#keySessions.validateFollow(session, channel, holder);
  }

  #unsubscribe(session: Session, { channel }: UnsubscribeV2Message, id: string | undefined): Refusal {
    if (session.sendInfo(replyTexts.unsubscribed(channel), id)) session.unsubscribe(channel);
    return null;
  }
}

function notDeployed(instrument = ''): MessageProblem {
  return { code: 'pool_not_deployed', message: noPoolText(instrument) };
}

/** The taker whose private quotes or requests a FILTER asks for; null: it asks for what every key sees. */
function takerOf(message: Follow): Hex | '*' | null {
  if (message.channel === 'TICKER' || message.channel === 'TRADES') return null;
  const { taker } = message.body;
  return message.channel === 'RFQ' ? takerOfRequests(taker) : (taker ?? null);
}

/** Plain subscriptions to QUOTES and RFQ start from now: they read nothing of the book. */
function readsBook(session: Session, { type, channel }: ChannelChange): boolean {
  return type === 'FILTER' && (!session.isPlain || channel === 'ORDERBOOK');
}

interface Resumable {
  readonly epoch?: string;
  readonly fromSeq?: number;
}

function resumePoint({ epoch, fromSeq }: Resumable): ResumePoint | null {
  return epoch === undefined || fromSeq === undefined ? null : { epoch, fromSeq };
}

function resumeProblem({ epoch, fromSeq }: Resumable): Refusal {
  if ((epoch === undefined) === (fromSeq === undefined)) return null;
  return { code: 'invalid_parameter', message: 'Invalid FILTER: body must have epoch and fromSeq together' };
}
