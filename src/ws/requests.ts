import type { KeyHolder } from '../auth/key-store.js';
import { type TakerAccess, takerOfRequests } from '../auth/taker-access.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Feed } from '../feed/feed.js';
import { coverRequestOf, filterKeys, filterOf, tradeSelectionOf, viewOf } from '../feed/filters.js';
import { CloseCode } from '../net/net.js';
import type { TurnBudget } from '../system/turn-budget.js';
import { noPoolText } from '../wire/primitives.js';
import type {
  AuthMessage,
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
  bodyProblem,
  type CallMessage,
  type ChannelChange,
  type Follow,
  type ClientFrame,
  MessageReader,
  type MessageProblem,
  problems,
  type RfqMessage,
  replyTexts,
} from './messages.js';
import type {
  CarryOutCall,
  SocketCallName,
  SocketCallOutcome,
  SocketKeys,
  SocketLimits,
  SocketQuotas,
} from './ports.js';
import type { Session } from './session.js';

export interface ClientRequestsOptions {
  /** The settlement chain's, the only one that filters and requests may name. */
  readonly chainId: string;
  /** Source of everything beyond the plain protocol. */
  readonly feed: Feed;
  readonly keys: SocketKeys;
  readonly quotas: Pick<SocketQuotas, 'takeRfqs'>;
  readonly carryOutCall: CarryOutCall;
  /** Null: no deployed pool has the name. */
  readonly poolNamed: (instrument: string) => Hex | null;
  readonly takers: TakerAccess;
  readonly clock: Clock;
  /** Shared with all else that is done in slices. */
  readonly turns: TurnBudget;
  readonly limits: SocketLimits;
  /** Called when a port failed unexpectedly; the client receives an error. */
  readonly onFault: (fault: unknown) => void;
}

/** Why a message was not carried out; null: it was, and has its answer. */
export type Refusal = MessageProblem | null;

/** Handles the messages of clients: AUTH, following a channel or leaving it, asking makers for quotes, calls. */
export class ClientRequests {
  readonly #options: ClientRequestsOptions;
  readonly #heartbeats: Heartbeats;
  readonly #keySessions: KeySessions;
  readonly #messages: MessageReader;

  constructor(options: ClientRequestsOptions, heartbeats: Heartbeats, keySessions: KeySessions) {
    this.#options = options;
    this.#heartbeats = heartbeats;
    this.#keySessions = keySessions;
    this.#messages = new MessageReader(options.chainId, options.limits.wsBookLevels);
  }

  /** `holder` null: it has not said yet who it is. */
  carryOut(session: Session, holder: KeyHolder | null, { raw, id }: ClientFrame): Refusal {
    // To a stranger nothing but AUTH is explained.
    const isAuth = raw.ok && raw.value.type === 'AUTH';
    if (holder === null && !isAuth) return problems.notAuthorized;
    if (!raw.ok) return raw.problem;
    const reading = this.#messages.read(raw.value, session.isPlain);
    if (!reading.ok) return reading.problem;
    const message = reading.value;
    if (message.type === 'AUTH') return this.#auth(session, message, id);
    if (holder === null) return problems.notAuthorized;
    switch (message.type) {
      case 'FILTER':
      case 'UNSUBSCRIBE':
        return this.#changeInOrder(session, message, holder, id);
      case 'RFQ':
        return this.#rfq(session, message, holder, id);
      default:
        return this.#call(session, message, holder, id);
    }
  }

  /**
   * A FILTER that reads the book waits until the key has paid for what it was sent before, and for its turn among all
   * that is done in slices. Later messages of the socket about its channels wait with it.
   */
  #changeInOrder(session: Session, change: ChannelChange, holder: KeyHolder, id?: string): Refusal {
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

