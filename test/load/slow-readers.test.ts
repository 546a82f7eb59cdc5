import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { median } from '../../bench/contest.js';
import { limits } from '../../src/config/limits.js';
import { chainId } from '../feed/feed-fixture.js';
import { POOL } from '../engine/samples.js';
import { goodKey } from '../ws/gateway-fixture.js';
import type { FastReadersTask, Latencies } from './fast-readers.js';
import type { FeedServerReport, FeedServerTask } from './feed-server.js';
import { openRawFeed } from './raw-feed.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
const FAST = 1_000;
const STOPPED = 200;
const ROUNDS = 5;
/** Of so many rounds the medians tell where other things that the machine does make those of five doubtful. */
const MOST_ROUNDS = 15;
/** A hundred commits and more: the p99 of fewer is the slowest of them, whatever it was slow for. */
const ROUND_MS = isLong ? 10_000 : 5_000;
const WARM_UP_MS = 2_000;
/** The effect of the others that fast readers may feel: so many times the latency that they have without them. */
const MOST_TIMES = { p50Ms: 1.2, p99Ms: 2 } as const;
const OPEN_AT_ONCE = 50;
/**
 * Unread at the start of a round by who stopped first and who stopped last. A round publishes about 100 KB a second, so
 * that one after the other passes what it may leave unread, the last one shortly before the round ends.
 */
const MOST_FILLED_BYTES = limits.wsBufferedBytes - (16 << 10);
const LEAST_FILLED_BYTES = Math.max(64 << 10, MOST_FILLED_BYTES - 70 * ROUND_MS);
const SLOW_BYTES_PER_SECOND = 10_000;
/** A difference below this tells of the scheduler of a shared machine, not of the service. */
const NOISE_MS = 3;
/** Growth of a process besides: its heap, as its collector pleases. */
const HEAP_SLACK_BYTES = 256 << 20;

t.setTimeout(isLong ? 1_200_000 : 540_000);

interface Round {
  readonly calm: Latencies;
  readonly beside: Latencies;
  readonly after: FeedServerReport;
}

class Child<Task extends object> {
  readonly #process: ChildProcess;

  constructor(file: string) {
    this.#process = fork(new URL(file, import.meta.url));
  }

  async ask<Answer>(task: Task): Promise<Answer> {
    this.#process.send(task);
    return this.next();
  }

  async next<Answer>(): Promise<Answer> {
    const [answer] = (await once(this.#process, 'message')) as [Answer];
    return answer;
  }

  async end(): Promise<void> {
    this.#process.disconnect();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}

/** Reads so many bytes a second, and not one more. */
function throttle(socket: Socket): void {
  socket.pause();
  const reading = setInterval(() => void socket.read(Math.min(SLOW_BYTES_PER_SECOND / 10, socket.readableLength)), 100);
  socket.once('close', () => clearInterval(reading));
}

async function open(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(OPEN_AT_ONCE, count - sockets.length) }, async () => {
      const socket = await openRawFeed(port, goodKey, { chainId });
      return socket.pause();
    });
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

await t.test(`${STOPPED} readers that stop, and one at 10 KB/s, among ${FAST} fast ones`, async (t) => {
  const server = new Child<FeedServerTask>('./feed-server.js');
  const fastReaders = new Child<FastReadersTask>('./fast-readers.js');
  t.teardown(() => Promise.all([server.end(), fastReaders.end()]));
  const { port } = await server.next<{ port: number }>();
  const body = { chainId, poolAddress: POOL.poolAddress };
  await fastReaders.ask({ open: { port, apiKey: goodKey, body, count: FAST } });
  await fastReaders.ask({ measureMs: WARM_UP_MS });
  const report = () => server.ask<FeedServerReport>({ report: true });
  const { backend, rssBytes: atStart } = await report();

  /** One measurement without them and one beside them, which ends when all who stopped were closed. */
  const round = async (durationMs: number): Promise<Round> => {
    const calm = await fastReaders.ask<Latencies>({ measureMs: durationMs });
    const before = await report();
    const [slow, ...stopped] = await open(port, 1 + STOPPED);
    if (slow === undefined) throw new Error('they are open');
    throttle(slow);
    await server.ask({ fill: { besides: FAST + 1, from: LEAST_FILLED_BYTES, to: MOST_FILLED_BYTES } });
    const beside = await fastReaders.ask<Latencies>({ measureMs: durationMs });
    // Where a busy machine was slow to publish, the last of them pass the mark after the round.
    while ((await report()).tooSlow < before.tooSlow + STOPPED) await pause(100);
    const after = await report();
    for (const socket of [slow, ...stopped]) socket.destroy();
    while ((await report()).openSockets > FAST) await pause(20);
    return { calm, beside, after };
  };
  await round(WARM_UP_MS);
  const rounds: Round[] = [];
  /** Each round against the calm right before it, so that what else the machine does falls on both. */
  const felt = (which: 'p50Ms' | 'p99Ms') => {
    const times = median(rounds.map(({ calm, beside }) => beside[which] / calm[which]));
    const moreMs = median(rounds.map(({ calm, beside }) => beside[which] - calm[which]));
    return { times, isBorne: times <= MOST_TIMES[which] || moreMs <= NOISE_MS };
  };
  const isBorne = (): boolean => felt('p50Ms').isBorne && felt('p99Ms').isBorne;
  while (rounds.length < ROUNDS || (!isBorne() && rounds.length < MOST_ROUNDS)) rounds.push(await round(ROUND_MS));

  t.comment(`${backend}; ${rounds.map(({ calm, beside }) => calm.samples + beside.samples).join(', ')} samples`);
  for (const which of ['p50Ms', 'p99Ms'] as const) {
    const each = rounds
      .map(({ calm, beside }) => `${calm[which].toFixed(1)} and ${beside[which].toFixed(1)}`)
      .join(', ');
    const { times } = felt(which);
    const said = `${which} ${times.toFixed(2)} times as long beside them, at most ${MOST_TIMES[which]}; without and with them: ${each}`;
    t.ok(felt(which).isBorne, said);
    t.comment(said);
  }
  for (const { mostUnread, rssBytes } of rounds.map(({ after }) => after)) {
    t.ok(mostUnread < 1.5 * limits.wsBufferedBytes, `${mib(mostUnread)} waited for one of them at most`);
    const bound = atStart + STOPPED * 1.5 * limits.wsBufferedBytes + HEAP_SLACK_BYTES;
    t.ok(rssBytes < bound, `${mib(rssBytes)} of memory in all, ${mib(atStart)} at the start`);
    t.comment(`${mib(mostUnread)} unread at most, ${mib(rssBytes)} of memory, ${mib(atStart)} at the start`);
  }
  t.ok(
    rounds.every(({ beside }) => beside.stillOpen === FAST),
    'every fast reader stayed',
  );
});
