import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { QuoteDigest, QuoteSignature } from '../../../src/auth/quote-signature.js';
import { loadSecp256k1 } from '../../../src/auth/secp256k1.js';
import type { IdentifiedQuote } from '../../../src/chain/contracts/quote-types.js';
import { DEV_ACCOUNTS } from '../../../src/chain/dev/dev-client.js';
import { QuoteDryRun } from '../../../src/chain/publish/dry-run.js';
import { QuoteRules } from '../../../src/chain/publish/quote-validation.js';
import type { QuoteToPublish } from '../../../src/wire/answers.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import type { QuoteError } from '../../../src/wire/orderbook.js';
import { POOL, START } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';
import { type Offer, type SignedOffer, signOffer } from '../sign-quote.js';

const CHAIN_ID = 421_613;
const NO_POOL = 'Failed to fetch pool address';
const LATE = 'Quote deadline is invalid (cannot be less than 10 sec)';
const secp256k1 = await loadSecp256k1();
const [maker] = DEV_ACCOUNTS;

function signed(terms: Partial<Offer> = {}): Promise<SignedOffer> {
  if (maker === undefined) throw new Error('there is an account');
  const offer = { pool: POOL, price: 1n, size: 10n, isBuy: false, deadline: START + 1_000 };
  return signOffer(maker, CHAIN_ID, { ...offer, ...terms });
}

const posted = (quote: SignedOffer): QuoteToPublish => ({ ...quote, poolKey: quote.pool.poolKey });
/** Of a pool that cannot be. */
const homeless = (quote: SignedOffer): QuoteToPublish => ({
  ...posted(quote),
  poolKey: { ...POOL.poolKey, strike: 0n },
});

/** Over a chain that says this of each quote it is asked about. */
function newDryRun(
  errorOf: (quote: IdentifiedQuote) => QuoteError | null = () => null,
  checksPerTurn = 100,
  nowSeconds = START,
) {
  const clock = new ManualClock(START * 1_000);
  const asked: Hex[][] = [];
  const digests = new QuoteDigest(CHAIN_ID, 10);
  const signatures = new QuoteSignature(digests, secp256k1);
  const dryRun = new QuoteDryRun({
    orders: { get: () => undefined },
    pools: { resolve: (keys) => Promise.resolve(keys.map(({ strike }) => (strike === 0n ? null : POOL))) },
    digests,
    signatures,
    rules: new QuoteRules(signatures, () => nowSeconds, { minQuoteLifeSeconds: 10 }),
    states: {
      async read(quotes) {
        asked.push(quotes.map(({ quoteId }) => quoteId));
        return quotes.map((quote) => ({ state: { fillableSize: quote.size, reason: null }, error: errorOf(quote) }));
      },
    },
    clock,
    checksPerTurn,
  });
  return { dryRun, asked, clock };
}

t.test('the chain is asked of what it can judge alone, and its reason comes last', async (t) => {
  const good = await signed();
  const late = await signed({ deadline: START });
  const { r, s, v } = good.signature;
  const bad: QuoteToPublish[] = [
    homeless(good),
    { ...posted(good), salt: 1, signature: { r, s, v: v === 27 ? 28 : 27 } },
    posted(await signed({ size: 0n })),
    posted(await signed({ price: 10n ** 18n + 1n })),
  ];
  const { dryRun, asked } = newDryRun(({ quoteId }) =>
    quoteId === late.quoteId ? 'InsufficientCollateralBalance' : null,
  );
  t.match(await dryRun.run([...bad, posted(late), posted(good)]), {
    items: [
      { outcome: 'failed', reasons: [NO_POOL] },
      { outcome: 'failed', reasons: ['InvalidQuoteOBSignature'] },
      { outcome: 'failed', reasons: ['InvalidAssetUpdate'] },
      { outcome: 'failed', reasons: ['OutOfBoundsPrice'] },
      { outcome: 'failed', reasons: [LATE, 'InsufficientCollateralBalance'] },
      { outcome: 'created', reasons: [] },
    ],
  });
  t.strictSame(asked, [[late.quoteId, good.quoteId]]);
});

t.test('where there is nothing to judge the chain is not asked', async (t) => {
  const { dryRun, asked } = newDryRun();
  t.match(await dryRun.run([homeless(await signed({ deadline: START }))]), {
    items: [{ outcome: 'failed', reasons: [LATE, NO_POOL] }],
  });
  t.strictSame(asked, []);
});

t.test('past its maturity a pool takes no quote, from that very second on, and is not asked', async (t) => {
  const quote = posted(await signed({ deadline: POOL.poolKey.maturity + 1_000 }));
  const { maturity } = POOL.poolKey;
  for (const [now, reasons] of [
    [maturity - 1, []],
    [maturity, ['QuoteOBExpired']],
  ] as const) {
    const { dryRun, asked } = newDryRun(undefined, undefined, now);
    t.match(await dryRun.run([quote]), { items: [{ reasons }] });
    t.equal(asked.length, 1 - reasons.length);
  }
});

t.test('where the factory refuses a key that has matured the quote has expired, too', async (t) => {
  const { maturity } = POOL.poolKey;
  const quote = homeless(await signed({ deadline: maturity + 1_000 }));
  for (const [now, reason] of [
    [maturity - 1, NO_POOL],
    [maturity, 'QuoteOBExpired'],
  ] as const) {
    const { dryRun } = newDryRun(undefined, undefined, now);
    t.match(await dryRun.run([quote]), { items: [{ outcome: 'failed', reasons: [reason] }] });
  }
});

t.test('a quote that fails would fail a second time, too', async (t) => {
  const quote = posted(await signed());
  const failed = { outcome: 'failed', reasons: ['QuoteOBCancelled'] };
  const { dryRun } = newDryRun(() => 'QuoteOBCancelled');
  t.match(await dryRun.run([quote, quote]), { items: [failed, failed] });
});

t.test("an unreachable chain is no reason against a quote; a bug does not count as the chain's failure", async (t) => {
  const quote = posted(await signed());
  const silent = newDryRun(() => {
    throw new RpcUnreachable('gone');
  });
  t.strictSame(await silent.dryRun.run([quote]), { type: 'CHAIN_UNREACHABLE' });
  const bug = new Error('a bug');
  const broken = newDryRun(() => {
    throw bug;
  });
  await t.rejects(broken.dryRun.run([quote]), bug);
});

t.test('others get their turn within a large request', async (t) => {
  const quotes = await Promise.all([1, 2, 3, 4, 5].map(async () => posted(await signed())));
  const { dryRun, asked, clock } = newDryRun(undefined, 2);
  const dryRunAnswer = dryRun.run(quotes);
  for (let turns = 0; turns < 2; turns++) {
    await turn();
    t.strictSame([clock.pending, asked], [1, []], `after ${turns + 1} parts of it`);
    clock.advance(0);
  }
  t.match(await dryRunAnswer, { items: quotes.map(() => ({ outcome: 'created' })) });
});
