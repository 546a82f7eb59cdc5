import t from 'tap';
import { Quotas, type QuotaTable, type TierQuotas } from '../../src/quota/rate-limits.js';

const hour = 3600;
/** Refills so slowly that nothing comes back while a test runs. */
const slow: TierQuotas = {
  requestsPerSecond: 3,
  quotesPerMinute: 1 / hour,
  quoteBurst: 10,
  connections: 1,
  quotesPerDay: 1_000,
  gasPerDay: 1_000_000_000,
  channels: 1,
  messagesPerSecond: 2,
  rfqsPerMinute: 8 / hour,
  rowsPerSecond: 100,
  answerBytesPerSecond: 1_000,
  answersWaiting: 2,
};
const table: QuotaTable = { self: slow, free: slow, paid: { ...slow, requestsPerSecond: 5, quoteBurst: 100 } };
const ignore = (): void => undefined;
const free = { id: 'a', tier: 'free' } as const;

function headersOf(quotas: Quotas, quotes: boolean): Record<string, string> {
  const own: string[] = [];
  quotas.headers(free, quotes, own);
  return Object.fromEntries(own.flatMap((name, i) => (i % 2 === 0 ? [[name, own[i + 1] ?? '']] : [])));
}

t.test('a key has its burst at once, and then has to wait for no longer than it takes to refill', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  const waits = [1, 2, 3, 4].map(() => quotas.takeRequest(free));
  t.strictSame(waits.slice(0, 3), [0, 0, 0]);
  t.ok((waits[3] ?? 0) > 0 && (waits[3] ?? 0) <= 334, `waits ${waits[3]} ms for a third of a second's one request`);
});

t.test('keys do not use each other up', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  quotas.takeQuotes(free, 10);
  t.equal(quotas.takeQuotes({ id: 'b', tier: 'free' }, 10), 0);
});

t.test('quotes are taken all or none', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  t.equal(quotas.takeQuotes(free, 6), 0);
  t.ok(quotas.takeQuotes(free, 5) > 0);
  t.equal(quotas.takeQuotes(free, 4), 0, 'what was refused cost nothing');
});

t.test('more than the burst never fit', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  t.ok(quotas.takeQuotes(free, 11) > 0);
  t.equal(quotas.takeQuotes(free, 10), 0);
});

t.test('quotes come back by the minute', async (t) => {
  const quotas = new Quotas({ ...table, free: { ...slow, quotesPerMinute: 1 } }, 2, ignore);
  quotas.takeQuotes(free, 10);
  const waitMs = quotas.takeQuotes(free, 1);
  t.ok(waitMs > 30_000 && waitMs <= 60_000, `waits ${waitMs} ms for one quote of one a minute`);
});

t.test('a key that moves to another tier has the quotas of that tier', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  t.ok(quotas.takeQuotes(free, 11) > 0);
  t.equal(quotas.takeQuotes({ id: 'a', tier: 'paid' }, 100), 0);
});

t.test('what a key used that is forgotten counts no more', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  quotas.takeQuotes(free, 10);
  t.ok(quotas.takeQuotes(free, 1) > 0);
  quotas.forget(free.id);
  t.equal(quotas.takeQuotes(free, 10), 0);
});

t.test('other numbers hold from the moment they are adopted', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  quotas.takeQuotes(free, 10);
  quotas.adopt({ ...table, free: { ...slow, quoteBurst: 20 } });
  t.equal(quotas.takeQuotes(free, 20), 0);
});

t.test('headers say what the policy is and what is left of it', async (t) => {
  const quotas = new Quotas({ ...table, free: { ...slow, quotesPerMinute: 1 } }, 2, ignore);
  quotas.takeRequest(free);
  quotas.takeQuotes(free, 4);
  t.strictSame(headersOf(quotas, false), {
    'ratelimit-policy': '"requests";q=3;w=1',
    ratelimit: '"requests";r=2;t=1',
  });
  t.strictSame(headersOf(quotas, true), {
    'ratelimit-policy': '"requests";q=3;w=1, "quotes";q=1;w=60',
    ratelimit: '"requests";r=2;t=1, "quotes";r=6;t=60',
  });
});

t.test('what came back since is in the headers, too', async (t) => {
  const often = 1_000_000_000;
  const quotas = new Quotas(
    { ...table, free: { ...slow, requestsPerSecond: often, quotesPerMinute: often } },
    2,
    ignore,
  );
  for (let i = 0; i < 3; i++) quotas.takeRequest(free);
  quotas.takeQuotes(free, 10);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(headersOf(quotas, true).ratelimit, `"requests";r=${often};t=1, "quotes";r=10;t=60`);
});

t.test('reports each refusal with its resource and tier', async (t) => {
  const refusals: string[] = [];
  const quotas = new Quotas(table, 2, (quota, tier) => refusals.push(`${quota} ${tier}`));
  for (let i = 0; i < 3; i++) quotas.takeMessage({ id: 'b', tier: 'paid' });
  quotas.takeQuotes(free, 11);
  quotas.refused('channels', 'free');
  t.strictSame(refusals, ['messages paid', 'quotes free', 'channels free']);
});

t.test('rows and bytes are charged after they were written, and the key waits until it has paid', async (t) => {
  const quotas = new Quotas(table, 2, ignore);
  quotas.charge(free, 200, 0);
  t.equal(quotas.debtMs(free), 0, 'two seconds of rows at once');
  quotas.charge(free, 100, 0);
  const forRows = quotas.debtMs(free);
  t.ok(forRows > 500 && forRows <= 1_000, `waits ${forRows} ms for 100 rows of 100 in a second`);
  const other = { id: 'b', tier: 'free' } as const;
  t.equal(quotas.debtMs(other), 0, 'no other key waits');
  quotas.charge(other, 1, 5_000);
  const forBytes = quotas.debtMs(other);
  t.ok(forBytes > 2_500 && forBytes <= 3_000, `waits ${forBytes} ms for 3,000 bytes of 1,000 in a second`);
});

t.test('a key that used nothing for a while has no more than its burst for what it writes then', async (t) => {
  let nowMs = 0;
  t.intercept(performance, 'now', { value: () => nowMs });
  const quotas = new Quotas(table, 2, ignore);
  quotas.charge(free, 0, 0);
  nowMs = 60_000;
  quotas.charge(free, 300, 2_500);
  t.equal(quotas.debtMs(free), 1_000, '100 rows beyond the burst, of 100 in a second');
});