  /** A bad key changes nothing: an authorised socket stays authorised. A good key replaces the previous one. */
  #auth(session: Session, { apiKey }: AuthMessage, id: string | undefined): Refusal {
    const { keys } = this.#options;
    const { socket, encoding } = session;
    const holder = keys.verify(apiKey);
    const ignoredMs = holder === 'NOT_FOUND' ? keys.strike(socket.remoteAddress) : 0;
    if (ignoredMs > 0) return { ...problems.rateLimited, retryAfterMs: ignoredMs };
    if (typeof holder === 'string') return problems.keyUnknown;
    // The channels that the socket follows go over to the new key.
    const problem = this.#unseen(session, holder) ?? this.#keySessions.validateJoin(session, holder);
    if (problem !== null) return problem;
    session.cancelDeadline?.();
    session.cancelDeadline = this.#awaitExpiry(session, holder);
    this.#keySessions.join(session, holder, apiKey);
    session.sendInfo(replyTexts.authorized, id);
    if (encoding !== null) this.#heartbeats.beat(session.reader, { socket, encoding });
    return null;
  }

  /** Null, or why the holder may not see what the socket follows. */
  #unseen(session: Session, holder: KeyHolder): Refusal {
    const { takers } = this.#options;
    for (const taker of session.takers) {
      if (!takers.maySee(holder, taker)) return takerProblem(taker);
    }
    return null;
  }

  /** Closes the session if it follows what its key may no longer see. */
  closeUnseen(session: Session, holder: KeyHolder): void {
    if (this.#unseen(session, holder) !== null) {
      session.socket.close(CloseCode.policyViolation, 'The key may no longer see that taker');
    }
  }

  #awaitExpiry({ socket }: Session, { expiresAtMs }: KeyHolder): CancelTimer | null {
    if (expiresAtMs === undefined) return null;
    const { clock } = this.#options;
    return clock.after(Math.max(0, expiresAtMs - clock.wallMs()), () => {
      socket.close(CloseCode.policyViolation, 'Session expired');
    });
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
    if (body.chainId !== this.#options.chainId) return this.#otherChain(body.chainId);
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

  #rfq(session: Session, { body }: RfqMessage, holder: KeyHolder, id: string | undefined): Refusal {
    const { chainId, limits, onFault, quotas, takers } = this.#options;
    if (body.chainId !== chainId) return this.#otherChain(body.chainId);
    if (BigInt(body.size) === 0n) return noSize('RFQ');
    if (session.rfqs.waiting >= limits.wsWaitingRfqs) {
      const message = `Too many RFQs: ${limits.wsWaitingRfqs} of them wait to be published`;
      return { code: 'too_many_rfqs', message };
    }
    const waitMs = quotas.takeRfqs(holder, 1);
    if (waitMs > 0) return { ...problems.rateLimited, retryAfterMs: waitMs };
    // Any client may ask makers to quote to a taker; their best answer is shown to a client that has proven to be the taker.
    const owner = takers.maySee(holder, body.taker) ? holder.id : null;
    session.rfqs.publish(body, owner).then(
      (outcome) => {
        if (session.socket.closed) return;
        if ('key' in outcome) session.sendInfo(replyTexts.rfqPublished(outcome.key), id);
        else session.sendError(outcome.problem, id);
      },
      (fault: unknown) => {
        onFault(fault);
        const problem: MessageProblem = { code: 'internal_error', message: 'RFQ not published: internal error' };
        if (!session.socket.closed) session.sendError(problem, id);
      },
    );
    return null;
  }

  /** Calls are carried out at the same time, and answered in their order. */
  #call(session: Session, message: CallMessage, holder: KeyHolder, id: string | undefined): Refusal {
    const { limits, onFault, carryOutCall } = this.#options;
    if (session.calls.waiting >= limits.wsWaitingCalls) {
      const text = `Too many calls: ${limits.wsWaitingCalls} of them wait for their answers`;
      return { code: 'rate_limited', message: text };
    }
    const { type, body } = message;
    const name = type === 'POST_QUOTES' && message.dryRun === true ? 'DRY_RUN' : type;
    const isGone = (): boolean => session.socket.closed;
    session.calls.add(
      carryOutCall(holder, { name, body, isGone }),
      (outcome) => {
        if (isGone()) return;
        if (outcome.ok) session.sendResult(RESULTS[name], outcome.body, id);
        else session.sendError(problemOf(type, outcome), id, outcome.details);
      },
      (fault) => {
        onFault(fault);
        if (!isGone()) session.sendError(problems.internalError, id);
      },
    );
    return null;
  }

  #otherChain(chainId: string): MessageProblem {
    const message = `Chain ${chainId} is not served here, only ${this.#options.chainId} is`;
    return { code: 'unsupported_chain', message };
  }
}

/** The text of a body that has not its schema names the message's own fields, the code is that of HTTP. */
function problemOf(type: string, outcome: Extract<SocketCallOutcome, { ok: false }>): MessageProblem {
  return outcome.errors === null ? outcome : { ...bodyProblem(type, outcome.errors), code: outcome.code };
}

const RESULTS = {
  POST_QUOTES: 'QUOTES_POSTED',
  DRY_RUN: 'QUOTES_CHECKED',
  CANCEL_QUOTES: 'QUOTES_CANCELLED',
  WITHDRAW_QUOTES: 'QUOTES_WITHDRAWN',
  RESTORE_QUOTES: 'QUOTES_RESTORED',
  PROVIDER_HEARTBEAT: 'TIMER_SET',
  CANCEL_ON_DISCONNECT: 'TIMER_SET',
  SET_FILL_LIMIT: 'FILL_LIMIT_SET',
} as const satisfies Readonly<Record<SocketCallName, string>>;

function notDeployed(instrument = ''): MessageProblem {
  return { code: 'pool_not_deployed', message: noPoolText(instrument) };
}

function noSize(type: string): MessageProblem {
  return { code: 'invalid_parameter', message: `Invalid ${type}: body.size must be > 0` };
}

/** The taker whose private quotes or requests a FILTER asks for; null: it asks for what every key sees. */
function takerOf(message: Follow): Hex | '*' | null {
  if (message.channel === 'TICKER' || message.channel === 'TRADES') return null;
  const { taker } = message.body;
  return message.channel === 'RFQ' ? takerOfRequests(taker) : (taker ?? null);
}

function takerProblem(taker: Hex | '*' | null): MessageProblem {
  return taker === '*' ? problems.notAllTakers : problems.takerNotProven;
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
