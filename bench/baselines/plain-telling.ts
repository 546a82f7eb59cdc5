import { nowMicros, onSchedule, type Telling } from '../servers/telling.js';
import { followings, toldMessage, toldQuote } from '../workload/told-quotes.js';

/** Tells ready-made messages on schedule; `publish` is all that a server does about them. */
export async function tellPlainly(
  telling: Telling,
  publish: (topic: string, message: Buffer) => void,
): Promise<readonly number[]> {
  const count = telling.bursts * telling.perBurst;
  const ready = Array.from({ length: count }, (_, i) => {
    const quote = toldQuote(telling.first + i);
    const topics = followings.filter((following) => following.takes(quote)).map(({ name }) => name);
    return { message: toldMessage(quote), topics };
  });
  const toldAt: number[] = [];
  await onSchedule(telling, (n) => {
    for (const { message, topics } of ready.slice(n - telling.first, n - telling.first + telling.perBurst)) {
      toldAt.push(nowMicros());
      for (const topic of topics) publish(topic, message);
    }
  });
  return toldAt;
}
