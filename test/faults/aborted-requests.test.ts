import t from 'tap';
import { signQuote, ONE } from '../e2e/maker.js';
import { optionOf, queryOf } from '../e2e/wire-option.js';
import { head, RawConnection } from '../net/raw-connection.js';
import { SeededRandom, seedOf } from '../simulation/seeded-random.js';
import { attackerAddress, isLong, Siege } from './siege.js';

const ABORTS = isLong ? 100_000 : 5_000;
const AT_ONCE = 50;
/** Published for real, some of which are aborted while their transaction is under way. */
const QUOTES = isLong ? 500 : 50;

const seed = seedOf(t);
t.setTimeout(isLong ? 3_600_000 : 240_000);

await t.test('clients that leave in the middle', async (t) => {
  const siege = await Siege.lay(t);
  const { apiKey } = siege.service;
  const [, maker] = siege.chain.accounts;
  const [pool] = siege.chain.pools;
  if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
  const post = (body: string): string =>
    head('POST /quotes HTTP/1.1', 'Host: x', `x-apikey: ${apiKey}`, `Content-Length: ${Buffer.byteLength(body)}`) +
    body;

  const stale = await signQuote(maker.privateKey, pool, { deadline: 1_700_000_000 });
  // It has to ask the chain, so that who asks can leave meanwhile.
  const vaultQuote = `/vaults/quote?${queryOf(optionOf(siege.chain, pool), { size: '1', direction: 'buy' })}`;
  t.equal((await siege.rest.get(vaultQuote)).status, 200);
  const requests = [
    post(JSON.stringify(Array.from({ length: 50 }, () => stale))),
    head('GET /orders?chainId=421613 HTTP/1.1', 'Host: x', `x-apikey: ${apiKey}`),
    head('GET /pools HTTP/1.1', 'Host: x', `x-apikey: ${apiKey}`),
    head(`GET ${vaultQuote} HTTP/1.1`, 'Host: x', `x-apikey: ${apiKey}`),
  ];

  /** Sends all of a request or its first bytes, and resets the connection at once or a little later. */
  async function abort(i: number): Promise<void> {
    const request = requests[i % requests.length] ?? '';
    const connection = await RawConnection.open(siege.port, '127.0.0.1', attackerAddress(i % AT_ONCE));
    // Of its own: in which order those at once come here is chance.
    const random = new SeededRandom(seed + i);
    await connection.send(random.chance(0.5) ? request : request.slice(0, random.between(1, request.length - 1)));
    if (random.chance(0.5)) await new Promise((resolve) => setImmediate(resolve));
    connection.reset();
    await connection.closed;
  }
  const aborts = async (count: number): Promise<void> => {
    for (let start = 0; start < count; start += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => abort(start + i)));
    }
  };

  await t.test(`${ABORTS} aborts change nothing, and leave nothing behind`, async (t) => {
    const book = await siege.book();
    await siege.staysFlat(t, () => aborts(ABORTS / 2));
    t.equal(await siege.book(), book, 'the book is what it was');
    t.ok(siege.service.isRunning, 'the service lives');
  });

  await t.test('an aborted publication is there wholly, or not at all, and never twice', async (t) => {
    const quotes = await Promise.all(
      Array.from({ length: QUOTES }, (_, i) => signQuote(maker.privateKey, pool, { size: ONE / 1_000n + BigInt(i) })),
    );
    const random = new SeededRandom(seed);
    for (const quote of quotes) {
      const connection = await RawConnection.open(siege.port);
      await connection.send(post(JSON.stringify([quote])));
      await new Promise((resolve) => setTimeout(resolve, random.below(20)));
      connection.reset();
    }
    // Whatever became of it: sent again it is created now, or known already.
    const { status, body } = await siege.rest.post('/quotes', quotes);
    const { created, failed, exists } = body as unknown as Record<'created' | 'failed' | 'exists', unknown[]>;
    t.ok(status === 200 || status === 201);
    t.strictSame([failed.length, created.length + exists.length], [0, QUOTES]);
    t.comment(`${exists.length} of ${QUOTES} were published although nobody waited for the answer`);
    const shown = JSON.parse(await siege.book()) as { validQuotes: { quoteId: string; size: string }[] };
    const sizes = new Set(quotes.map(({ size }) => size));
    const ours = shown.validQuotes.filter(({ size }) => sizes.has(size));
    t.strictSame([ours.length, new Set(ours.map(({ quoteId }) => quoteId)).size], [QUOTES, QUOTES]);
  });
});
