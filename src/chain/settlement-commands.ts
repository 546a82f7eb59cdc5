import type { Command } from '../engine/command.js';
import { positionAt } from './followed-book.js';
import { originOf, type SettlementEvent } from './settlement-events.js';

/** The command that a settlement event is to the engine. `deployedAt`: timestamps of the blocks that deployed pools. */
export function settlementCommand(event: SettlementEvent, deployedAt: ReadonlyMap<number, number>): Command {
  const { log } = event;
  const origin = originOf(log);
  const position = positionAt('settlement', log);
  switch (event.type) {
    case 'FILL':
      return { type: 'FILL_QUOTE', quoteId: event.quoteId, size: event.size, origin, position };
    case 'CANCEL':
      return { type: 'CANCEL_QUOTE', quoteId: event.quoteId, origin, position };
    case 'POOL': {
      const time = deployedAt.get(log.blockNumber);
      if (time === undefined) throw new Error('The time of a deployment was not asked for');
      return { type: 'DEPLOY_POOL', pool: event.pool, deployedAt: time, origin, position };
    }
  }
}
