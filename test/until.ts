/** Between two looks at the condition, milliseconds. */
const POLL_MS = 5;
/** Long, since a busy machine may be slow: it turns a hang into an error that names the condition. */
const DEADLINE_MS = 60_000;

/** Resolves once the condition holds, while real I/O and timers go on; rejects after `deadlineMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  deadlineMs: number = DEADLINE_MS,
): Promise<void> {
  await untilAnswer(async () => condition(), Boolean, deadlineMs, condition);
}

/** Asks until the answer is a wanted one, and resolves to it; rejects after `deadlineMs`. */
export async function untilAnswer<T>(
  ask: () => Promise<T>,
  isWanted: (answer: T) => boolean,
  deadlineMs: number = DEADLINE_MS,
  condition: (...args: never[]) => unknown = isWanted,
): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (performance.now() > endMs) throw new Error(`Not so within ${deadlineMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
