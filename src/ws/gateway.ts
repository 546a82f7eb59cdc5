import type { KeyHolder } from '../auth/key-store.js';
import type { TopicIndex } from '../feed/topic-index.js';
import { CloseCode, type NetSocket, type SocketHandlers, type UpgradeDecision } from '../net/net.js';
import type { RfqStatusMessage } from '../wire/feed-messages.js';
import { Admission, type AdmissionOptions, type UpgradeRequest } from './admission.js';
import { FeedReader } from './feed-reader.js';
import { type ChainsStatus, Heartbeats } from './heartbeats.js';
import { KeySessions } from './key-sessions.js';
import { parseFrame, type MessageProblem, problems } from './messages.js';
import type { RfqPorts, SocketQuotas } from './ports.js';
import { ClientRequests, type ClientRequestsOptions } from './requests.js';
import { RfqQueue } from './rfq-queue.js';
import { agreedProtocol, encodingOf, READABLE_SUBPROTOCOL, Session, type SessionPorts } from './session.js';

/** Form of a plain reader's pushes. */
export type PushFormName = 'plain' | 'readable';

export interface GatewayOptions extends ClientRequestsOptions, Pick<AdmissionOptions, 'corsOrigins'> {
  /** Of plain readers in each form; shared with the publishers. */
  readonly topics: Readonly<Record<PushFormName, TopicIndex>>;
  readonly chains: ChainsStatus;
  readonly quotas: SocketQuotas;
  readonly rfqs: RfqPorts;
}

/** Owns all sockets: admits them, checks their keys and limits, and passes their messages on. */
export class Gateway implements SocketHandlers {
  readonly #options: GatewayOptions;
  readonly #requests: ClientRequests;
  readonly #heartbeats: Heartbeats;
  /** Of all listeners, whose sockets' ids may be the same. */
  readonly #sessions = new Map<NetSocket, Session>();
  readonly #keySessions: KeySessions;
  readonly #admission: Admission;
  readonly #ofSessions: SessionPorts;

