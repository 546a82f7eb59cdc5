/** Runs `task` for every item, at most `inFlight` of them at a time; results in the order of the items. */
export async function mapInFlight<T, R>(
  items: readonly T[],
  inFlight: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    // The workers share one iterator: each takes the next item that nobody has.
    for (const [index, item] of waiting) results[index] = await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, items.length) }, worker));
  return results;
}
