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

/** Both results, or the first one's failure, or the other's. Nothing is under way any more when it is settled. */
export async function bothToTheirEnd<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}
