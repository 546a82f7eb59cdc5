import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Feed } from '../feed/feed.js';
import type { TopicIndex } from '../feed/topic-index.js';
import { filterKeys } from '../feed/topics.js';
import { filterOf, viewOf } from '../feed/wire-filter.js';
import type { NetRequestHead, NetResponse, NetSocket, SocketHandlers, UpgradeDecision } from '../net/net.js';
import type { AuthMessage } from '../schema/socket.js';
import type {
  FilterV2Message,
  OrderbookFilterMessage,
  TickerFilterMessage,
  UnsubscribeV2Message,
} from '../schema/socket-v2.js';
import { FeedReader, type Acknowledge, type ResumePoint } from './feed-reader.js';
import { FeedReaders, type ChainsStatus } from './feed-readers.js';
import { KeySessions } from './key-sessions.js';
import { MessageReader, readFrame, type RfqMessage } from './messages.js';
import { pageMayConnect } from './page-origin.js';
import type { RfqPorts, SocketKeyHolder, SocketKeys, SocketLimits, SocketQuotas } from './ports.js';
import { POLICY_VIOLATION, texts } from './replies.js';
import { RfqQueue } from './rfq-queue.js';
import { Session } from './session.js';
import { agreedProtocol, encodingOf } from './subprotocol.js';
import { Tally } from './tally.js';

export interface HubOptions {
  /** The settlement chain's, the only one that filters and requests may name. */
  readonly chainId: string;
  /** Of plain readers; shared with the publisher. */
  readonly topics: TopicIndex;
  /** What everything beyond the plain protocol tells of. */
  readonly feed: Feed;
  readonly chains: ChainsStatus;
  readonly keys: SocketKeys;
  readonly quotas: SocketQuotas;
  readonly rfqs: RfqPorts;
  readonly clock: Clock;
  /** Origins of the pages that may connect beside the service's own; `*`: all. */
  readonly corsOrigins: readonly string[];
  readonly limits: SocketLimits;
  /** A port failed where it may not; the client is told that its message was not carried out. */
  readonly onFault: (fault: unknown) => void;
}

/** Why a message was not carried out; null: it was, and has its answer. */
type Refusal = string | null;

/** Holds the conversation with each socket: who it is, what it wants to hear, what it asks of makers. */
export class Hub implements SocketHandlers {
  readonly #options: HubOptions;
  readonly #messages: MessageReader;
  readonly #readers: FeedReaders;
  readonly #sessions = new Map<number, Session>();
  readonly #keySessions: KeySessions;
  readonly #addresses = new Tally();

  constructor(options: HubOptions) {
    const { chains, clock, limits, quotas } = options;
    this.#options = options;
    this.#keySessions = new KeySessions(quotas);
    this.#messages = new MessageReader(limits.wsBookLevels);
    this.#readers = new FeedReaders(chains, clock, limits);
  }

