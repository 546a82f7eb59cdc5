import t from 'tap';
import type { Hex } from 'viem';
import type { Offer, SentQuote } from '../../../src/client/trading/quote-ledger.js';
import { QuotingDesk, type QuoteTarget } from '../../../src/client/trading/quoting-desk.js';
import { ONE, POOL, TAKER } from './traded-quotes.js';

const options = { lifeSeconds: 60, rfqLifeSeconds: 30, graceSeconds: 15, finalityBlocks: 3, slackSeconds: 30 };
const START = 1_800_000_000;
const ask = (price: bigint, size = 2n * ONE): QuoteTarget => ({ ask: { price, size } });
const plenty = (nowSeconds = START) => ({ nowSeconds, quotes: 100 });

let ids = 0;
const signed = (offer: Offer): SentQuote => ({ ...offer, quoteId: `0x${(++ids).toString(16).padStart(64, '0')}` });

/** Posts all that the desk decides, and the service publishes it. */
function post(desk: QuotingDesk, nowSeconds = START): SentQuote[] {
  const quotes = desk.decide(plenty(nowSeconds)).offers.map(signed);
  for (const quote of quotes) {
    if (!desk.admit(quote)) throw new Error('it was not admitted');
    desk.ledger.published(quote.quoteId);
  }
  return quotes;
}

function look(desk: QuotingDesk, head: number, nowSeconds: number, filled: readonly [Hex, bigint][] = []): void {
  desk.ledger.look({ head, finalSeconds: nowSeconds, filled: new Map(filled) }, nowSeconds);
}

t.test('what a side lacks is offered once', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [quote] = post(desk);
  t.match(quote, { side: 'ask', taker: null, price: ONE / 10n, size: 2n * ONE });
  t.ok((quote?.deadline ?? 0) >= START + 30 && (quote?.deadline ?? 0) <= START + 90);
  t.strictSame(post(desk), []);
});

t.test('a filled part is offered again only when no reorg can remove the fill', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [{ quoteId } = { quoteId: '0x' as Hex }] = post(desk);
  desk.ledger.changed(quoteId, 10);
  t.strictSame(desk.ledger.due(12), []);
  t.strictSame(post(desk), []);
  t.equal(desk.ledger.due(13).length, 1);
  look(desk, 13, START, [[quoteId, ONE]]);
  t.match(post(desk), [{ size: ONE }]);
});

t.test('a gap of less than a quarter is not worth a quote', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [{ quoteId } = { quoteId: '0x' as Hex }] = post(desk);
  desk.ledger.changed(quoteId, 1);
  look(desk, 4, START, [[quoteId, ONE / 3n]]);
  t.strictSame(post(desk), []);
});

t.test('a quote without an answer counts, and is posted again under its id', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [quote] = desk.decide(plenty()).offers.map(signed);
  if (quote === undefined) throw new Error('nothing was offered');
  desk.admit(quote);
  t.strictSame(desk.decide(plenty()).reposts, [], 'not while the request is under way');
  desk.ledger.unanswered(quote.quoteId);
  t.match(desk.decide(plenty()), { offers: [], reposts: [quote.quoteId] });
  desk.ledger.sent(quote);
  desk.ledger.refused(quote.quoteId);
  t.equal(desk.ledger.mayFill(POOL, 'ask'), 2n * ONE, 'the first request may have published it');
});

t.test('a refused quote does not count', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [quote] = desk.decide(plenty()).offers.map(signed);
  if (quote === undefined) throw new Error('nothing was offered');
  desk.admit(quote);
  desk.ledger.refused(quote.quoteId);
  t.equal(desk.ledger.mayFill(POOL, 'ask'), 0n);
});

t.test('at a new price quotes better for takers are cancelled at once, others if they live long', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [{ quoteId, deadline } = { quoteId: '0x' as Hex, deadline: 0 }] = post(desk);
  desk.target(POOL, ask(ONE / 5n));
  t.strictSame([...desk.decide(plenty(deadline - 1)).cancels], [[POOL, [quoteId]]]);
  desk.target(POOL, ask(ONE / 20n));
  t.strictSame([...desk.decide(plenty(deadline - 16)).cancels], [[POOL, [quoteId]]]);
  t.strictSame([...desk.decide(plenty(deadline - 15)).cancels], []);
  t.strictSame(desk.decide(plenty(deadline - 15)).offers, [], 'and until it ends there is no room');
});

