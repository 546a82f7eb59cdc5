import { inTurn, rowOf } from '../contest.js';
import type { LoadDialogue } from '../load/load.js';
import type { Child } from '../processes/child.js';
import { withChildren } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { atLeast, type Row, type Scenario } from '../scenario.js';
import { FreshNumbers, type TellingDialogue } from '../servers/telling.js';
import { cpuSecondsOf, openBareUws, openLoad, openQuotebook, openWsLoop } from './served.js';

const PER_BURST = 16;

interface Size {
  readonly subscribers: number;
  readonly bursts: number;
  /** Longer than a burst takes any but the `ws` loop, so that each is a tick of its own. */
  readonly everyMs: number;
}

/** Of the bursts, for the `ws` loop: it takes eight times as long for each, and is measured by the second. */
const WS_SHARE = 1 / 4;

const sizes: readonly Size[] = [
  { subscribers: 100, bursts: 200, everyMs: 5 },
  { subscribers: 1000, bursts: 40, everyMs: 25 },
  { subscribers: 5000, bursts: 12, everyMs: 120 },
];

interface Contender {
  readonly server: Child<ServerDialogue & TellingDialogue>;
  readonly load: Child<LoadDialogue>;
  readonly apiKey: string | null;
  /** Of the bursts that it is measured by. */
  readonly share: number;
}

/** Every contender keeps its own crowd while the rounds go on: each has a load process to itself. */
async function rowsOf(
  { subscribers, bursts, everyMs }: Size,
  contenders: readonly Contender[],
  numbers: FreshNumbers,
  rounds: number,
): Promise<Row[]> {
  for (const { server, load, apiKey } of contenders) {
    const port = await server.ask('PORT', null);
    await load.ask('SUBSCRIBE', { port, count: subscribers, mixed: true, apiKey });
  }
  const [ours, again, uws, ws] = await inTurn(
    [0, 0.5, 1, 2],
    { rounds, warmUps: rounds > 1 ? 2 : 0 },
    async (which) => {
      const contender = contenders[Math.floor(which)];
      if (contender === undefined) throw new RangeError('There is no such contender');
      const { server, load, share } = contender;
      const own = Math.ceil(bursts * share);
      const count = own * PER_BURST;
      const expected = { first: numbers.take(count), count };
      const telling = { first: expected.first, bursts: own, perBurst: PER_BURST, everyMs };
      await server.ask('READY', telling);
      let messages = 0;
      const cpuSeconds = await cpuSecondsOf(server, async () => {
        await load.ask('EXPECT', expected);
        await server.ask('TELL', telling);
        const delivered = await load.ask('RECEIVED', null);
        if (delivered.wrong > 0) throw new Error(`${delivered.wrong} subscribers did not get what was told, in order`);
        messages = delivered.messages;
      });
      return messages / cpuSeconds;
    },
  );
  for (const { load } of contenders) await load.ask('SUBSCRIBE', null);
  const label = `${subscribers.toLocaleString('en-US')} subscribers`;
  const unit = 'deliveries per CPU s';
  return [
    rowOf(
      label,
      { ours: ours ?? [], again: again ?? [], theirs: uws ?? [] },
      'bare uWebSockets.js',
      atLeast(0.85),
      unit,
    ),
    rowOf(label, { ours: ours ?? [], again: again ?? [], theirs: ws ?? [] }, 'ws loop', atLeast(12), unit),
  ];
}

export const fanOut: Scenario = {
  name: 'fan-out',
  title: 'Fan-out',
  workload: `Bursts of 16 new quotes, each burst one tick, to plain subscribers: a quarter each follow all public quotes, everybody's (\`taker: *\`), one of 8 pools,
and one side of one. Ours takes the quotes from the chain's place in the service: applies, logs, syncs, encodes and finds their topics. The baselines
are handed ready bytes and ready lists of topics: a bare uWebSockets.js \`publish\`, and a loop over the sockets of the npm package \`ws\`. Every subscriber's
stream is compared with what it has to be, byte for byte: a message lost or out of order ends the run. Deliveries per CPU second of the server.`,
  async run(scale) {
    const isFull = scale === 'full';
    return withChildren(
      [openQuotebook(), openBareUws(), openWsLoop(), openLoad(), openLoad(), openLoad()] as const,
      async (quotebook, uws, ws, first, second, third) => {
        const contenders: Contender[] = [
          {
            server: quotebook,
            load: first,
            apiKey: await quotebook.ask('KEY', null),
            share: 1,
          },
          { server: uws, load: second, apiKey: null, share: 1 },
          { server: ws, load: third, apiKey: null, share: WS_SHARE },
        ];
        const numbers = new FreshNumbers();
        const rows: Row[] = [];
        for (const size of isFull ? sizes : [{ subscribers: 12, bursts: 3, everyMs: 1 }]) {
          rows.push(...(await rowsOf(size, contenders, numbers, isFull ? 3 : 1)));
        }
        return { rows };
      },
    );
  },
};