  constructor(options: GatewayOptions) {
    const { chainId, chains, clock, feed, keys, limits, onFault, quotas, rfqs, turns } = options;
    this.#options = options;
    this.#admission = new Admission(options);
    this.#ofSessions = {
      keys,
      quotas,
      limits,
      newReader: ({ socket, encoding, pace }) =>
        new FeedReader({
          socket,
          feed,
          encoding: encoding ?? feed.encodings.json,
          clock,
          limits,
          turns,
          pace,
          onFault,
        }),
      newRfqQueue: () => new RfqQueue(rfqs, chainId, clock, limits.wsRfqLookupMs),
    };
    this.#keySessions = new KeySessions(quotas);
    this.#heartbeats = new Heartbeats(chains, clock, limits);
    this.#requests = new ClientRequests(options, this.#heartbeats, this.#keySessions);
  }

  /** A client that is accepted must then send AUTH. */
  upgrade(request: UpgradeRequest): UpgradeDecision {
    const refusal = this.#admission.refusal(request);
    return refusal ?? { accept: true, protocol: agreedProtocol(request.header('sec-websocket-protocol')) };
  }

  /** `form`: of a socket that asked for no subprotocol. */
  open(socket: NetSocket, form: PushFormName = 'plain'): void {
    const { topics, feed, limits, clock } = this.#options;
    const pushForm = socket.protocol === READABLE_SUBPROTOCOL ? 'readable' : form;
    const session = new Session(
      socket,
      encodingOf(socket.protocol, feed.encodings),
      topics[pushForm],
      this.#ofSessions,
    );
    this.#sessions.set(socket, session);
    this.#admission.add(socket.remoteAddress);
    session.cancelDeadline = clock.after(limits.wsAuthDeadlineMs, () => {
      socket.close(CloseCode.policyViolation, `No AUTH within ${limits.wsAuthDeadlineMs / 1000} seconds`);
    });
  }

  /** For a listener on which the readable form is spoken unless a subprotocol is asked for. */
  readableByDefault(): SocketHandlers {
    return {
      upgrade: (request) => this.upgrade(request),
      open: (socket) => this.open(socket, 'readable'),
      message: (...message) => this.message(...message),
      close: (socket) => this.close(socket),
      overBudgetReason: (socket) => this.overBudgetReason(socket),
    };
  }

  /** Sends what became of a request to the sockets of its key that speak a subprotocol and may see its taker. */
  pushRfqStatus(keyId: string, message: RfqStatusMessage): void {
    for (const session of this.#keySessions.of(keyId)) {
      const { socket, encoding } = session;
      if (encoding === null || socket.closed) continue;
      const holder = this.#holderOf(session);
      if (holder === null || holder === 'REVOKED' || !this.#options.takers.maySee(holder, message.body.taker)) continue;
      socket.send(encoding.message(message), encoding.isBinary);
    }
  }

  message(socket: NetSocket, data: Uint8Array, isBinary: boolean): void {
    const session = this.#sessions.get(socket);
    if (session === undefined || socket.closed) return;
    const holder = this.#holderOf(session);
    if (holder === 'REVOKED') return;
    const frame = parseFrame(data, isBinary, session.isPlain);
    const waitMs = holder === null ? 0 : this.#options.quotas.takeMessage(holder);
    const refusal =
      waitMs > 0 ? { ...problems.rateLimited, retryAfterMs: waitMs } : this.#requests.carryOut(session, holder, frame);
    if (refusal !== null) this.#refuse(session, refusal, frame.id);
  }

  close(socket: NetSocket): void {
    const session = this.#sessions.get(socket);
    if (session === undefined) return;
    this.#sessions.delete(socket);
    this.#admission.remove(socket.remoteAddress);
    session.end();
    if (session.startedReader !== null) this.#heartbeats.remove(session.startedReader);
    this.#keySessions.leave(session);
  }

  /** On the subprotocols the reason names the number to resume from, if there is one. */
  overBudgetReason(socket: NetSocket): string {
    const session = this.#sessions.get(socket);
    return session === undefined || session.isPlain ? 'Too slow' : resumeFrom('Too slow', session);
  }

  /** Closes the connections of the subprotocols, each with the number to resume from, if there is one. */
  closeReaders(code: number, reason: string): void {
    for (const session of this.#sessions.values()) {
      if (!session.isPlain) session.socket.close(code, resumeFrom(reason, session));
    }
  }

  /** A message of the feed went out. */
  published(bytes: number): void {
    this.#heartbeats.published(bytes);
  }

  /** A key was revoked or changed: closes the sockets that it no longer allows. */
  onKeyChange(keyId: string): void {
    const holders = this.#keySessions.of(keyId).map((session) => {
      const held = this.#holderOf(session);
      if (held !== null && held !== 'REVOKED') this.#requests.closeUnseen(session, held);
      return held;
    });
    const holder = holders.find((held) => held !== null && held !== 'REVOKED');
    if (holder === undefined) return;
    for (const { socket } of this.#keySessions.overQuota(holder))
      socket.close(CloseCode.policyViolation, 'Over the quotas of its tier');
  }

  /** The quotas of the tiers have changed. */
  onQuotasChange(): void {
    for (const keyId of this.#keySessions.keyIds) this.onKeyChange(keyId);
  }

  /** Null before AUTH. Closes a socket whose key was revoked. */
  #holderOf({ credentials, socket }: Session): KeyHolder | 'REVOKED' | null {
    if (credentials === null) return null;
    const holder = this.#options.keys.verify(credentials.apiKey);
    if (typeof holder !== 'string') return holder;
    socket.close(CloseCode.policyViolation, 'API key revoked');
    return 'REVOKED';
  }

  #refuse(session: Session, problem: MessageProblem, id: string | undefined): void {
    const { socket, badMessages } = session;
    const tooMany = badMessages.reaches(this.#options.clock.monotonicMs());
    if (!session.sendError(problem, id)) return;
    if (tooMany) socket.close(CloseCode.policyViolation, 'Too many bad messages');
  }
}

/** At most 123 bytes (RFC 6455, 5.5). */
function resumeFrom(reason: string, { reader: { followed } }: Session): string {
  return followed.canResume ? `${reason}, resume from seq ${followed.completeSeq}` : reason;
}
