import type { KeyHolder } from '../auth/key-store.js';
import type { CancelTimer } from '../engine/ports.js';
import { CloseCode } from '../net/net.js';
import type { AuthMessage } from '../wire/socket.js';
import { ChannelChanges, type ChannelChangesOptions } from './channel-changes.js';
import type { Heartbeats } from './heartbeats.js';
import type { KeySessions } from './key-sessions.js';
import {
  bodyProblem,
  type CallMessage,
  type ClientFrame,
  MessageReader,
  type MessageProblem,
  noSize,
  otherChain,
  problems,
  type Refusal,
  type RfqMessage,
  replyTexts,
  takerProblem,
} from './messages.js';
import type { CarryOutCall, SocketCallName, SocketCallOutcome, SocketQuotas } from './ports.js';
import type { Session } from './session.js';

export interface ClientRequestsOptions extends ChannelChangesOptions {
  readonly quotas: Pick<SocketQuotas, 'takeRfqs'>;
  readonly carryOutCall: CarryOutCall;
  /** Called when a port failed unexpectedly; the client receives an error. */
  readonly onFault: (fault: unknown) => void;
}

/** Handles the messages of clients: AUTH, RFQ and calls. Passes FILTER and UNSUBSCRIBE on to `ChannelChanges`. */
export class ClientRequests {
  readonly #options: ClientRequestsOptions;
  readonly #heartbeats: Heartbeats;
  readonly #keySessions: KeySessions;
  readonly #changes: ChannelChanges;
  readonly #messages: MessageReader;

  constructor(options: ClientRequestsOptions, heartbeats: Heartbeats, keySessions: KeySessions) {
    this.#options = options;
    this.#heartbeats = heartbeats;
    this.#keySessions = keySessions;
    this.#changes = new ChannelChanges(options, heartbeats, keySessions);
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
        return this.#changes.request(session, message, holder, id);
      case 'RFQ':
        return this.#rfq(session, message, holder, id);
      default:
        return this.#call(session, message, holder, id);
    }
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

  #rfq(session: Session, { body }: RfqMessage, holder: KeyHolder, id: string | undefined): Refusal {
    const { chainId, limits, onFault, quotas, takers } = this.#options;
    if (body.chainId !== chainId) return otherChain(body.chainId, chainId);
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
}

/** The text of a body that does not match its schema names the message's own fields, the code is that of HTTP. */
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
