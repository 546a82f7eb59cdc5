import t, { type Test } from 'tap';
import { maxUint256, toEventSelector } from 'viem';
import { erc20Abi } from '../../../src/chain/contracts/abi.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import type { EngineEvent } from '../../../src/engine/event.js';
import type { Hex } from '../../../src/engine/quote.js';
import { Market, ONE } from '../dev/market.js';
import { Following, httpRpc } from '../following.js';
import { MarketBook } from '../market-book.js';
import { RpcProxy, type RpcRequest } from '../rpc-proxy.js';
import type { SignedOffer } from '../sign-quote.js';
import { until } from '../../until.js';

const market = await Market.open(t);
const { maker, stranger, taker } = market;
const { erc20Router: router } = market.chain.profile.contracts;
const call = market.pool('testWETH', 1800n, true);

/** Blocks whose state a node keeps that is no archive (geth's and nitro's default). */
const KEPT = 128;

/** The proxy's node answers as one that has lost the state of all but the newest blocks. Returns how often it refused. */
async function prune(proxy: RpcProxy): Promise<() => number> {
  const kept = new Set<unknown>();
  const head = await market.client.getBlockNumber();
  for (let number = head - BigInt(KEPT - 1); number <= head; number++) {
    kept.add((await market.client.getBlock({ blockNumber: number })).hash);
  }
  let refusals = 0;
  const isLost = ({ method, params }: RpcRequest): boolean => {
    const { blockHash } = (params[1] ?? {}) as { blockHash?: unknown };
    return method === 'eth_call' && blockHash !== undefined && !kept.has(blockHash);
  };
  proxy.trick = (asked) => {
    if (!isLost(asked)) return 'PASS';
    refusals += 1;
    return { error: { code: -32000, message: 'missing trie node 9f5a (path ) state 0x9f5a is not available' } };
  };
  return () => refusals;
}

async function openProxy(t: Test): Promise<RpcProxy> {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  return proxy;
}

const limits = { logRangeBlocks: 20 };
const APPROVAL = toEventSelector('Approval(address,address,uint256)');

t.test('what happened in blocks whose state the node has no more is seen where the newest one is read', async (t) => {
  const proxy = await openProxy(t);
  const rpc = { settlement: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc }, async (book) => {
    const [filled, withoutMeans] = [await market.sign(call), await market.sign(call, {}, stranger)];
    await book.publish(filled, withoutMeans);
    await book.following.stop();
    await market.fill(taker.address, filled, ONE / 2n);
    await market.approve(stranger.address, call.poolKey.base, router.address, 0n);
    await market.client.mine({ blocks: KEPT + 60 });
    const refusals = await prune(proxy);
    const { profile } = market.chain;
    const again = await Following.start({ profile, rpc, engine: book.following.engine, limits });
    t.teardown(() => again.stop());
    await again.until(() => again.chains.follower.caughtUp);
    t.ok(refusals() > 0);
    t.strictSame([book.fillable(filled), book.reasonOf(filled), book.reasonOf(withoutMeans)], [ONE / 2n, 0, 8]);
    t.strictSame(again.failures, []);
  });
});

t.test('so it is after an outage in which nothing was started anew, also of quotes that came meanwhile', async (t) => {
  const proxy = await openProxy(t);
  const rpc = { settlement: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc, limits }, async (book) => {
    const [known, late] = [await market.sign(call), await market.sign(call)];
    const withoutMeans = await market.sign(call, {}, stranger);
    await book.publish(known, withoutMeans);
    proxy.trick = () => 'CUT';
    await market.fill(taker.address, known, ONE / 2n);
    await market.approve(stranger.address, call.poolKey.base, router.address, 0n);
    await market.fill(taker.address, late, ONE / 4n);
    await market.publish(maker.address, [late]);
    await market.client.mine({ blocks: KEPT + 60 });
    const refusals = await prune(proxy);
    await book.following.until(() => book.ids.length === 3);
    await book.upToDate();
    t.ok(refusals() > 0);
    t.strictSame([book.fillable(known), book.fillable(late)], [ONE / 2n, (3n * ONE) / 4n]);
    t.equal(book.reasonOf(withoutMeans), 8);
  });
});