t.test('a cancel that a reorg removed is sent again', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [{ quoteId } = { quoteId: '0x' as Hex }] = post(desk);
  desk.target(POOL, null);
  t.strictSame([...desk.decide(plenty()).cancels], [[POOL, [quoteId]]]);
  desk.ledger.cancelling(quoteId, true);
  desk.ledger.changed(quoteId, 10);
  t.strictSame([...desk.decide(plenty()).cancels], []);
  look(desk, 13, START, [[quoteId, 0n]]);
  t.strictSame([...desk.decide(plenty()).cancels], [[POOL, [quoteId]]]);
  desk.ledger.changed(quoteId, 14);
  look(desk, 17, START, [[quoteId, 2n ** 256n - 1n]]);
  t.equal(desk.ledger.size, 0);
});

t.test('a smaller target cancels what is too much', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  post(desk);
  desk.target(POOL, ask(ONE / 10n, ONE));
  t.equal([...desk.decide(plenty()).cancels.values()].flat().length, 1);
  t.strictSame(desk.decide(plenty()).offers, []);
});

t.test('requests get private quotes out of what is kept for them', async (t) => {
  const desk = new QuotingDesk(options);
  const rfq = { price: ONE / 11n, size: ONE / 2n };
  desk.target(POOL, { ask: { price: ONE / 10n, size: 2n * ONE, rfq } });
  const asked = { poolAddress: POOL, side: 'ask', size: ONE, taker: TAKER, atSeconds: START } as const;
  desk.request(asked);
  desk.request(asked);
  desk.request({ ...asked, side: 'bid' });
  t.match(post(desk), [
    { taker: null, size: (3n * ONE) / 2n },
    { taker: TAKER, price: ONE / 11n, size: ONE / 2n },
  ]);
  desk.request({ ...asked, atSeconds: START - 6 });
  t.strictSame(post(desk), [], 'nothing is left, and the taker of an old request has gone');
});

t.test('a request waits a few seconds for what was filled to be there again', async (t) => {
  const rfq = { price: ONE / 11n, size: ONE / 2n };
  const asked = { poolAddress: POOL, side: 'ask', size: ONE, taker: TAKER, atSeconds: START } as const;
  for (const [waited, answers] of [
    [5, 1],
    [6, 0],
  ] as const) {
    const desk = new QuotingDesk(options);
    desk.target(POOL, { ask: { price: ONE / 10n, size: 2n * ONE, rfq } });
    desk.request(asked);
    const [, { quoteId } = { quoteId: '0x' as Hex }] = post(desk);
    desk.ledger.changed(quoteId, 10);
    desk.request(asked);
    t.strictSame(post(desk), [], 'the fill may still be undone');
    look(desk, 13, START, [[quoteId, ONE / 2n]]);
    t.equal(post(desk, START + waited).filter(({ taker }) => taker === TAKER).length, answers, `${waited} s`);
    t.strictSame(post(desk, START + waited), [], 'once');
  }
});

t.test('an offer that no longer fits is not admitted', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  const [quote] = desk.decide(plenty()).offers.map(signed);
  if (quote === undefined) throw new Error('nothing was offered');
  desk.ledger.found(signed({ ...quote, size: 1n }), 0);
  t.notOk(desk.admit(quote));
  t.equal(desk.ledger.size, 1);
});

t.test('a closing desk posts nothing and cancels everything', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  post(desk);
  desk.target(POOL, { ...ask(ONE / 10n), bid: { price: ONE / 20n, size: ONE } });
  desk.close();
  t.match(desk.decide(plenty()), { offers: [] });
  t.equal([...desk.decide(plenty()).cancels.values()].flat().length, 1);
});

t.test('no budget, no request', async (t) => {
  const desk = new QuotingDesk(options);
  desk.target(POOL, ask(ONE / 10n));
  t.match(desk.decide({ nowSeconds: START, quotes: 0 }), { offers: [], reposts: [] });
});

t.test('a target that makes no sense is refused', async (t) => {
  const desk = new QuotingDesk(options);
  t.throws(() => desk.target(POOL, ask(-1n)), RangeError);
  t.throws(() => desk.target(POOL, { ask: { price: 1n, size: 1n, rfq: { price: 1n, size: 2n } } }), RangeError);
});

/** A chain of quotes' fills by block, as simple as can be: each block has a time and the amounts filled in it. */
class ModelChain {
  blocks: { seconds: number; filled: Map<Hex, bigint> }[] = [{ seconds: START, filled: new Map() }];
  readonly signed: SentQuote[] = [];

