import { deepStrictEqual as same } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import type { TimerKind } from '../../src/engine/command.js';
import { address, at, enter, MAKER, originAt, POOL, quoteIdOf, sampleQuote, START } from '../engine/samples.js';
import { FeedFixture, filter, takeMessages } from '../feed/feed-fixture.js';
import { ModelReader } from '../feed/model-reader.js';
import { authorized, GRACE_MS, KEY, RETRY_MS } from './protection-fixture.js';

const ZERO = `0x${'0'.repeat(64)}` as const;
const ANOTHER_MAKER = address(0x11);

t.test('a missed heartbeat withdraws all quotes of the provider, and no others', async (t) => {
  const { post, beat, advance, withdrawals, shown, timers } = await authorized();
  for (const n of [1, 2, 3, 4, 5]) post(n);
  post(6, ANOTHER_MAKER);
  await beat(60);
  await advance(59_999);
  t.equal(shown().length, 6);
  await advance(1);
  t.strictSame(shown(), [quoteIdOf(6)]);
  t.strictSame(
    withdrawals().map(({ quoteIds, reason }) => [quoteIds.length, reason]),
    [
      [2, 'HEARTBEAT_MISSED'],
      [2, 'HEARTBEAT_MISSED'],
      [1, 'HEARTBEAT_MISSED'],
    ],
    'so many in a record',
  );
  t.strictSame(timers(), { HEARTBEAT: 0, CONNECTION: 0 }, 'and is over');
});

t.test('each heartbeat gives the whole time again, a shorter one less', async (t) => {
  const { post, beat, advance, shown } = await authorized();
  post(1);
  await beat(60);
  await advance(50_000);
  await beat(60);
  await advance(50_000);
  t.equal(shown().length, 1);
  await beat(5);
  await advance(5_000);
  t.strictSame(shown(), []);
});

t.test('after a start each timer has its own time again, and at least the grace', async (t) => {
  for (const [seconds, leftMs] of [
    [5, GRACE_MS],
    [60, 60_000],
  ] as const) {
    const { post, beat, advance, restart, shown } = await authorized();
    post(1);
    await beat(seconds);
    await advance(4_000);
    restart();
    await advance(leftMs - 1);
    t.equal(shown().length, 1);
    await advance(1);
    t.strictSame(shown(), []);
  }
});

t.test('a process that ends in the middle of a withdrawal has the next one finish it', async (t) => {
  const { post, beat, clock, restart, advance, shown, timers, journal } = await authorized();
  for (const n of [1, 2, 3]) post(n);
  await beat(5);
  clock.advance(5_000);
  t.equal(shown().length, 1, 'the second record waits until the first is durable');
  restart();
  await journal.flush();
  t.equal(shown().length, 1);
  t.equal(timers()?.HEARTBEAT, 5);
  await advance(GRACE_MS);
  t.strictSame([shown(), timers()?.HEARTBEAT], [[], 0]);
});

t.test('timers of many providers that run out at once leave others their turn', async (t) => {
  const { clock, ask, post, restart, advance, withdrawals, shown } = await authorized();
  const providers = Array.from({ length: 40 }, (_, n) => address(0x100 + n));
  for (const [n, provider] of providers.entries()) {
    post(n, provider);
    await ask({ type: 'AUTHORIZE', provider, keyId: KEY, consent: 'PROVEN' });
    await ask({ type: 'TIMER', kind: 'HEARTBEAT', provider, keyId: KEY, seconds: 5 });
  }
  restart();
  let atOnce = 0;
  clock.after(GRACE_MS, () => (atOnce = withdrawals().length));
  await advance(GRACE_MS);
  t.ok(atOnce > 0 && atOnce < providers.length, `${atOnce} at once`);
  t.strictSame(shown(), [], 'and none is later than it must be');
});

t.test('while nothing can be written a timer tries again', async (t) => {
  const { post, beat, advance, journal, shown } = await authorized();
  post(1);
  await beat(5);
  journal.refusing = 'STORAGE_FULL';
  await advance(5_000);
  t.equal(shown().length, 1);
  journal.refusing = null;
  await advance(RETRY_MS);
  t.strictSame(shown(), []);
});

t.test('no timer outlives its authorisation', async (t) => {
  const { post, beat, advance, sequencer, commit, shown } = await authorized();
  post(1);
  await beat(5);
  sequencer.submit({ type: 'AUTHORIZE_KEY', provider: MAKER, owner: KEY, until: 0, signed: null });
  await commit();
  await advance(60_000);
  t.equal(shown().length, 1);
  t.strictSame(await beat(5), { type: 'NOT_AUTHORIZED' });
});

