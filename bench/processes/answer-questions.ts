import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Dialogue, Question, ServerDialogue } from './dialogue.js';

export type Answers<D extends Dialogue<D>> = {
  readonly [Name in keyof D]: (given: D[Name]['given']) => D[Name]['answer'] | Promise<D[Name]['answer']>;
};

/** Has this process answer its parent, until the parent ends it or goes away. `close` is called before it ends. */
export function answerQuestions<D extends Dialogue<D>>(answers: Answers<D>, close: () => void | Promise<void>): void {
  process.on('message', ({ id, name, given }: Question) => {
    void answered(id, () => answers[name as keyof D](given)).then((answer) => process.send?.(answer));
  });
  let isClosing = false;
  const end = (): void => {
    if (isClosing) return;
    isClosing = true;
    void Promise.resolve(close()).finally(() => process.exit(0));
  };
  process.on('SIGTERM', end);
  process.on('disconnect', end);
}

async function answered(id: number, work: () => unknown): Promise<Answer> {
  try {
    return { id, value: await work() };
  } catch (error) {
    return { id, failure: (error as Error).stack ?? String(error) };
  }
}

/** The histogram's own timer, in milliseconds. What it shows is the time from one firing to the next, this included. */
const RESOLUTION_MS = 1;

/** For so long V8 goes on sweeping what a collection left, in its own threads: measured are 20 to 35 ms. */
const SWEEPING_MS = 50;

/** The answers that every server gives. */
export function serverAnswers(port: number): Answers<ServerDialogue> {
  let delays: IntervalHistogram | null = null;
  return {
    PORT: () => port,
    CPU() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    async USAGE() {
      global.gc?.();
      await pause(SWEEPING_MS);
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed, external } = process.memoryUsage();
      return { cpuMicros: user + system, rssBytes: rss, heldBytes: heapUsed + external };
    },
    WATCH_TURNS() {
      delays?.disable();
      delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      delays.enable();
      return null;
    },
    LONGEST_TURN() {
      delays?.disable();
      return Math.max(0, (delays?.max ?? 0) / 1e6 - RESOLUTION_MS);
    },
  };
}
