import type { ChainSide } from './chain/chain-side-options.js';
import type { ChainHealth } from './chain/follow/chain-health.js';
import type { Clock } from './engine/ports.js';
import type { Heartbeat } from './wire/feed-messages.js';

/**
 * Both chains for a heartbeat: the newest block of each, how old it is by this machine's clock, and why it is stale.
 */
export function chainsJson({ health }: Pick<ChainSide, 'health'>, clock: Clock): Heartbeat['chains'] {
  const of = (chain: ChainHealth): Heartbeat['chains']['stream'] => {
    const { head, stale } = chain.status();
    if (head === null) return { block: null, lateMs: null, stale };
    const { number: blockNumber, hash: blockHash, timestamp } = head;
    const lateMs = Math.max(0, Math.round(clock.wallMs()) - timestamp * 1000);
    return { block: { blockNumber, blockHash, timestamp }, lateMs, stale };
  };
  return { settlement: of(health.settlement), stream: of(health.stream) };
}