t.test('a restart applies the rest of a partly applied block, and nothing twice', async (t) => {
  const fills: bigint[] = [];
  const onEvents = (events: readonly EngineEvent[]): void => {
    for (const event of events) if (event.type === 'QUOTE_FILLED') fills.push(event.size);
  };
  /** The log takes nothing more once the first fill is in it. */
  let isCut = (): boolean => false;
  await MarketBook.isolated(market, { onEvents, takes: () => !isCut() }, async (book) => {
    const offer = await market.sign(call);
    await book.publish(offer);
    await market.client.setAutomine(false);
    const sizes = [ONE / 2n, ONE / 4n];
    const filling = Promise.all(sizes.map((size, i) => market.fill([taker, maker][i]?.address ?? '0x', offer, size)));
    await until(async () => (await market.client.getTxpoolStatus()).pending >= sizes.length);
    isCut = () => book.fillable(offer) < ONE;
    await market.client.mine({ blocks: 1 });
    await filling;
    await market.client.setAutomine(true);
    const { following } = book;
    await following.until(isCut);
    await following.stop();
    t.not(following.engine.positions().settlement?.logIndex ?? null, null, 'it stands in the middle of a block');

    const { profile } = market.chain;
    const again = await Following.start({ profile, engine: following.engine, onEvents });
    t.teardown(() => again.stop());
    await again.until(() => again.chains.follower.caughtUp);
    t.strictSame(fills.toSorted(), sizes.toSorted());
    t.equal(book.fillable(offer), ONE / 4n);
  });
});

t.test('so it is where the last blocks that were read were replaced meanwhile', async (t) => {
  const proxy = await openProxy(t);
  const rpc = { settlement: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc, limits }, async (book) => {
    const [undone, filledAnew, cancelled] = [await market.sign(call), await market.sign(call), await market.sign(call)];
    await book.publish(undone, filledAnew, cancelled);
    const events: EngineEvent[] = [];
    book.following.sequencer.onEvents((records) => events.push(...records.flatMap((record) => record.events)));
    await market.isolated(async () => {
      await market.fill(taker.address, undone, ONE / 2n);
      await market.fill(taker.address, filledAnew, ONE / 4n);
      await market.cancel(maker.address, call.poolAddress, [cancelled.quoteId]);
      await book.upToDate();
      t.equal(book.fillable(undone), ONE / 2n);
      proxy.trick = () => 'CUT';
      // While a block is mined anvil may tell its state as that of the one before, which is put right by another event.
      events.length = 0;
    });
    await market.fill(taker.address, filledAnew, ONE / 2n);
    await market.client.mine({ blocks: KEPT + 60 });
    const refusals = await prune(proxy);
    await book.following.until(() => book.fillable(undone) === ONE);
    await book.upToDate();
    t.ok(refusals() > 0);
    t.strictSame(
      [filledAnew, cancelled].map((offer) => book.fillable(offer)),
      [ONE / 2n, ONE],
    );
    t.equal(events.filter(({ type }) => type === 'QUOTE_RESTATED').length, 3, 'each is stated once');
  });
});

/** A range of several blocks: means that leave in its first, a fill in its middle, and the means again in its last. */
async function readMeansThatCameBack(proxy: RpcProxy, book: MarketBook): Promise<SignedOffer> {
  const [withMeans, filled] = [await market.sign(call, {}, stranger), await market.sign(call)];
  await book.publish(withMeans, filled);
  const { base } = call.poolKey;
  const allowance = await market.client.readContract({
    address: base,
    abi: erc20Abi,
    functionName: 'allowance',
    args: [stranger.address, router.address],
  });
  proxy.trick = () => 'CUT';
  await market.approve(stranger.address, base, router.address, 0n);
  await market.fill(taker.address, filled, ONE / 2n);
  await market.approve(stranger.address, base, router.address, allowance);
  proxy.trick = () => 'PASS';
  await book.upToDate();
  return withMeans;
}

t.test('means that left and came back in one range are gone when a reorg takes back its end', async (t) => {
  const proxy = await openProxy(t);
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const offer = await readMeansThatCameBack(proxy, book);
    t.equal(book.reasonOf(offer), 0);
    await market.reorg(1);
    await book.upToDate();
    t.equal(book.reasonOf(offer), 8);
  });
});

