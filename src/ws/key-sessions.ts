import type { KeyHolder } from '../auth/key-store.js';
import type { FeedChannel } from '../wire/socket.js';
import type { SocketQuotas } from './ports.js';
import type { MessageProblem } from './messages.js';
import type { Session } from './session.js';

/** Which sockets each key has, oldest first, and what its tier lets them have together. */
export class KeySessions {
  readonly #quotas: SocketQuotas;
  readonly #sessions = new Map<string, Set<Session>>();

  constructor(quotas: SocketQuotas) {
    this.#quotas = quotas;
  }

  get keyIds(): string[] {
    return [...this.#sessions.keys()];
  }

  of(keyId: string): Session[] {
    return [...(this.#sessions.get(keyId) ?? [])];
  }

  /** Null, or why the key may not have this socket, too. */
  validateJoin(session: Session, { id, tier }: KeyHolder): MessageProblem | null {
    const others = this.of(id);
    const { connections, channels } = this.#quotas.of(tier);
    if (others.includes(session)) return null;
    if (others.length >= connections) {
      this.#quotas.refused('connections', tier);
      return { code: 'too_many_connections', message: `Too many connections: at most ${connections} with one key` };
    }
    // A socket of another key brings along what it follows.
    return session.channels === 0 || this.#channelsOf(id) + session.channels <= channels
      ? null
      : this.#tooManyChannels(channels, tier);
  }

  /** The socket is this key's from now on, and no other's. */
  join(session: Session, { id }: KeyHolder, apiKey: string): void {
    this.leave(session);
    session.credentials = { apiKey, keyId: id };
    this.#sessions.set(id, (this.#sessions.get(id) ?? new Set()).add(session));
  }

  leave(session: Session): void {
    if (session.credentials === null) return;
    const { keyId } = session.credentials;
    const sessions = this.#sessions.get(keyId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#sessions.delete(keyId);
  }

  /** Null, or why the socket may not follow one channel more. */
  validateFollow(session: Session, channel: FeedChannel, { id, tier }: KeyHolder): MessageProblem | null {
    if (session.follows(channel)) return null;
    const { channels } = this.#quotas.of(tier);
    return this.#channelsOf(id) < channels ? null : this.#tooManyChannels(channels, tier);
  }

  /** Sockets that the key may not have under this tier: the newest, as far as those before them use it up. */
  overQuota({ id, tier }: KeyHolder): Session[] {
    const { connections, channels } = this.#quotas.of(tier);
    let kept = 0;
    let followed = 0;
    return this.of(id).filter((session) => {
      if (kept === connections || followed + session.channels > channels) return true;
      kept += 1;
      followed += session.channels;
      return false;
    });
  }

  #channelsOf(keyId: string): number {
    return this.of(keyId).reduce((sum, session) => sum + session.channels, 0);
  }

  #tooManyChannels(channels: number, tier: KeyHolder['tier']): MessageProblem {
    this.#quotas.refused('channels', tier);
    return { code: 'too_many_channels', message: `Too many channels: at most ${channels} with one key` };
  }
}
