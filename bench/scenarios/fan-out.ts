import { rowOf } from '../contest.js';
import { withChildren } from '../processes/child.js';
import { atLeast, type Scenario } from '../scenario.js';
import { type Contender, DELIVERIES_UNIT, deliveryRates } from './deliveries.js';
import { openBareUws, openLoad, openQuotebook, openWsLoop } from './served.js';

/** Of the bursts, for the `ws` loop: it takes eight times as long for each, and is measured by the second. */
const WS_SHARE = 1 / 4;

export const fanOut: Scenario = {
  name: 'fan-out',
  title: 'Fan-out',
  workload: `Bursts of 16 new quotes to plain subscribers: a quarter each follow all public quotes, all quotes (\`taker: *\`), one
of 8 pools, and one side of one. Ours applies, logs, syncs, encodes and finds the topics. The baselines get ready
bytes and topics: a bare uWebSockets.js \`publish\`, and a loop over the sockets of the npm package \`ws\`. Every
subscriber's stream is compared byte for byte. Deliveries per CPU second of the server.`,
  async run(scale) {
    return withChildren(
      [openQuotebook(), openBareUws(), openWsLoop(), openLoad(), openLoad(), openLoad()] as const,
      async (quotebook, uws, ws, first, second, third) => {
        const apiKey = await quotebook.ask('KEY', null);
        const contenders: Contender[] = [
          { server: quotebook, publisher: quotebook, load: first, apiKey, share: 1 },
          { server: uws, publisher: uws, load: second, apiKey: null, share: 1 },
          { server: ws, publisher: ws, load: third, apiKey: null, share: WS_SHARE },
        ];
        const all = await deliveryRates(contenders, scale === 'full');
        const goals = [0.75, 0.93, 0.96];
        const rows = all.flatMap(({ label, again, rates: [ours = [], ofUws = [], ofWs = []] }, i) => [
          rowOf(
            label,
            { ours, again, theirs: ofUws },
            'bare uWebSockets.js',
            atLeast(goals[i] ?? 0.96),
            DELIVERIES_UNIT,
          ),
          rowOf(label, { ours, again, theirs: ofWs }, 'ws loop', atLeast(12), DELIVERIES_UNIT),
        ]);
        return { rows };
      },
    );
  },
};
