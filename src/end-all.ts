/**
 * Calls them one after another, the last first. One that fails keeps none of the others from its end: the first failure
 * is thrown when all have been called.
 */
export async function endAll(ends: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of [...ends].reverse()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
