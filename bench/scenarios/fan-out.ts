import { inTurn, rowOf } from '../contest.js';
import type { LoadDialogue } from '../load/load.js';
import type { Child } from '../processes/child.js';
import { withChildren } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { atLeast, type Row, type Scenario } from '../scenario.js';
import { FreshNumbers, type Telling, type TellingDialogue } from '../servers/telling.js';
import { cpuSecondsOf, openBareUws, openLoad, openQuotebook, openWsLoop } from './served.js';

const PER_BURST = 16;

interface Size {
  readonly subscribers: number;
  readonly bursts: number;
  /** Longer than a burst takes any but the `ws` loop, so that each is a tick of its own. */
  readonly everyMs: number;
  /**
   * Rounds that count. What the kernel takes for the same bytes differs by a fifth from one to the next where each takes a
   * third of a second; with few subscribers it differs less, and with many a round is longer.
   */
  readonly rounds: number;
}

/** Of the bursts, for the `ws` loop: it takes eight times as long for each, and is measured by the second. */
const WS_SHARE = 1 / 4;

/**
 * Told before anything is measured, to few: V8 compiles for some 25,000 events, a fifth of the CPU time of the first
 * thousands (measured). A server that has run for a minute is what is to be compared.
 */
const FIRST = { subscribers: 12, bursts: 1500, everyMs: 3 };

const sizes: readonly Size[] = [
  { subscribers: 100, bursts: 200, everyMs: 5, rounds: 3 },
  { subscribers: 1000, bursts: 40, everyMs: 25, rounds: 9 },
  { subscribers: 5000, bursts: 12, everyMs: 120, rounds: 3 },
];

interface Contender {
  readonly server: Child<ServerDialogue & TellingDialogue>;
  readonly load: Child<LoadDialogue>;
  readonly apiKey: string | null;
  /** Of the bursts that it is measured by. */
  readonly share: number;
}

async function subscribe({ server, load, apiKey }: Contender, count: number): Promise<void> {
  const port = await server.ask('PORT', null);
  await load.ask('SUBSCRIBE', { port, count, mixed: true, apiKey });
}

/** Prepares the quotes that the contender publishes: its share of the bursts. */
async function makeReady(
  { server, share }: Contender,
  { bursts, everyMs }: Omit<Size, 'rounds'>,
  numbers: FreshNumbers,
) {
  const own = Math.ceil(bursts * share);
  const telling: Telling = { first: numbers.take(own * PER_BURST), bursts: own, perBurst: PER_BURST, everyMs };
  await server.ask('READY', telling);
  return telling;
}

/** Resolves to the number of messages, once every subscriber has its own. */
async function deliver({ server, load }: Contender, telling: Telling): Promise<number> {
  await load.ask('EXPECT', { first: telling.first, count: telling.bursts * telling.perBurst });
  await server.ask('TELL', telling);
  const { wrong, messages } = await load.ask('RECEIVED', null);
  if (wrong > 0) throw new Error(`${wrong} subscribers did not get the published messages in order`);
  return messages;
}

async function warmUp(
  contenders: readonly Contender[],
  size: Omit<Size, 'rounds'>,
  numbers: FreshNumbers,
): Promise<void> {
  await Promise.all(
    contenders.map(async (contender) => {
      await subscribe(contender, size.subscribers);
      await deliver(contender, await makeReady(contender, size, numbers));
    }),
  );
}

/** Every contender keeps its own crowd while the rounds go on: each has a load process to itself. */
async function rowsOf(size: Size, contenders: readonly Contender[], numbers: FreshNumbers): Promise<Row[]> {
  const { subscribers, rounds } = size;
  for (const contender of contenders) await subscribe(contender, subscribers);
  const [ours, again, uws, ws] = await inTurn(
    [0, 0.5, 1, 2],
    { rounds, warmUps: rounds > 1 ? 1 : 0 },
    async (which) => {
      const contender = contenders[Math.floor(which)];
      if (contender === undefined) throw new RangeError('There is no such contender');
      const telling = await makeReady(contender, size, numbers);
      // Which collects what making them left behind, and sweeps.
      await contender.server.ask('USAGE', null);
      let messages = 0;
      const cpuSeconds = await cpuSecondsOf(contender.server, async () => {
        messages = await deliver(contender, telling);
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
  workload: `Bursts of 16 new quotes to plain subscribers: a quarter each follow all public quotes, all quotes (\`taker: *\`), one
of 8 pools, and one side of one. Ours applies, logs, syncs, encodes and finds the topics. The baselines get ready
bytes and topics: a bare uWebSockets.js \`publish\`, and a loop over the sockets of the npm package \`ws\`. Every
subscriber's stream is compared byte for byte. Deliveries per CPU second of the server.`,
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
        const tiny = { subscribers: 12, bursts: 3, everyMs: 1, rounds: 1 };
        await warmUp(contenders, isFull ? FIRST : tiny, numbers);
        for (const size of isFull ? sizes : [tiny]) {
          rows.push(...(await rowsOf(size, contenders, numbers)));
        }
        return { rows };
      },
    );
  },
};
