const DAY = 86_400;
const EIGHT_UTC = 8 * 3_600;

/**
 * Maturities that the factory accepts at `now` and for long after: the first Friday at least two days ahead, the one
 * two weeks later, and the first last-Friday-of-a-month beyond 35 days. Unix seconds, 08:00 UTC.
 */
export function devMaturities(now: number): [near: number, middle: number, far: number] {
  const near = fridayFrom(now + 2 * DAY);
  let far = fridayFrom(now + 35 * DAY + 1);
  while (!isLastFriday(far)) far += 7 * DAY;
  return [near, near + 14 * DAY, far];
}

/** First Friday, 08:00 UTC, not before `time`. */
export function fridayFrom(time: number): number {
  const day = Math.ceil((time - EIGHT_UTC) / DAY);
  // Day 0, 1 January 1970, was a Thursday.
  return (day + ((((1 - day) % 7) + 7) % 7)) * DAY + EIGHT_UTC;
}

function isLastFriday(friday: number): boolean {
  return monthOf(friday) !== monthOf(friday + 7 * DAY);
}

function monthOf(time: number): number {
  return new Date(time * 1000).getUTCMonth();
}