  /** Everyone may connect but pages that are not allowed to, and then has to say who he is. */
  upgrade(request: Pick<NetRequestHead, 'header' | 'remoteAddress'>): UpgradeDecision {
    const { limits, corsOrigins } = this.#options;
    const { wsConnections, wsConnectionsPerAddress } = limits;
    if (!pageMayConnect(corsOrigins, request.header('origin'), request.header('host'))) {
      return refusal(403, 'Pages of this origin may not connect');
    }
    if (this.#addresses.total >= wsConnections) return refusal(503, 'Too many connections');
    if (this.#addresses.of(request.remoteAddress) >= wsConnectionsPerAddress) {
      return refusal(429, `Too many connections: at most ${wsConnectionsPerAddress} from one address`);
    }
    return { accept: true, protocol: agreedProtocol(request.header('sec-websocket-protocol')) };
  }

  open(socket: NetSocket): void {
    const { topics, feed, limits, rfqs, chainId, clock, onFault } = this.#options;
    const encoding = encodingOf(socket.protocol, feed.encodings);
    const reader = new FeedReader({ socket, feed, encoding: encoding ?? feed.encodings.json, clock, limits, onFault });
    const session = new Session(socket, { topics, rfqs: new RfqQueue(rfqs, chainId), reader, encoding, limits });
    this.#sessions.set(socket.id, session);
    this.#addresses.add(socket.remoteAddress);
    session.cancelDeadline = clock.after(limits.wsAuthDeadlineMs, () => {
      socket.close(POLICY_VIOLATION, `No AUTH within ${limits.wsAuthDeadlineMs / 1000} seconds`);
    });
  }

  message(socket: NetSocket, data: Uint8Array, isBinary: boolean): void {
    const session = this.#sessions.get(socket.id);
    if (session === undefined || socket.closed) return;
    const holder = this.#holderOf(session);
    if (holder === 'REVOKED') return;
    const isOver = holder !== null && this.#options.quotas.takeMessage(holder) > 0;
    const refusal = isOver ? texts.rateLimited : this.#carryOut(session, holder, data, isBinary);
    if (refusal !== null) this.#refuse(session, refusal);
  }

  close(socket: NetSocket): void {
    const session = this.#sessions.get(socket.id);
    if (session === undefined) return;
    this.#sessions.delete(socket.id);
    this.#addresses.remove(socket.remoteAddress);
    session.end();
    this.#readers.remove(session.reader);
    this.#keySessions.leave(session);
  }

  /** Readers of the subprotocols are told where to go on. */
  overBudgetReason(socket: NetSocket): string {
    const session = this.#sessions.get(socket.id);
    return session === undefined || session.isPlain ? 'Too slow' : resumeFrom('Too slow', session);
  }

  /** Closes the connections of the subprotocols, each with where it goes on. */
  closeReaders(code: number, reason: string): void {
    for (const session of this.#sessions.values()) {
      if (!session.isPlain) session.socket.close(code, resumeFrom(reason, session));
    }
  }

  /** A message of the feed went out. */
  published(bytes: number): void {
    this.#readers.published(bytes);
  }

  /** A key was revoked or changed: its sockets are closed unless it still holds, and allows them. */
  onKeyChange(keyId: string): void {
    const holders = this.#keySessions.of(keyId).map((session) => this.#holderOf(session));
    const holder = holders.find((held) => held !== null && held !== 'REVOKED');
    if (holder === undefined) return;
    for (const { socket } of this.#keySessions.beyond(holder))
      socket.close(POLICY_VIOLATION, 'Over the quotas of its tier');
  }

  /** What the tiers allow has changed. */
  onQuotasChange(): void {
    for (const keyId of this.#keySessions.keyIds) this.onKeyChange(keyId);
  }

  /** Null before AUTH. A socket whose key no longer holds is being closed. */
  #holderOf({ credentials, socket }: Session): SocketKeyHolder | 'REVOKED' | null {
    if (credentials === null) return null;
    const holder = this.#options.keys.verify(credentials.apiKey);
    if (typeof holder !== 'string') return holder;
    socket.close(POLICY_VIOLATION, 'API key revoked');
    return 'REVOKED';
  }

  #carryOut(session: Session, holder: SocketKeyHolder | null, data: Uint8Array, isBinary: boolean): Refusal {
    const raw = readFrame(data, isBinary);
    // To a stranger nothing but AUTH is explained.
    const isAuth = raw.ok && raw.value.type === 'AUTH';
    if (holder === null && !isAuth) return texts.notAuthorized;
    if (!raw.ok) return raw.problem;
    const reading = this.#messages.read(raw.value, session.isPlain);
    if (!reading.ok) return reading.problem;
    const message = reading.value;
    if (message.type === 'AUTH') return this.#auth(session, message);
    if (holder === null) return texts.notAuthorized;
    switch (message.type) {
      case 'FILTER': {
        const whyNot =
          this.#whyNotFollow(session, message, holder) ??
          (message.channel === 'TICKER' ? null : resumeProblem(message.body));
        if (whyNot !== null) return whyNot;
        if (message.channel === 'ORDERBOOK') return this.#filterBook(session, message);
        return message.channel === 'TICKER' ? this.#filterTickers(session, message) : this.#filter(session, message);
      }
      case 'UNSUBSCRIBE':
        return this.#unsubscribe(session, message);
      case 'RFQ':
        return this.#rfq(session, message);
    }
  }

  /** A bad key changes nothing: who was authorised stays so. A good one takes the place of the one before. */
  #auth(session: Session, { apiKey }: AuthMessage): Refusal {
    const { keys } = this.#options;
    const { socket, encoding, reader } = session;
    const holder = keys.verify(apiKey);
    if (holder === 'MISSING') return texts.keyNotFound;
    if (holder === 'NOT_FOUND') return keys.strike(socket.remoteAddress) > 0 ? texts.rateLimited : texts.keyNotFound;
    const whyNot = this.#keySessions.whyNotJoin(session, holder);
    if (whyNot !== null) return whyNot;
    session.cancelDeadline?.();
    this.#keySessions.join(session, holder, apiKey);
    session.tell(texts.authorized);
    if (encoding !== null) this.#readers.beat(reader, { socket, encoding });
    return null;
  }

