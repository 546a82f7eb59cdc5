import { inTurn, type Rates } from '../contest.js';
import type { LoadDialogue } from '../load/load.js';
import type { Child } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { FreshNumbers, type PublishDialogue, type PublishSchedule } from '../servers/publish-schedule.js';
import { cpuSecondsOf } from './served.js';

const PER_BURST = 16;

export interface CrowdSize {
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

/**
 * Published before anything is measured, to few: V8 compiles for some 25,000 events, a fifth of the CPU time of the first
 * thousands (measured). A server that has run for a minute is what is to be compared.
 */
const FIRST = { subscribers: 12, bursts: 1500, everyMs: 3 };
const TINY: CrowdSize = { subscribers: 12, bursts: 3, everyMs: 1, rounds: 1 };

const SIZES: readonly CrowdSize[] = [
  { subscribers: 100, bursts: 200, everyMs: 5, rounds: 3 },
  { subscribers: 1000, bursts: 40, everyMs: 25, rounds: 9 },
  { subscribers: 5000, bursts: 12, everyMs: 120, rounds: 3 },
];

/** A server whose deliveries are counted. */
export interface Contender {
  /** The process that is measured. */
  readonly server: Child<ServerDialogue>;
  /** The process that publishes: the server itself, or the leader that it follows. */
  readonly publisher: Child<PublishDialogue>;
  readonly load: Child<LoadDialogue>;
  readonly apiKey: string | null;
  /** Of the bursts that it is measured by. */
  readonly share: number;
}

/** Deliveries per CPU second of each contender in each round; `again`: the first one's a second time. */
export interface DeliveryRates {
  readonly label: string;
  readonly again: Rates;
  readonly rates: readonly Rates[];
}

export const DELIVERIES_UNIT = 'deliveries per CPU s';

/**
 * Measures the contenders side by side, with 100, 1,000 and 5,000 subscribers each. Every contender keeps its own crowd
 * while the rounds go on: each has a load process to itself.
 */
export async function deliveryRates(contenders: readonly Contender[], isFull: boolean): Promise<DeliveryRates[]> {
  const numbers = new FreshNumbers();
  await warmUp(contenders, isFull ? FIRST : TINY, numbers);
  const all: DeliveryRates[] = [];
  for (const size of isFull ? SIZES : [TINY]) all.push(await ratesAt(size, contenders, numbers));
  return all;
}

async function subscribe({ server, load, apiKey }: Contender, count: number): Promise<void> {
  const port = await server.ask('PORT', null);
  await load.ask('SUBSCRIBE', { port, count, mixed: true, apiKey });
}

/** Prepares the quotes that the contender publishes: its share of the bursts. */
async function makeReady(
  { publisher, share }: Contender,
  { bursts, everyMs }: Omit<CrowdSize, 'rounds'>,
  numbers: FreshNumbers,
) {
  const own = Math.ceil(bursts * share);
  const schedule: PublishSchedule = { first: numbers.take(own * PER_BURST), bursts: own, perBurst: PER_BURST, everyMs };
  await publisher.ask('READY', schedule);
  return schedule;
}

/** Resolves to the number of messages, once every subscriber has its own. */
async function deliver({ publisher, load }: Contender, schedule: PublishSchedule): Promise<number> {
  await load.ask('EXPECT', { first: schedule.first, count: schedule.bursts * schedule.perBurst });
  await publisher.ask('PUBLISH', schedule);
  const { wrong, messages } = await load.ask('RECEIVED', null);
  if (wrong > 0) throw new Error(`${wrong} subscribers did not get the published messages in order`);
  return messages;
}

async function warmUp(
  contenders: readonly Contender[],
  size: Omit<CrowdSize, 'rounds'>,
  numbers: FreshNumbers,
): Promise<void> {
  await Promise.all(
    contenders.map(async (contender) => {
      await subscribe(contender, size.subscribers);
      await deliver(contender, await makeReady(contender, size, numbers));
    }),
  );
}

async function ratesAt(
  size: CrowdSize,
  contenders: readonly Contender[],
  numbers: FreshNumbers,
): Promise<DeliveryRates> {
  const { subscribers, rounds } = size;
  for (const contender of contenders) await subscribe(contender, subscribers);
  const [first, ...others] = contenders;
  if (first === undefined) throw new RangeError('There are no contenders');
  const warmUps = rounds > 1 ? 1 : 0;
  const [ours = [], again = [], ...theirs] = await inTurn(
    [first, first, ...others],
    { rounds, warmUps },
    async (contender) => {
      const schedule = await makeReady(contender, size, numbers);
      // Which collects what making them left behind, and sweeps.
      await contender.server.ask('USAGE', null);
      let messages = 0;
      const cpuSeconds = await cpuSecondsOf(contender.server, async () => {
        messages = await deliver(contender, schedule);
      });
      return messages / cpuSeconds;
    },
  );
  for (const { load } of contenders) await load.ask('SUBSCRIBE', null);
  return { label: `${subscribers.toLocaleString('en-US')} subscribers`, again, rates: [ours, ...theirs] };
}
