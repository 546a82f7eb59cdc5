import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { chainId } from '../feed/feed-fixture.js';
import { POOL } from '../engine/samples.js';
import { goodKey } from '../ws/hub-fixture.js';
import type { FastReadersTask, Latencies } from './fast-readers.js';
import type { FeedServerReport, FeedServerTask } from './feed-server.js';
import { openRawFeed } from './raw-feed.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
const FAST = 1_000;
const STOPPED = 200;
const ROUNDS = isLong ? 5 : 3;
const ROUND_MS = isLong ? 10_000 : 2_000;
const OPEN_AT_ONCE = 50;
/** Unread at the start of a round, so that within it every stopped reader passes what it may leave unread. */
const FILLED_BYTES = limits.wsBufferedBytes - (96 << 10);
const SLOW_BYTES_PER_SECOND = 10_000;
/** A difference below this tells of the scheduler of a shared machine, not of the service. */
const NOISE_MS = isLong ? 3 : 60;
/** What a process may grow by besides: its heap, as its collector pleases. */
const HEAP_SLACK_BYTES = 256 << 20;

t.setTimeout(isLong ? 600_000 : 180_000);

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

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

await t.test(`${STOPPED} readers that stop, and one at 10 KB/s, among ${FAST} fast ones`, async (t) => {
  const server = new Child<FeedServerTask>('./feed-server.js');
  const fastReaders = new Child<FastReadersTask>('./fast-readers.js');
  t.teardown(() => Promise.all([server.end(), fastReaders.end()]));
  const { port } = await server.next<{ port: number }>();
  const body = { chainId, poolAddress: POOL.poolAddress };
  await fastReaders.ask({ open: { port, apiKey: goodKey, body, count: FAST } });
  await fastReaders.ask({ measureMs: ROUND_MS / 2 });
  const report = () => server.ask<FeedServerReport>({ report: true });
  const { backend, rssBytes: atStart } = await report();

  const calm: Latencies[] = [];
  const beside: Latencies[] = [];
  const during: FeedServerReport[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    calm.push(await fastReaders.ask<Latencies>({ measureMs: ROUND_MS }));
    const before = await report();
    const [slow, ...stopped] = await open(port, 1 + STOPPED);
    if (slow === undefined) throw new Error('they are open');
    throttle(slow);
    await server.ask({ fill: { besides: FAST + 1, bytes: FILLED_BYTES } });
    beside.push(await fastReaders.ask<Latencies>({ measureMs: ROUND_MS }));
    // Where a busy machine was slow to publish, the last of them pass the mark after the round.
    while ((await report()).tooSlow < before.tooSlow + STOPPED) await pause(100);
    during.push(await report());
    for (const socket of [slow, ...stopped]) socket.destroy();
    while ((await report()).openSockets > FAST) await pause(20);
  }

  t.comment(`${backend}; ${calm[0]?.samples} and ${beside[0]?.samples} samples in the first rounds`);
  const of = (rounds: readonly Latencies[], which: 'p50Ms' | 'p99Ms') => median(rounds.map((round) => round[which]));
  // In rounds of two seconds the closing of all who stopped is in every p99: they show that nobody waits for them, no more.
  for (const [which, most] of [
    ['p50Ms', isLong ? 1.2 : 3],
    ['p99Ms', isLong ? 2 : 10],
  ] as const) {
    const [without, withThem] = [of(calm, which), of(beside, which)];
    const said = `${which} ${without.toFixed(2)} without, ${withThem.toFixed(2)} beside them`;
    t.ok(withThem <= Math.max(most * without, without + NOISE_MS), `${said}: at most ${most} times`);
    t.comment(said);
  }
  for (const { mostUnread, rssBytes } of during) {
    t.ok(mostUnread < 1.5 * limits.wsBufferedBytes, `${mib(mostUnread)} waited for one of them at most`);
    const bound = atStart + STOPPED * 1.5 * limits.wsBufferedBytes + HEAP_SLACK_BYTES;
    t.ok(rssBytes < bound, `${mib(rssBytes)} of memory in all, ${mib(atStart)} at the start`);
    t.comment(`${mib(mostUnread)} unread at most, ${mib(rssBytes)} of memory, ${mib(atStart)} at the start`);
  }
  t.ok(
    [...calm, ...beside].every(({ stillOpen }) => stillOpen === FAST),
    'every fast reader stayed',
  );
});
