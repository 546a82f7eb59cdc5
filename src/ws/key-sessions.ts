import type { FeedChannel } from '../schema/feed-filters.js';
import type { SocketKeyHolder, SocketQuotas } from './ports.js';
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
  whyNotJoin(session: Session, { id, tier }: SocketKeyHolder): string | null {
    const others = this.#sessions.get(id);
    const { connections } = this.#quotas.of(tier);
    if (others === undefined || others.has(session) || others.size < connections) return null;
    this.#quotas.refused('connections', tier);
    return `Too many connections: at most ${connections} with one key`;
  }

  /** The socket is this key's from now on, and no other's. */
  join(session: Session, { id }: SocketKeyHolder, apiKey: string): void {
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
  whyNotFollow(session: Session, channel: FeedChannel, { id, tier }: SocketKeyHolder): string | null {
    if (session.follows(channel)) return null;
    const { channels } = this.#quotas.of(tier);
    const followed = this.of(id).reduce((sum, other) => sum + other.channels, 0);
    if (followed < channels) return null;
    this.#quotas.refused('channels', tier);
    return `Too many channels: at most ${channels} with one key`;
  }

  /** Sockets that the key may not have under this tier: the newest, as far as those before them use it up. */
  beyond({ id, tier }: SocketKeyHolder): Session[] {
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
}