t.test('means that were seen late, when they had left again, are there when a reorg takes that back', async (t) => {
  const proxy = await openProxy(t);
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const { base } = call.poolKey;
    const offer = await market.sign(call, {}, stranger);
    await book.publish(offer);
    await market.approve(stranger.address, base, router.address, 0n);
    await book.upToDate();
    let seen = 0;
    let isHidden = true;
    const isApproval = ({ topics }: { topics: readonly unknown[] }): boolean => topics[0] === APPROVAL;
    proxy.trick = ({ method }) => {
      if (method !== 'eth_getLogs') return 'PASS';
      return {
        rewrite: (answer) => {
          const logs = answer as { topics: readonly unknown[] }[];
          if (!isHidden) seen += logs.filter(isApproval).length;
          return isHidden ? logs.filter((log) => !isApproval(log)) : logs;
        },
      };
    };
    await market.approve(stranger.address, base, router.address, maxUint256);
    await book.upToDate();
    await market.approve(stranger.address, base, router.address, 0n);
    await book.upToDate();
    isHidden = false;
    // Both, and twice more: what they say is in the book then.
    await book.following.until(() => seen > 5);
    t.equal(book.reasonOf(offer), 8);
    await market.reorg(1);
    await book.upToDate();
    t.equal(book.reasonOf(offer), 0);
  });
});

t.test('a rewind that was cut short is finished by the next process, also of what was gone', async (t) => {
  const settings = { restatedPerCommand: 1 };
  let isCut = (): boolean => false;
  await MarketBook.isolated(market, { limits: settings, takes: () => !isCut() }, async (book) => {
    const offers = [await market.sign(call), await market.sign(call), await market.sign(call)];
    const known = (): number => offers.filter((offer) => book.reasonOf(offer) === 0).length;
    await book.publish(...offers);
    for (const { quoteId } of offers) await market.cancel(maker.address, call.poolAddress, [quoteId]);
    await book.upToDate();
    t.equal(known(), 0);
    isCut = () => known() > 0;
    await market.reorg(offers.length);
    const { following } = book;
    await following.until(isCut);
    await following.stop();
    t.equal(known(), 1, 'only the first command of the rewind is in the log');

    const { profile } = market.chain;
    const again = await Following.start({ profile, engine: following.engine, limits: settings });
    t.teardown(() => again.stop());
    await again.until(() => again.chains.follower.caughtUp);
    t.equal(known(), offers.length);
  });
});

t.test('a pool is dated by the block that deployed it, and not by another that a node has in its place', async (t) => {
  const proxy = await openProxy(t);
  const rpc = { settlement: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc }, async (book) => {
    await book.upToDate();
    const number = (await market.client.getBlockNumber()) + 1n;
    let lies = 0;
    proxy.trick = ({ method, params: [asked] }) => {
      if (method !== 'eth_getBlockByNumber' || asked === 'latest' || BigInt(asked as string) !== number) return 'PASS';
      const other = { hash: `0x${'b'.repeat(64)}`, timestamp: '0x1' };
      return lies++ > 0 ? 'PASS' : { rewrite: (block) => ({ ...(block as object), ...other }) };
    };
    const poolAddress = await market.deployPool(stranger.address, { ...call.poolKey, strike: 2100n * ONE });
    await book.upToDate();
    const { timestamp } = await market.client.getBlock({ blockNumber: number });
    const found = [...book.following.engine.pools()].find(({ pool }) => pool.poolAddress === poolAddress);
    t.equal(found?.deployedAt, Number(timestamp));
    t.ok(lies > 0);
  });
});

t.test('where nothing happens the book hears of every so many blocks, of both chains', async (t) => {
  const every = 4;
  await MarketBook.isolated(market, { limits: { positionEveryBlocks: every } }, async (book) => {
    const told = () => {
      const { settlement, stream } = book.following.engine.positions();
      return [settlement?.blockNumber, stream?.blockNumber];
    };
    await book.upToDate();
    const start = Number(await market.client.getBlockNumber());
    t.strictSame(told(), [start, start]);
    await market.client.mine({ blocks: every - 1 });
    await book.upToDate();
    t.strictSame(told(), [start, start]);
    await market.client.mine({ blocks: 1 });
    await book.upToDate();
    t.strictSame(told(), [start + every, start + every]);
  });
});

