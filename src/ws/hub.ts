import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { NetSocket, SocketHandlers, UpgradeDecision } from '../net/net.js';
import type { AuthMessage, FilterMessage, UnsubscribeMessage } from '../schema/socket.js';
import { readFrame, readMessage, type RfqMessage } from './messages.js';
import type { RfqPorts, SocketKeys, SocketLimits } from './ports.js';
import { POLICY_VIOLATION, error, info, texts } from './replies.js';
import { Session } from './session.js';
import type { TopicIndex } from '../feed/topic-index.js';
import { filterKeys, type Filter } from '../feed/topics.js';

export interface HubOptions {
  /** The settlement chain's, the only one that filters and requests may name. */
  readonly chainId: string;
  /** Shared with the publisher. */
  readonly topics: TopicIndex;
  readonly keys: SocketKeys;
  readonly rfqs: RfqPorts;
  readonly clock: Clock;
  readonly limits: SocketLimits;
  /** A port failed where it may not; the client is told that its message was not carried out. */
  readonly onFault: (fault: unknown) => void;
}

/** Why a message was not carried out; null: it was, and has its answer. */
type Refusal = string | null;

/** Holds the conversation with each socket: who it is, what it wants to hear, what it asks of makers. */
export class Hub implements SocketHandlers {
  readonly #options: HubOptions;
  readonly #sessions = new Map<number, Session>();
  readonly #byKeyId = new Map<string, Set<Session>>();

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Everyone may connect, and then has to say who he is. */
  upgrade(): UpgradeDecision {
    return { accept: true, protocol: '' };
  }

  open(socket: NetSocket): void {
    const { topics, limits, rfqs, chainId, clock } = this.#options;
    const session = new Session(socket, topics, limits, rfqs, chainId);
    this.#sessions.set(socket.id, session);
    session.cancelDeadline = clock.after(limits.wsAuthDeadlineMs, () => {
      socket.close(POLICY_VIOLATION, `No AUTH within ${limits.wsAuthDeadlineMs / 1000} seconds`);
    });
  }

  message(socket: NetSocket, data: Uint8Array, isBinary: boolean): void {
    const session = this.#sessions.get(socket.id);
    if (session === undefined || socket.closed || this.#revoked(session)) return;
    const refusal = this.#carryOut(session, data, isBinary);
    if (refusal !== null) this.#refuse(session, refusal);
  }

  close(socket: NetSocket): void {
    const session = this.#sessions.get(socket.id);
    if (session === undefined) return;
    this.#sessions.delete(socket.id);
    session.end();
    this.#forgetKey(session);
  }

  /** A key was revoked or changed: its sockets are closed unless it still holds. */
  onKeyChange(keyId: string): void {
    for (const session of [...(this.#byKeyId.get(keyId) ?? [])]) this.#revoked(session);
  }

  /** True when the socket's key no longer holds; then it is being closed. */
  #revoked(session: Session): boolean {
    const { credentials, socket } = session;
    if (credentials === null || typeof this.#options.keys.verify(credentials.apiKey) !== 'string') return false;
    socket.close(POLICY_VIOLATION, 'API key revoked');
    return true;
  }

  #carryOut(session: Session, data: Uint8Array, isBinary: boolean): Refusal {
    const raw = readFrame(data, isBinary);
    // To a stranger nothing but AUTH is explained.
    if (session.credentials === null && !(raw.ok && raw.value.type === 'AUTH')) return texts.notAuthorized;
    if (!raw.ok) return raw.problem;
    const reading = readMessage(raw.value);
    if (!reading.ok) return reading.problem;
    const message = reading.value;
    switch (message.type) {
      case 'AUTH':
        return this.#auth(session, message);
      case 'FILTER':
        return this.#filter(session, message);
      case 'UNSUBSCRIBE':
        return this.#unsubscribe(session, message);
      case 'RFQ':
        return this.#rfq(session, message);
    }
  }

  /** A bad key changes nothing: who was authorised stays so. A good one takes the place of the one before. */
  #auth(session: Session, { apiKey }: AuthMessage): Refusal {
    const key = this.#options.keys.verify(apiKey);
    if (typeof key === 'string') return texts.keyNotFound;
    session.cancelDeadline?.();
    this.#forgetKey(session);
    session.credentials = { apiKey, keyId: key.id };
    const sessions = this.#byKeyId.get(key.id);
    if (sessions === undefined) this.#byKeyId.set(key.id, new Set([session]));
    else sessions.add(session);
    session.socket.send(info(texts.authorized), false);
    return null;
  }

  #filter(session: Session, { channel, body }: FilterMessage): Refusal {
    const { chainId, clock, limits } = this.#options;
    if (body.chainId !== chainId) return this.#otherChain(body.chainId);
    if (session.subscribes.reaches(clock.monotonicMs())) {
      return `Too many FILTERs: at most ${limits.wsSubscribes} in ${limits.wsSubscribeWindowMs / 1000} seconds`;
    }
    const filter = filterOf(channel, body);
    const keys = filterKeys(channel, chainId, filter);
    // Answered before it is done, in one tick: what was published under the old filter goes out ahead of the answer,
    // and everything committed from now on comes after it.
    const sent = session.socket.send(info(texts.subscribed(keys)), false);
    if (sent) session.subscribe(channel, keys, filter.narrowing);
    return null;
  }

  #unsubscribe(session: Session, { channel }: UnsubscribeMessage): Refusal {
    const sent = session.socket.send(info(texts.unsubscribed(channel)), false);
    if (sent) session.unsubscribe(channel);
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
        if ('key' in outcome) session.socket.send(info(texts.rfqPublished(outcome.key)), false);
        else session.socket.send(error(outcome.problem), false);
      },
      (fault: unknown) => {
        onFault(fault);
        if (!session.socket.closed) session.socket.send(error('RFQ not published: internal error'), false);
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
    if (!socket.send(error(problem), false)) return;
    if (tooMany) socket.close(POLICY_VIOLATION, 'Too many bad messages');
  }

  #forgetKey(session: Session): void {
    if (session.credentials === null) return;
    const { keyId } = session.credentials;
    const sessions = this.#byKeyId.get(keyId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#byKeyId.delete(keyId);
  }
}

function filterOf(channel: FilterMessage['channel'], body: FilterMessage['body']): Filter {
  // A request has no maker yet, so that nothing could be compared with `provider` there.
  const provider = channel === 'RFQ' ? null : lowerCase(body.provider);
  return {
    poolAddress: lowerCase(body.poolAddress),
    side: body.side ?? null,
    taker: body.taker === '*' ? '*' : lowerCase(body.taker),
    narrowing: { provider, minSize: BigInt(body.size ?? 0) },
  };
}

function lowerCase(address: Hex | undefined): Hex | null {
  return address === undefined ? null : (address.toLowerCase() as Hex);
}
