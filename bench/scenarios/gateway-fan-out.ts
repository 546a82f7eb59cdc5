import { rowOf } from '../contest.js';
import { Child, withChildren } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { atLeast, type Scenario } from '../scenario.js';
import type { GatewayPlace } from '../servers/gateway.js';
import type { LeaderDialogue } from '../servers/leader.js';
import { natsUnavailable } from '../servers/nats-servers.js';
import { type Contender, DELIVERIES_UNIT, deliveryRates } from './deliveries.js';
import { openBareUws, openLoad } from './served.js';

export const openLeader = (): Child<LeaderDialogue> => new Child(new URL('../servers/leader.js', import.meta.url));
export const openGateway = (place: GatewayPlace): Child<ServerDialogue> =>
  new Child(new URL('../servers/gateway.js', import.meta.url), [JSON.stringify(place)], ['--expose-gc']);

export const gatewayFanOut: Scenario = {
  name: 'gateway-fan-out',
  title: "A gateway's fan-out",
  workload: `The events and subscribers of \`fan-out\`, at a gateway of a cluster. It follows the stream of committed records that
three NATS servers replicate and sync, checks their hash chain, applies them to its replica, encodes and finds the
topics. Another process leads and commits. Deliveries per CPU second of the gateway.`,
  async run(scale) {
    const isFull = scale === 'full';
    const skipped = await natsUnavailable(isFull);
    if (skipped !== null) return { rows: [], skipped };
    return withChildren([openLeader()] as const, async (leader) => {
      const place = await leader.ask('PLACE', { member: 'gateway-1' });
      return withChildren(
        [openGateway(place), openBareUws(), openLoad(), openLoad()] as const,
        async (gateway, uws, first, second) => {
          const apiKey = await leader.ask('KEY', null);
          const contenders: Contender[] = [
            { server: gateway, publisher: leader, load: first, apiKey, share: 1 },
            { server: uws, publisher: uws, load: second, apiKey: null, share: 1 },
          ];
          const all = await deliveryRates(contenders, isFull);
          const rows = all.map(({ label, again, rates: [ours = [], theirs = []] }) =>
            rowOf(label, { ours, again, theirs }, 'bare uWebSockets.js', atLeast(0.85), DELIVERIES_UNIT),
          );
          return { rows };
        },
      );
    });
  },
};
