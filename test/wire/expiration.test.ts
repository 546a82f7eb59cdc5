import fc from 'fast-check';
import t from 'tap';
import {
  expirationRefusal,
  formatExpiration,
  listMaturities,
  parseExpiration,
  readNewExpiration,
} from '../../src/wire/expiration.js';

const DAY = 86_400;
/** Wednesday, noon UTC. */
const NOW = Date.UTC(2023, 10, 1, 12) / 1000;

t.test('names a day by its eighth hour', async (t) => {
  t.equal(parseExpiration('03NOV23'), Date.UTC(2023, 10, 3, 8) / 1000);
  t.equal(parseExpiration('29feb24'), Date.UTC(2024, 1, 29, 8) / 1000);
  t.equal(formatExpiration(Date.UTC(2023, 10, 3, 8) / 1000), '03NOV23');
});

t.test('knows what is no day', async (t) => {
  for (const text of [
    '31FEB27',
    '29FEB23',
    '00JAN24',
    '32JAN24',
    '01ABC24',
    '1JAN24',
    '01JAN2024',
    '101JAN24',
    '',
    '٠١JAN24',
  ]) {
    t.equal(parseExpiration(text), null, text);
    t.equal(expirationRefusal(text, NOW), `Invalid expiration date: ${text}`);
  }
});

t.test('reads back every day it writes', async (t) => {
  const days = fc.integer({ min: Date.UTC(2000, 0, 1) / 1000 / DAY, max: Date.UTC(2099, 11, 31) / 1000 / DAY });
  fc.assert(
    fc.property(days, (day) => parseExpiration(formatExpiration(day * DAY + 8 * 3600)) === day * DAY + 8 * 3600),
  );
  t.pass('every time');
});

t.test('refuses the past, from the very second of expiry on', async (t) => {
  const maturity = Date.UTC(2023, 10, 3, 8) / 1000;
  t.equal(expirationRefusal('03NOV23', maturity), 'Invalid expiration date: 03NOV23 is in the past');
  t.equal(expirationRefusal('03NOV23', maturity - 1), null);
  t.equal(expirationRefusal('01JAN23', NOW), 'Invalid expiration date: 01JAN23 is in the past');
});

t.test('refuses more than 365 days ahead before it looks at the weekday', async (t) => {
  t.equal(expirationRefusal('02NOV24', NOW), 'Invalid expiration date: 02NOV24 is more then in 1 year');
  const lastFriday = Date.UTC(2024, 9, 25, 8) / 1000;
  t.equal(expirationRefusal('25OCT24', lastFriday - 365 * DAY), null);
  t.match(expirationRefusal('25OCT24', lastFriday - 365 * DAY - 1), /is more then in 1 year$/);
});

t.test('takes any day less than three days ahead', async (t) => {
  t.equal(expirationRefusal('02NOV23', NOW), null);
  t.equal(expirationRefusal('04NOV23', NOW), null, 'a Saturday, 2 days and 20 hours ahead');
});

t.test('wants a Friday from three days on', async (t) => {
  const saturday = Date.UTC(2023, 10, 11, 8) / 1000;
  t.equal(expirationRefusal('11NOV23', NOW), '2023-11-11T00:00:00.000Z is not Friday!');
  t.equal(expirationRefusal('11NOV23', saturday - 3 * DAY), '2023-11-11T00:00:00.000Z is not Friday!');
  t.equal(expirationRefusal('11NOV23', saturday - 3 * DAY + 1), null);
  t.equal(expirationRefusal('10NOV23', NOW), null);
});

t.test('wants the last Friday of a month beyond 35 days', async (t) => {
  const friday = Date.UTC(2023, 11, 15, 8) / 1000;
  const text = '2023-12-15T00:00:00.000Z is not the last Friday of the month!';
  t.equal(expirationRefusal('15DEC23', NOW), text);
  t.equal(expirationRefusal('15DEC23', friday - 35 * DAY - 1), text);
  t.equal(expirationRefusal('15DEC23', friday - 35 * DAY), null);
  t.equal(expirationRefusal('29DEC23', NOW), null);
  t.match(expirationRefusal('24MAY24', NOW), /is not the last Friday/, 'the 31st is one as well');
  t.equal(expirationRefusal('31MAY24', NOW), null);
});

t.test('a new expiration is read as its maturity, or refused in the same words', async (t) => {
  t.strictSame(readNewExpiration('03NOV23', NOW), { ok: true, maturity: Date.UTC(2023, 10, 3, 8) / 1000 });
  for (const text of ['01ABC24', '01JAN23', '11NOV23']) {
    t.strictSame(readNewExpiration(text, NOW), { ok: false, refusal: expirationRefusal(text, NOW) });
  }
});

const at = (...date: [number, number, number, number?]): number => Date.UTC(...date) / 1000;

t.test(
  'lists today while it is an hour ahead, tomorrow, the day after, Fridays, and last Fridays of months',
  async (t) => {
    // A Tuesday.
    const noon = listMaturities(at(2026, 10, 24, 12));
    t.strictSame(noon.slice(0, 7), ['25NOV26', '26NOV26', '27NOV26', '04DEC26', '11DEC26', '18DEC26', '25DEC26']);
    t.strictSame(noon.slice(6, 9), ['25DEC26', '29JAN27', '26FEB27']);
    t.equal(noon.at(-1), '29OCT27', 'none is more than a year ahead');
    t.equal(listMaturities(at(2026, 10, 24, 6))[0], '24NOV26');
    t.equal(listMaturities(at(2026, 10, 24, 7))[0], '24NOV26');
    t.equal(listMaturities(at(2026, 10, 24, 7) + 1)[0], '25NOV26');
  },
);

t.test('lists no day twice, leaves none out, and none that has passed', async (t) => {
  t.strictSame(
    listMaturities(at(2027, 1, 28)).filter((text) => text === '26MAR27'),
    ['26MAR27'],
  );
  t.ok(listMaturities(at(2027, 0, 1)).includes('29JAN27'));
  // A Saturday.
  t.strictSame(listMaturities(at(2026, 10, 28, 12)).slice(0, 3), ['29NOV26', '30NOV26', '04DEC26']);
});

t.test('whatever the time, the list ascends and a new pool may have each of its dates', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: at(2024, 0, 1), max: at(2090, 0, 1) }), (now) => {
      const listed = listMaturities(now).map((text) => parseExpiration(text) ?? 0);
      const isRising = listed.every((maturity, i) => i === 0 || maturity > (listed[i - 1] ?? 0));
      const isAllowed = listed.every((maturity) => expirationRefusal(formatExpiration(maturity), now) === null);
      return isRising && isAllowed && listed.length >= 15 && listed.length <= 22;
    }),
  );
  t.pass('every time');
});
