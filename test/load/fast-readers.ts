import type { Socket } from 'node:net';
import { build } from 'hdr-histogram-js';
import { openRawFeed, pong } from './raw-feed.js';

/** Asked of this process, in this order. */
export type FastReadersTask =
  | { readonly open: { readonly port: number; readonly apiKey: string; readonly body: object; readonly count: number } }
  | { readonly measureMs: number };

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly samples: number;
  readonly stillOpen: number;
}

const SALT = Buffer.from('"salt":');
/** Microseconds since 1970 have so many digits until the year 2286. */
const DIGITS = 16;
const PONG_MS = 10_000;
const OPEN_AT_ONCE = 50;

const sockets: Socket[] = [];
let histogram: ReturnType<typeof build> | null = null;

/** The newest event of what came says when it was committed. */
function take(data: Buffer): void {
  if (histogram === null) return;
  const at = data.lastIndexOf(SALT) + SALT.length;
  if (at < SALT.length || at + DIGITS >= data.length) return;
  const committedUs = Number(data.toString('latin1', at, at + DIGITS));
  const nowUs = (performance.timeOrigin + performance.now()) * 1_000;
  histogram.recordValue(Math.max(1, Math.round(nowUs - committedUs)));
}

async function open({ port, apiKey, body, count }: Extract<FastReadersTask, { open: object }>['open']): Promise<void> {
  while (sockets.length < count) {
    const some = Array.from({ length: OPEN_AT_ONCE }, () => openRawFeed(port, apiKey, body));
    for (const socket of await Promise.all(some)) sockets.push(socket.on('data', take));
  }
  setInterval(() => {
    for (const socket of sockets) socket.write(pong);
  }, PONG_MS);
}

async function measure(durationMs: number): Promise<Latencies> {
  const recorded = build({ lowestDiscernibleValue: 1, highestTrackableValue: 60_000_000 });
  histogram = recorded;
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  histogram = null;
  const ms = (percentile: number): number => recorded.getValueAtPercentile(percentile) / 1_000;
  return {
    p50Ms: ms(50),
    p99Ms: ms(99),
    samples: recorded.totalCount,
    stillOpen: sockets.filter(({ destroyed }) => !destroyed).length,
  };
}

process.on('message', (task: FastReadersTask) => {
  const answer = 'open' in task ? open(task.open).then(() => 'open') : measure(task.measureMs);
  void answer.then((told) => process.send?.(told));
});
process.on('disconnect', () => process.exit());
