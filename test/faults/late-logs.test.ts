import { isDeepStrictEqual } from 'node:util';
import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { limits as defaultLimits } from '../../src/config/limits.js';
import type { DevAccount } from '../../src/chain/dev/dev-client.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Hex } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { Following, httpRpc, type VisibleBook, visibleBook } from '../chain/following.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { LaggingNode } from './lagging-node.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
/** By hand other seeds each time, so that every long run sees something new. */
const first = isLong ? Math.floor(Date.now() / 1000) : 1_000;
const SCHEDULES = isLong ? 300 : 20;
/** Chains on which schedules run side by side: each waits most of its time for logs that are late. */
const LANES = 4;
/** Anvil keeps the states of some hundred blocks: a chain takes so many schedules, and is then replaced. */
const SCHEDULES_PER_CHAIN = 10;

const BATCHES = 21;
const QUOTES_PER_BATCH = 10;
const REORGS = 3;
/** Within this time of the node's healing the book has to be whole. */
const HEAL_MS = 15_000;
/** As it is by default, since the faults last seconds; a shorter poll only meets more of them. */
const LIMITS = {
  chainPollMs: 250,
  rpcBackoffMs: 20,
  lowerHeadMs: defaultLimits.lowerHeadMs,
};

/** A chain, and quotes of four makers that are published anew in each schedule. */
class Lane {
  private constructor(
    readonly market: Market,
    readonly makers: readonly DevAccount[],
    readonly offers: readonly SignedOffer[],
  ) {}

  static async open(t: { teardown(close: () => Promise<void>): void }): Promise<Lane> {
    const market = await Market.open(t);
    const makers = market.chain.accounts.slice(4, 8);
    const pools = [market.pool('testWETH', 1800n, true), market.pool('testWETH', 1800n, false)];
    const signed = Array.from({ length: BATCHES * QUOTES_PER_BATCH }, (_, n) => {
      const pool = pools[n % 2];
      if (pool === undefined) throw new Error('There are two pools');
      return market.sign(pool, { price: ONE / BigInt(10 + n), isBuy: n % 5 === 0 }, makers[(n >> 1) % 4]);
    });
    return new Lane(market, makers, await Promise.all(signed));
  }
}

/** What happens on the chain between two batches of quotes. */
async function happen({ market, makers }: Lane, offer: SignedOffer, random: SeededRandom): Promise<void> {
  const { stranger, taker } = market;
  const maker = random.pick(makers);
  const token = market.token(random.pick(['testWETH', 'USDC']));
  const happenings = [
    () => market.fill(taker.address, offer, offer.size / 4n),
    () => market.cancel(offer.provider, offer.pool.poolAddress, [offer.quoteId]),
    () => market.approve(maker.address, token, market.chain.contracts.erc20Router, random.pick([0n, 2n ** 255n])),
    () => market.transfer(stranger.address, token, maker.address, 1n),
  ];
  // A quote may be filled or cancelled already, or its maker without an allowance: then nothing happens.
  await random
    .pick(happenings)()
    .catch(() => undefined);
}

/** One seed: a book that follows a lagging node, whole within `HEAL_MS` of its healing. Returns how many events came late. */
async function runSchedule(t: Test, lane: Lane, seed: number): Promise<number> {
  const { market, offers } = lane;
  const { chain, client } = market;
  const random = new SeededRandom(seed);
  const node = await LaggingNode.open(chain.rpcUrl, random);
  const rpc = { settlement: httpRpc([node.url]), stream: httpRpc([node.url]) };
  let late = 0;
  const following = await Following.start({
    profile: chain.profile,
    rpc,
    limits: LIMITS,
    // The announced headers are the chain's own; those of the lagging node may have other filters.
    hasSubscription: seed % 2 === 0,
    onLateLogs(role, events) {
      late += events;
      t.not(following.chains.health[role].stale(), null, `seed ${seed}: not ready while ${events} events lack`);
    },
  });
  /** Their origin is the publication that was read first, which need not be the first on the chain. */
  const publishedAgain = new Set<Hex>();
  const bookOf = (engine: Engine): VisibleBook => {
    const { orders, pools } = visibleBook(engine);
    const isAgain = ({ quoteId }: VisibleBook['orders'][number]): boolean => publishedAgain.has(quoteId);
    return { orders: orders.map((order) => (isAgain(order) ? { ...order, ts: 0, origin: null } : order)), pools };
  };
  let reorgs = 0;
  try {
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const published = offers.slice(0, (batch + 1) * QUOTES_PER_BATCH);
      await market.publish(market.stranger.address, published.slice(-QUOTES_PER_BATCH));
      const offer = random.pick(published);
      if (random.chance(0.2)) {
        publishedAgain.add(offer.quoteId);
        await market.publish(market.stranger.address, [offer]);
      } else await happen(lane, offer, random);
      if (batch % Math.floor(BATCHES / REORGS) === 3) {
        await market.reorg(random.between(1, 4));
        reorgs += 1;
      }
      await setTimeout(random.below(random.pick([30, 300])));
    }
    node.heal();
    const healedAtMs = performance.now();
    const fresh = await Following.start({ profile: chain.profile });
    await fresh.upToDate({ settlement: client, stream: client });
    await fresh.stop();
    const truth = bookOf(fresh.engine);
    const isWhole = (): boolean =>
      isDeepStrictEqual(bookOf(following.engine), truth) &&
      Object.values(following.chains.health).every((health) => health.stale() === null);
    while (!isWhole() && performance.now() - healedAtMs < HEAL_MS) await setTimeout(50);
    const tookMs = Math.round(performance.now() - healedAtMs);
    t.strictSame(bookOf(following.engine), truth, `seed ${seed}: ${node.story}; whole after ${tookMs} ms`);
    for (const health of Object.values(following.chains.health)) t.equal(health.stale(), null, `seed ${seed}: ready`);
    t.equal(following.halted, null);
    t.ok(reorgs >= 2 && offers.length >= 200 && node.lacking > 0, `${reorgs} reorgs, ${node.lacking} logs kept back`);
    return late;
  } finally {
    await following.stop();
    node.close();
  }
}

t.test(`${SCHEDULES} schedules of late, lost and cut logs from seed ${first} on`, async (t) => {
  let late = 0;
  let next = 0;
  const runLane = async (): Promise<void> => {
    while (next < SCHEDULES) {
      const closing: (() => Promise<void>)[] = [];
      const lane = await Lane.open({ teardown: (close) => closing.push(close) });
      for (let n = 0; n < SCHEDULES_PER_CHAIN && next < SCHEDULES; n += 1) {
        const seed = first + next++;
        await lane.market.isolated(async () => {
          late += await runSchedule(t, lane, seed);
        });
      }
      for (const close of closing) await close();
    }
  };
  await Promise.all(Array.from({ length: LANES }, runLane));
  t.ok(late > SCHEDULES, `${late} events came late`);
});
