import fc from 'fast-check';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import { signQuote } from '../e2e/maker.js';

/** JSON texts that have broken parsers, prototypes and number types before. */
const HOSTILE = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1e999',
  'NaN',
  '9007199254740993',
  '1.5',
  '1E400',
  '0x10',
  '""',
  '"0"',
  '"-1"',
  '"1e18"',
  '"٣"',
  '"\\ud800"',
  '"\\u0000"',
  '"0x"',
  '"0xzz"',
  '"__proto__"',
  '"constructor"',
  '[]',
  '{}',
  '[[[]]]',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"toString":1,"valueOf":1}',
  `"${'9'.repeat(79)}"`,
  `"0x${'f'.repeat(64)}"`,
  `"0x${'f'.repeat(40)}"`,
  `"${'x'.repeat(5_000)}"`,
  '['.repeat(2_000),
  `${'['.repeat(500)}${']'.repeat(500)}`,
  `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  '"',
  ',',
  '',
];
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);

/** A text of JSON in which some of the values of `good` are replaced by hostile ones, or some bytes by others. */
function spoiled(good: unknown): fc.Arbitrary<string> {
  const places: string[] = [];
  JSON.stringify(good, function (key, value: unknown) {
    places.push(key);
    return value;
  });
  const text = JSON.stringify(good);
  const values = fc.tuple(fc.constantFrom(...places), hostile).map(([place, value]) => {
    const mark = '"\u{1f4a3}"';
    const marked = JSON.stringify(good, (key, each: unknown) => (key === place ? '\u{1f4a3}' : each));
    return marked.replaceAll(mark, value);
  });
  const bytes = fc
    .tuple(fc.nat(text.length), fc.nat(20), fc.string({ unit: 'binary', maxLength: 20 }))
    .map(([at, cut, inserted]) => text.slice(0, at) + inserted + text.slice(at + cut));
  return fc.oneof({ weight: 3, arbitrary: values }, { weight: 1, arbitrary: bytes }, { weight: 1, arbitrary: hostile });
}

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
}

/** Requests to every route, and texts of WebSocket messages, that are all more or less wrong. */
export async function hostileInputs(chain: LocalChain): Promise<{
  readonly requests: fc.Arbitrary<HostileRequest>;
  readonly messages: fc.Arbitrary<string>;
}> {
  const [, maker] = chain.accounts;
  const [pool] = chain.pools;
  if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
  const chainId = String(chain.chainId);
  // Past its deadline, so that a quote whose spoiling hurts nothing is refused too.
  const quote = await signQuote(maker.privateKey, pool, { deadline: 1_700_000_000 });
  const option = { base: 'WETH', quote: 'USDC', expiration: '1JAN23', strike: 1600, type: 'C' };

  const query = fc
    .array(
      fc.tuple(
        fc.constantFrom('poolAddress', 'size', 'side', 'chainId', 'provider', 'taker', 'quoteIds[]', 'limit', 'x'),
        fc.oneof(
          fc.constantFrom(pool.poolAddress, '1000000000000000000', 'ask', chainId, '%', '%00', '%ff', '[]', '', '..'),
          fc.constantFrom(...HOSTILE).map((text) => encodeURIComponent(text.replace('\\ud800', '')).slice(0, 2_000)),
        ),
      ),
      { maxLength: 12 },
    )
    .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
  const path = fc.constantFrom(
    '/quotes',
    '/rfq_quotes',
    '/orders',
    '/pools',
    '/vaults/quote',
    '/health',
    '/ready',
    '/%2e',
    '/x',
  );
  const reads = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'DELETE', 'PUT'),
    path: fc.tuple(path, query).map(([at, text]) => `${at}?${text}`),
    body: fc.constant(null),
  });
  const writes = fc
    .oneof(
      spoiled([quote]).map((body) => ({ path: '/quotes', body })),
      spoiled([option]).map((body) => ({ path: '/pools', body })),
      spoiled([option]).map((body) => ({ path: '/pool/settle', body })),
    )
    .map((write) => ({ method: 'POST', ...write }));

  const filter = { type: 'FILTER', channel: 'QUOTES', body: { chainId, poolAddress: pool.poolAddress, side: 'ask' } };
  const book = { type: 'FILTER', channel: 'ORDERBOOK', body: { chainId, poolAddress: pool.poolAddress, depth: 5 } };
  const rfq = {
    type: 'RFQ',
    body: { poolKey: quote.poolKey, side: 'ask', chainId, size: '-1', taker: quote.provider },
  };
  const messages = fc.oneof(
    spoiled(filter),
    spoiled(book),
    spoiled(rfq),
    spoiled({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null }),
    spoiled({ type: 'AUTH', apiKey: 'x', body: null }),
  );
  return { requests: fc.oneof(reads, writes), messages };
}
