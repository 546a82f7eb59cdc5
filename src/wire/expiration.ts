/**
 * Option expirations as they are written ('03NOV23': the day, 08:00 UTC) and the dates a new pool may have. The rules
 * are PoolFactory's (`PoolFactory__OptionMaturity*`, `PoolFactory__OptionExpired`), the texts are those that clients of
 * the service compare, letter for letter.
 */
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const;

const HOUR = 3600;
const DAY = 24 * HOUR;
const FRIDAY = 5;

/** Unix seconds of 08:00 UTC on that day, or null when there is no such day. Months in any letter case, years 20YY. */
export function parseExpiration(text: string): number | null {
  const match = /^([0-9]{2})([A-Za-z]{3})([0-9]{2})$/.exec(text);
  if (match === null) return null;
  const [, day = '', name = '', year = ''] = match;
  const month = MONTHS.findIndex((known) => known === name.toUpperCase());
  if (month < 0) return null;
  const date = new Date(Date.UTC(2000 + Number(year), month, Number(day), 8));
  // A day that its month does not have runs over into another month.
  if (date.getUTCMonth() !== month) return null;
  return date.getTime() / 1000;
}

/** `maturity`: Unix seconds, in the years 2000 to 2099. */
export function formatExpiration(maturity: number): string {
  const date = new Date(maturity * 1000);
  const day = String(date.getUTCDate()).padStart(2, '0');
  const year = String(date.getUTCFullYear() % 100).padStart(2, '0');
  return `${day}${MONTHS[date.getUTCMonth()] ?? ''}${year}`;
}

/** Why a new pool cannot expire at `text`, or null when it can. `now`: Unix seconds. */
export function expirationRefusal(text: string, now: number): string | null {
  const maturity = parseExpiration(text);
  if (maturity === null) return `Invalid expiration date: ${text}`;
  if (maturity <= now) return `Invalid expiration date: ${text} is in the past`;
  const ahead = maturity - now;
  if (ahead > 365 * DAY) return `Invalid expiration date: ${text} is more then in 1 year`;
  if (ahead < 3 * DAY) return null;
  if (!isFriday(maturity)) return `${isoDay(maturity)} is not Friday!`;
  if (ahead > 35 * DAY && !isLastOfMonth(maturity)) return `${isoDay(maturity)} is not the last Friday of the month!`;
  return null;
}

/** The maturity that a new pool with this expiration would have, or why it can have none. `now`: Unix seconds. */
export function readNewExpiration(
  text: string,
  now: number,
): { readonly ok: true; readonly maturity: number } | { readonly ok: false; readonly refusal: string } {
  const maturity = parseExpiration(text);
  const refusal = expirationRefusal(text, now);
  if (maturity === null || refusal !== null)
    return { ok: false, refusal: refusal ?? `Invalid expiration date: ${text}` };
  return { ok: true, maturity };
}

/**
 * The expirations that are usual for a new pool, ascending: today while 08:00 UTC is an hour ahead or more, tomorrow, the
 * day after, every later Friday less than 30 days ahead, and from then on the last Friday of each month. `now`: Unix
 * seconds.
 */
export function listMaturities(now: number): string[] {
  const today = now - (now % DAY) + 8 * HOUR;
  const listed: number[] = [];
  if (today - now >= HOUR) listed.push(today);
  listed.push(today + DAY, today + 2 * DAY);
  for (let maturity = today + 3 * DAY; maturity - now <= 365 * DAY; maturity += DAY) {
    if (!isFriday(maturity)) continue;
    if (maturity - now < 30 * DAY || isLastOfMonth(maturity)) listed.push(maturity);
  }
  return listed.map(formatExpiration).filter((text) => expirationRefusal(text, now) === null);
}

function isFriday(maturity: number): boolean {
  return new Date(maturity * 1000).getUTCDay() === FRIDAY;
}

/** Whether the same weekday a week later lies in another month. */
function isLastOfMonth(maturity: number): boolean {
  return new Date((maturity + 7 * DAY) * 1000).getUTCMonth() !== new Date(maturity * 1000).getUTCMonth();
}

/** The texts name the day by its first instant. */
function isoDay(maturity: number): string {
  return new Date((maturity - 8 * HOUR) * 1000).toISOString();
}