  #filter(session: Session, { channel, body }: FilterV2Message): Refusal {
    const filter = filterOf(channel, body);
    const keys = filterKeys(channel, this.#options.chainId, filter);
    if (!session.isPlain) {
      const start = { resume: resumePoint(body), wantsSnapshot: body.snapshot ?? false };
      return session.reader.follow(channel, filter, start, this.#acknowledge(session));
    }
    // Answered before it is done, in one tick: what was published under the old filter goes out ahead of the answer,
    // and everything committed from now on comes after it.
    const sent = session.tell(texts.subscribed(keys));
    if (sent) session.subscribe(channel, keys, filter.narrowing);
    return null;
  }

  #filterBook(session: Session, { body }: OrderbookFilterMessage): Refusal {
    const view = viewOf(body, body.depth ?? this.#options.limits.wsBookLevels);
    session.reader.followBook(view, resumePoint(body), this.#acknowledge(session));
    this.#readers.add(session.reader);
    return null;
  }

  #filterTickers(session: Session, { body }: TickerFilterMessage): Refusal {
    session.reader.followTickers(
      (body.poolAddress?.toLowerCase() as Hex | undefined) ?? null,
      this.#acknowledge(session),
    );
    return null;
  }

  #acknowledge(session: Session): Acknowledge {
    const { epoch } = this.#options.feed;
    return (subscribed) => session.acknowledge(texts.subscribed(subscribed.keys), subscribed, epoch);
  }

  #whyNotFollow(
    session: Session,
    { channel, body }: FilterV2Message | OrderbookFilterMessage | TickerFilterMessage,
    holder: SocketKeyHolder,
  ): Refusal {
    const { clock, limits } = this.#options;
    if (body.chainId !== this.#options.chainId) return this.#otherChain(body.chainId);
    if (session.subscribes.reaches(clock.monotonicMs())) {
      return `Too many FILTERs: at most ${limits.wsSubscribes} in ${limits.wsSubscribeWindowMs / 1000} seconds`;
    }
    return this.#keySessions.whyNotFollow(session, channel, holder);
  }

  #unsubscribe(session: Session, { channel }: UnsubscribeV2Message): Refusal {
    if (session.tell(texts.unsubscribed(channel))) session.unsubscribe(channel);
    return null;
  }

  #rfq(session: Session, { body }: RfqMessage): Refusal {
    const { chainId, limits, onFault } = this.#options;
    if (body.chainId !== chainId) return this.#otherChain(body.chainId);
    if (BigInt(body.size) === 0n) return 'Invalid RFQ: body.size must be > 0';
    if (session.rfqs.waiting >= limits.wsWaitingRfqs) {
      return `Too many RFQs: ${limits.wsWaitingRfqs} of them wait to be published`;
    }
    session.rfqs.publish(body).then(
      (outcome) => {
        if (session.socket.closed) return;
        if ('key' in outcome) session.tell(texts.rfqPublished(outcome.key));
        else session.refuse(outcome.problem);
      },
      (fault: unknown) => {
        onFault(fault);
        if (!session.socket.closed) session.refuse('RFQ not published: internal error');
      },
    );
    return null;
  }

  #otherChain(chainId: string): string {
    return `Chain ${chainId} is not served here, only ${this.#options.chainId} is`;
  }

  #refuse(session: Session, problem: string): void {
    const { socket, badMessages } = session;
    const tooMany = badMessages.reaches(this.#options.clock.monotonicMs());
    if (!session.refuse(problem)) return;
    if (tooMany) socket.close(POLICY_VIOLATION, 'Too many bad messages');
  }
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
  return 'Invalid FILTER: body must have epoch and fromSeq together';
}

/** At most 123 bytes (RFC 6455, 5.5). */
function resumeFrom(reason: string, { reader }: Session): string {
  return `${reason}, resume from seq ${reader.completeSeq}`;
}

function refusal(status: number, message: string): NetResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) };
}
