/**
 * Measures `count` rounds, and as many again, up to `most` times in all, while `isBorne` is false: other things that a
 * machine does make few rounds doubtful. It is asked after each `count` rounds and not after each one, since what is
 * borne in half of them would be borne by chance at some of so many looks.
 */
export async function measureRounds(
  { count, most }: { readonly count: number; readonly most: number },
  round: () => unknown,
  isBorne: () => boolean,
): Promise<void> {
  for (let done = 0; done < most * count; done += 1) {
    if (done > 0 && done % count === 0 && isBorne()) return;
    await round();
  }
}
