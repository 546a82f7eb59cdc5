/**
 * Resolves when nobody who waited for a settled promise, one after the other, is left: in the same turn of the event
 * loop.
 */
export function endOfPromises(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}
