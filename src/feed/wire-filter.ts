import { type Hex, ZERO_ADDRESS } from '../engine/quote.js';
import type { FilterV2Message } from '../wire/socket.js';
import type { LevelView } from './level-window.js';
import type { Channel, Filter } from './topics.js';

export type WireFilter = Pick<FilterV2Message['body'], 'poolAddress' | 'side' | 'size' | 'provider' | 'taker'>;

/** What a FILTER or a GET /events asks for. */
export function filterOf(channel: Channel, body: WireFilter): Filter {
  // A request has no maker yet, so that nothing could be compared with `provider` there.
  const provider = channel === 'RFQ' ? null : lowerCase(body.provider);
  return {
    poolAddress: lowerCase(body.poolAddress),
    side: body.side ?? null,
    taker: body.taker === '*' ? '*' : lowerCase(body.taker),
    narrowing: { provider, minSize: BigInt(body.size ?? 0) },
  };
}

/** The view that ORDERBOOK is asked for. */
export function viewOf({ poolAddress, taker }: { poolAddress: Hex; taker?: Hex }, depth: number): LevelView {
  const own = lowerCase(taker);
  return { poolAddress: lowerCase(poolAddress), taker: own === ZERO_ADDRESS ? null : own, depth };
}

function lowerCase(address: Hex): Hex;
function lowerCase(address: Hex | undefined): Hex | null;
function lowerCase(address: Hex | undefined): Hex | null {
  return address === undefined ? null : (address.toLowerCase() as Hex);
}
