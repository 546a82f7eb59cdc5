import type { FeedChannel } from '../wire/socket.js';

/** Answers to a client's messages. Existing clients compare these texts letter for letter. */
export const texts = {
  authorized: 'Session authorized. Subscriptions enabled.',
  keyNotFound: 'NOT_FOUND',
  notAuthorized: 'Not Authorized',
  rateLimited: 'RATELIMITED',
  subscribed: (keys: readonly string[]) => `Subscribed to ${keys.join(',')} channel.`,
  unsubscribed: (channel: FeedChannel) => `Unsubscribed from ${channel} channel`,
  rfqPublished: (key: string) => `Published RFQ to ${key} Redis channel`,
} as const;

export function info(message: string) {
  return { type: 'INFO', body: null, message } as const;
}

export function error(message: string) {
  return { type: 'ERROR', body: null, message } as const;
}