t.test('a maker whose means change keeps nobody waiting until all of many quotes are asked about', async (t) => {
  await MarketBook.isolated(market, { limits: { touchedSlice: 1 } }, async (book) => {
    const many = await Promise.all(Array.from({ length: 60 }, () => market.sign(call)));
    await book.publish(...many);
    const events: EngineEvent[] = [];
    book.following.sequencer.onEvents((records) => events.push(...records.flatMap((record) => record.events)));
    await market.client.setAutomine(false);
    const both = Promise.all([
      market.approve(maker.address, call.poolKey.base, router.address, 0n),
      market.publish(taker.address, [await market.sign(call, {}, stranger)]),
    ]);
    await until(async () => (await market.client.getTxpoolStatus()).pending >= 2);
    await market.client.mine({ blocks: 1 });
    await both;
    await market.client.setAutomine(true);
    await book.following.until(() => many.every((offer) => book.reasonOf(offer) === 8));
    const types = events.map(({ type }) => type);
    t.equal(types.filter((type) => type === 'QUOTE_INVALIDATED').length, many.length);
    const posted = types.indexOf('QUOTE_POSTED');
    t.ok(posted >= 0 && posted < types.lastIndexOf('QUOTE_INVALIDATED'), `${posted} of ${types.length}`);
    t.notOk(
      events.some(({ cause }) => cause === null),
      'each tells of the event that it comes from',
    );
  });
});

/** A node that answers for a block with the state of the next one while it mines that, as anvil now and then does. */
class HastyNode implements Rpc {
  readonly #node = httpRpc([market.chain.rpcUrl]);
  #asked: (() => void) | null = null;
  #gate: Promise<unknown> = Promise.resolve();
  #early: { readonly block: Hex; readonly next: Promise<Hex> } | null = null;

  get switches(): number {
    return this.#node.switches;
  }

  async request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    await this.#gate;
    const [call, at] = (args.params ?? []) as [unknown, { readonly blockHash?: Hex } | undefined];
    const early = this.#early;
    if (early === null || args.method !== 'eth_call' || at?.blockHash !== early.block) return this.#node.request(args);
    this.#asked?.();
    const blockHash = await early.next;
    return this.#node.request({ ...args, params: [call, { ...at, blockHash }] });
  }

  /** Mines a block by each; what is asked about the first is answered with the state after the second. */
  async mixUp(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<void> {
    let open = (): void => undefined;
    this.#gate = new Promise<void>((resolve) => (open = resolve));
    await first();
    let answer: (block: Hex) => void = () => undefined;
    const asked = new Promise<void>((resolve) => (this.#asked = resolve));
    this.#early = { block: await head(), next: new Promise((resolve) => (answer = resolve)) };
    open();
    await asked;
    await second();
    answer(await head());
    this.#early = null;
  }
}

async function head(): Promise<Hex> {
  return (await market.client.getBlock()).hash;
}

const undone = {
  cancelled: (offer: SignedOffer) => market.cancel(offer.provider, offer.pool.poolAddress, [offer.quoteId]),
  filled: (offer: SignedOffer) => market.fill(taker.address, offer, offer.size),
};
for (const [what, happen] of Object.entries(undone)) {
  t.test(
    `a quote is back that a hasty node showed as ${what} in the block before, and that block is undone`,
    async (t) => {
      const node = new HastyNode();
      await MarketBook.isolated(market, { rpc: { settlement: node } }, async (book) => {
        const offer = await market.sign(call);
        await book.publish(offer);
        const token = call.poolKey.base;
        await node.mixUp(
          () => market.approve(maker.address, token, router.address, maxUint256 - 1n),
          () => happen(offer),
        );
        await book.upToDate();
        t.equal(book.fillable(offer), 0n);
        await market.reorg(1);
        await book.upToDate();
        t.strictSame([book.fillable(offer), book.reasonOf(offer)], [ONE, 0]);
        t.strictSame(book.following.failures, []);
      });
    },
  );
}