const QUOTES = [1, 2, 3, 4];
const BASE_BLOCK = 50;
/** The sample quotes are published in the next one. */
const STREAM_BLOCK = 99;
/** Cancellations that a reorg can still undo. */
const MOST_BLOCKS = 6;

const quote = fc.constantFrom(...QUOTES);
const kind = fc.constantFrom<TimerKind>('HEARTBEAT', 'CONNECTION');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('POST' as const), quote }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('CANCEL' as const), quote }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('RESTORE' as const), quote }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('REORG' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('REORG_STREAM' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('RESTART' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('RENEW' as const), kind, seconds: fc.constantFrom(0, 5, 20, 60) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('WAIT' as const), ms: fc.constantFrom(1_000, 5_000, 20_000, 45_000) }),
  },
);

/** Every view of the pool's public quotes, each as the ids of the quotes that it shows or as their number. */
class Views {
  readonly fixture = new FeedFixture();
  readonly #quotes = new ModelReader();
  readonly #levels = new ModelReader();
  /** Of a plain connection. */
  readonly #plain = new Set<string>();
  readonly #sockets;
  #cover: readonly string[] = [];

  constructor() {
    const follow = (channel: string, body: object, protocol?: string) => {
      const socket = this.fixture.authorized(protocol);
      socket.says(filter(channel, body));
      return socket;
    };
    const { poolAddress } = POOL;
    this.#sockets = {
      quotes: follow('QUOTES', { poolAddress, snapshot: true }),
      levels: follow('ORDERBOOK', { poolAddress }),
      cover: follow('COVER', { poolAddress, side: 'ask', size: '1000' }),
      plain: follow('QUOTES', { poolAddress }, ''),
    };
  }

  /** Ids that each view shows; of price levels, of which there is one for each quote, their prices. */
  read(): Record<string, readonly string[]> {
    const { poolAddress } = POOL;
    const { engine, feed } = this.fixture;
    const all = { poolAddress, side: 'ask', size: 1000n } as const;
    const idsOf = (orders: readonly { readonly quote: { readonly quoteId: string } }[]): string[] =>
      orders.map(({ quote }) => quote.quoteId);
    this.#quotes.take(takeMessages(this.#sockets.quotes));
    this.#levels.take(takeMessages(this.#sockets.levels));
    for (const message of takeMessages(this.#sockets.cover)) {
      if (message.type === 'COVER') this.#cover = idsOf(message.body.legs);
    }
    for (const { type, body } of takeMessages(this.#sockets.plain) as { type: string; body: { quoteId: string } }[]) {
      if (type === 'POST_QUOTE') this.#plain.add(body.quoteId);
      if (type === 'DELETE_QUOTE') this.#plain.delete(body.quoteId);
    }
    const unfollowed = { ...all, size: 1001n, taker: null, provider: null };
    return {
      'GET /orders': idsOf(engine.orders().valid),
      'GET /quotes': idsOf(engine.cover(all)),
      'GET /quotes/cover': idsOf(feed.covers.coverOf(unfollowed).legs),
      QUOTES: this.#quotes.allQuotes.map(({ quoteId }) => quoteId),
      'QUOTES of a plain connection': [...this.#plain],
      COVER: this.#cover,
      'GET /book': feed.levels.read({ poolAddress, taker: null, depth: 10 }).body.asks.map(({ price }) => idAt(price)),
      ORDERBOOK: [...this.#levels.levels.ask.keys()].map(idAt),
    };
  }
}

const PRICE = 100;
function idAt(price: string): string {
  return quoteIdOf(Number(price) - PRICE);
}

t.test('after any heartbeats, disconnects and reorgs no view has a withdrawn quote or lacks a live one', async (t) => {
  const seen = { withdrawn: 0, live: 0, cameBackWithdrawn: 0 };
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
    const views = new Views();
    const { sequencer, commit, beat, restart, advance, engine } = await authorized(views.fixture);
    sequencer.submit({ type: 'ADVANCE_POSITION', position: at('settlement', BASE_BLOCK) });
    sequencer.submit({ type: 'ADVANCE_POSITION', position: at('stream', STREAM_BLOCK) });
    /** `isOut`: a reorg took its publication back. */
    const known = new Map<number, { isWithdrawn: boolean; isGone: boolean; isOut: boolean }>();
    const timers = new Map<TimerKind, { seconds: number; leftMs: number }>();
    let [block, branch] = [BASE_BLOCK, 0];
    for (const each of steps) {
      switch (each.do) {
        case 'POST': {
          const one = known.get(each.quote);
          if (one !== undefined && (!one.isOut || one.isGone)) break;
          sequencer.submit(enter(sampleQuote({ n: each.quote, price: BigInt(PRICE + each.quote) })));
          if (one?.isWithdrawn === true) seen.cameBackWithdrawn += 1;
          known.set(each.quote, { isWithdrawn: one?.isWithdrawn ?? false, isGone: false, isOut: false });
          break;
        }
        case 'CANCEL': {
          const one = known.get(each.quote);
          if (one === undefined || one.isGone || one.isOut || block === BASE_BLOCK + MOST_BLOCKS) break;
          block += 1;
          const position = at('settlement', block, branch);
          const quoteId = quoteIdOf(each.quote);
          sequencer.submit({ type: 'CANCEL_QUOTE', quoteId, origin: originAt(block), position });
          one.isGone = true;
          break;
        }
        case 'RESTORE': {
          const quoteIds = [quoteIdOf(each.quote)];
          sequencer.submit({ type: 'RESTORE_QUOTES', provider: MAKER, quoteIds, signed: null });
          const one = known.get(each.quote);
          if (one !== undefined) one.isWithdrawn = false;
          break;
        }
        case 'REORG': {
          const restated = [...known]
            .filter(([, { isOut }]) => !isOut)
            .map(([n]) => ({ quoteId: quoteIdOf(n), state: { fillableSize: 10n, reason: null } }));
          const position = at('settlement', BASE_BLOCK);
          sequencer.submit({ type: 'REWIND_SETTLEMENT', position, settlementBlock: BASE_BLOCK, restated });
          [block, branch] = [BASE_BLOCK, branch + 1];
          for (const one of known.values()) one.isGone = false;
          break;
        }
        case 'REORG_STREAM':
          sequencer.submit({ type: 'REWIND_STREAM', position: at('stream', STREAM_BLOCK) });
          for (const one of known.values()) one.isOut = true;
          break;
        case 'RESTART':
          restart();
          for (const timer of timers.values()) timer.leftMs = Math.max(timer.seconds * 1000, GRACE_MS);
          break;
        case 'RENEW':
          await beat(each.seconds, each.kind);
          if (each.seconds === 0) timers.delete(each.kind);
          else timers.set(each.kind, { seconds: each.seconds, leftMs: each.seconds * 1000 });
          break;
        case 'WAIT':
          await advance(each.ms);
          for (const [name, timer] of timers) {
            timer.leftMs -= each.ms;
            if (timer.leftMs > 0) continue;
            timers.delete(name);
            // There is nothing to withdraw of what a reorg took back.
            for (const one of known.values()) one.isWithdrawn ||= !one.isOut;
          }
      }
      await commit();
      const live = [...known].filter(([, { isWithdrawn, isGone, isOut }]) => !isWithdrawn && !isGone && !isOut);
      const wanted = live.map(([n]) => quoteIdOf(n)).sort();
      for (const [view, ids] of Object.entries(views.read())) same([...ids].sort(), wanted, `${view} after ${each.do}`);
      seen.live += live.length;
      seen.withdrawn += [...known.values()].filter(({ isWithdrawn, isOut }) => isWithdrawn && !isOut).length;
      engine.checkInvariants();
    }
    same(views.fixture.faults, []);
  });
  await t.resolves(fc.assert(property, { numRuns: 500 }));
  t.ok(
    Object.values(seen).every((count) => count > 20),
    JSON.stringify(seen),
  );
});

t.test('a key acts for so many providers, and leaves the other places to other keys', async (t) => {
  const { ask } = await authorized(undefined, { authorizationsPerKey: 2 });
  const authorize = (n: number, keyId: string) =>
    ask({ type: 'AUTHORIZE', provider: address(n), keyId, consent: 'PROVEN' });
  t.strictSame(await authorize(0x21, KEY), { type: 'DONE' });
  t.strictSame(await authorize(0x22, KEY), { type: 'TOO_MANY' });
  t.strictSame(await authorize(0x21, KEY), { type: 'DONE' }, 'again is no more');
  t.strictSame(await authorize(0x22, 'another'), { type: 'DONE' });
});

t.test('authorisations leave half of the nonces to what else is signed', async (t) => {
  const { ask, engine, signed } = await authorized(undefined, { noncesKept: 4 });
  const authorize = (nonce: bigint) => {
    const consent = { nonce, deadline: START + 60, signature: { r: ZERO, s: ZERO, v: 27 } };
    return ask({ type: 'AUTHORIZE', provider: MAKER, keyId: KEY, consent });
  };
  signed.by = MAKER;
  t.strictSame([await authorize(1n), await authorize(2n)], [{ type: 'DONE' }, { type: 'DONE' }]);
  t.match(await authorize(3n), { type: 'TOO_MANY_NONCES' });
  t.equal(engine.spentNonces(MAKER).total, 2);
});

const signedUntil = (nonce: bigint, deadline: number) => ({
  nonce,
  deadline,
  signature: { r: ZERO, s: ZERO, v: 27 } as const,
});

t.test('revocations may use the half of the nonces that authorisations leave', async (t) => {
  const { ask, post, signed } = await authorized(undefined, { noncesKept: 2 });
  post(1);
  signed.by = MAKER;
  const asked = { provider: MAKER, keyId: KEY };
  const consent = (nonce: bigint) => signedUntil(nonce, START + 60);
  t.strictSame(await ask({ type: 'AUTHORIZE', ...asked, consent: consent(1n) }), { type: 'DONE' });
  t.match(await ask({ type: 'AUTHORIZE', ...asked, consent: consent(2n) }), { type: 'TOO_MANY_NONCES' });
  t.strictSame(await ask({ type: 'REVOKE', ...asked, consent: consent(2n) }), { type: 'DONE' });
  t.match(await ask({ type: 'REVOKE', ...asked, consent: consent(3n) }), { type: 'TOO_MANY_NONCES' });
});

t.test('a key has so many nonces kept, whatever providers sign, and leaves the others to other keys', async (t) => {
  const { ask, signed } = await authorized(undefined, { noncesPerKey: 2 });
  const sign = (n: number, type: 'AUTHORIZE' | 'REVOKE', askedBy: string) => {
    signed.by = address(n);
    const consent = signedUntil(1n, START + n);
    return ask({ type, provider: address(n), keyId: type === 'AUTHORIZE' ? askedBy : 'named', askedBy, consent });
  };
  t.strictSame(await sign(0x32, 'AUTHORIZE', KEY), { type: 'DONE' });
  t.strictSame(await sign(0x31, 'REVOKE', KEY), { type: 'DONE' });
  const full = { type: 'TOO_MANY_NONCES', retryAfterMs: (0x31 + 1) * 1000 };
  t.strictSame(await sign(0x33, 'AUTHORIZE', KEY), full, 'until the first of its nonces is past its deadline');
  t.strictSame(await sign(0x33, 'REVOKE', KEY), full);
  t.strictSame(await sign(0x34, 'AUTHORIZE', 'another'), { type: 'DONE' });
});

t.test('a provider with as many nonces as are kept of one hears when the first of them goes', async (t) => {
  const { ask, signed } = await authorized(undefined, { noncesPerProvider: 2 });
  signed.by = MAKER;
  const authorize = (nonce: bigint, seconds: number) =>
    ask({ type: 'AUTHORIZE', provider: MAKER, keyId: KEY, consent: signedUntil(nonce, START + seconds) });
  await authorize(1n, 900);
  await authorize(2n, 300);
  t.strictSame(await authorize(3n, 60), { type: 'TOO_MANY_NONCES', retryAfterMs: 301_000 });
});

t.test('a key sets so many fill limits, of any providers, and leaves the others to other keys', async (t) => {
  const { ask, sequencer, signed, restart } = await authorized(undefined, { fillLimitsPerKey: 2 });
  const [origin, position] = [originAt(50), at('settlement', 50)];
  sequencer.submit({ type: 'DEPLOY_POOL', pool: POOL, deployedAt: START, origin, position });
  let nonce = 0n;
  const limit = (n: number, keyId: string, fills = 1) => {
    signed.by = address(n);
    const bounds = fills === 0 ? null : { contracts: 0n, fills, seconds: 60 };
    const consent = signedUntil(nonce++, START + 60);
    return ask({ type: 'FILL_LIMIT', provider: address(n), keyId, poolAddress: POOL.poolAddress, bounds, consent });
  };
  t.strictSame([await limit(0x41, KEY), await limit(0x42, KEY)], [{ type: 'DONE' }, { type: 'DONE' }]);
  t.strictSame(await limit(0x43, KEY), { type: 'TOO_MANY' });
  t.strictSame(await limit(0x41, KEY, 2), { type: 'DONE' }, 'another in place of one is no more');
  t.strictSame(await limit(0x43, 'another'), { type: 'DONE' });
  t.strictSame(await limit(0x41, 'another', 0), { type: 'DONE' });
  t.strictSame(await limit(0x44, KEY), { type: 'DONE' }, 'one of its limits is gone');
  t.strictSame(await limit(0x45, KEY), { type: 'TOO_MANY' });
  restart();
  t.strictSame(await limit(0x45, KEY), { type: 'DONE' }, 'a start counts from nothing');
});