  get head(): number {
    return this.blocks.length - 1;
  }

  filled(quoteId: Hex, block = this.head): bigint {
    return this.blocks.slice(0, block + 1).reduce((sum, { filled }) => sum + (filled.get(quoteId) ?? 0n), 0n);
  }

  get seconds(): number {
    return this.blocks.at(-1)?.seconds ?? START;
  }

  /** The size that takers could fill in the next block. */
  exposure(): bigint {
    return this.signed
      .filter(({ deadline }) => deadline >= this.seconds)
      .map(({ quoteId, size }) => size - this.filled(quoteId))
      .reduce((sum, left) => (left > 0n ? sum + left : sum), 0n);
  }
}

t.test('whatever happens, no more may be filled than the target', async (t) => {
  const seed = Number(process.env.QUOTEBOOK_TEST_SEED ?? Date.now() % 1_000_000);
  t.comment(`seed ${seed}`);
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const size = 2n * ONE;
  let posted = 0;
  for (let run = 0; run < 30; run++) {
    const desk = new QuotingDesk(options);
    const chain = new ModelChain();
    const rfq = { price: 90n, size: ONE / 2n };
    desk.target(POOL, { ask: { price: 100n, size, rfq } });
    for (let step = 0; step < 400; step++) {
      const kind = random();
      if (kind < 0.3) {
        chain.blocks.push({ seconds: chain.seconds + Math.floor(random() * 8), filled: new Map() });
      } else if (kind < 0.45) {
        const quote = pick(chain.signed.filter(({ deadline }) => deadline >= chain.seconds));
        const left = quote === undefined ? 0n : quote.size - chain.filled(quote.quoteId);
        if (quote !== undefined && left > 0n) {
          const part = random() < 0.5 ? left : left / 2n + 1n;
          chain.blocks.push({ seconds: chain.seconds, filled: new Map([[quote.quoteId, part > left ? left : part]]) });
          // The feed may be late, or not tell at all.
          if (random() < 0.8) desk.ledger.changed(quote.quoteId, chain.head);
        }
      } else if (kind < 0.5) {
        const depth = Math.min(Math.floor(random() * (options.finalityBlocks + 1)), chain.head);
        const times = chain.blocks.slice(chain.blocks.length - depth).map(({ seconds }) => seconds);
        chain.blocks.splice(chain.blocks.length - depth, depth);
        for (const seconds of times) chain.blocks.push({ seconds, filled: new Map() });
      } else if (kind < 0.55) {
        const price = BigInt(Math.floor(90 + random() * 20));
        desk.target(POOL, { ask: { price, size, rfq } });
      } else if (kind < 0.6) {
        desk.request({ poolAddress: POOL, side: 'ask', size: ONE, taker: TAKER, atSeconds: chain.seconds });
      } else if (kind < 0.75) {
        const decision = desk.decide(plenty(chain.seconds));
        for (const quote of decision.offers.map(signed)) {
          if (!desk.admit(quote)) continue;
          const answer = random();
          if (answer < 0.1) {
            desk.ledger.refused(quote.quoteId);
            continue;
          }
          posted += 1;
          chain.signed.push(quote);
          if (answer < 0.7) desk.ledger.published(quote.quoteId);
          else desk.ledger.unanswered(quote.quoteId);
        }
        for (const quoteId of [...decision.cancels.values()].flat()) {
          desk.ledger.cancelling(quoteId, true);
          const quote = desk.ledger.get(quoteId);
          if (quote === undefined || random() < 0.2) {
            desk.ledger.cancelling(quoteId, false);
            continue;
          }
          chain.blocks.push({ seconds: chain.seconds, filled: new Map([[quoteId, 10n ** 30n]]) });
          desk.ledger.changed(quoteId, chain.head);
        }
      } else {
        const final = chain.head - options.finalityBlocks;
        const filled = desk.ledger
          .due(chain.head)
          .map(({ quoteId }) => [quoteId, chain.filled(quoteId, final)] as [Hex, bigint]);
        const finalSeconds = chain.blocks[Math.max(final, 0)]?.seconds ?? START;
        desk.ledger.look({ head: chain.head, finalSeconds, filled: new Map(filled) }, finalSeconds);
      }
      const exposure = chain.exposure();
      if (exposure > size) throw new Error(`seed ${seed}, run ${run}, step ${step}: ${exposure} of ${size}`);
    }
  }
  t.ok(posted > 200, `${posted} quotes`);
});
