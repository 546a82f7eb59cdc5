/** `SYNCING`: asked for, not whole yet. `LIVE`: whole, and following. `REFUSED`: the server would not have it; over. */
export type FollowState = 'WAITING' | 'SYNCING' | 'LIVE' | 'REFUSED' | 'CLOSED';

/**
 * What was wrong, and is put right: a message was missing; the book was another than the server's; the server had to
 * start anew.
 */
export type Healing = 'GAP' | 'HASH' | 'RESYNC';
