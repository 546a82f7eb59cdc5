import { setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Limits, limits as defaultLimits } from '../../../src/config/limits.js';
import type { Hex } from '../../../src/engine/quote.js';
import { readDocument } from '../../app/read-document.js';
import { Market, ONE } from '../dev/market.js';
import { Following, type FollowingOptions, httpRpc, newOperator } from '../following.js';
import { RpcProxy, type RpcRequest } from '../rpc-proxy.js';

const BLOCK_MS = 250;
/** No verification of logs while calls are counted: the calls of each are counted apart. */
const NEVER_MS = 3_600_000;
const VERIFY_MS = 100;

const market = await Market.open(t);
const { chain, client, maker, taker, stranger, operator } = market;
const pool = market.pool('testWETH', 1800n, true);

/** A book that follows one chain as both of its chains, through a proxy that counts. */
class Counted {
  private constructor(
    readonly following: Following,
    private readonly proxy: RpcProxy,
  ) {}

  static async open(verifyMs: number, options: Partial<FollowingOptions>): Promise<Counted> {
    const proxy = await RpcProxy.open(chain.rpcUrl);
    const rpc = { settlement: httpRpc([proxy.url]), stream: httpRpc([proxy.url]) };
    const limits: Limits = { ...defaultLimits, verifyMs };
    const following = await Following.start({ profile: chain.profile, rpc, limits, ...options });
    t.teardown(async () => {
      await following.stop();
      proxy.close();
    });
    return new Counted(following, proxy);
  }

  get calls(): number {
    return this.proxy.requests.length;
  }

  forget(): void {
    this.proxy.requests.length = 0;
  }

  /** Topics that logs were asked for by. */
  logFilters(): Set<string> {
    const queries = this.proxy.requests.filter(({ method }) => method === 'eth_getLogs');
    return new Set(queries.map(({ params: [filter] }) => JSON.stringify((filter as { topics: unknown }).topics)));
  }

  /** Without those for heads, which are made whatever happens, and for receipts, which depend on how long a node mines. */
  causedCalls(): number {
    const isCaused = ({ method, params: [which] }: RpcRequest): boolean =>
      method !== 'eth_getTransactionReceipt' && which !== 'latest';
    return this.proxy.requests.filter(isCaused).length;
  }

  /** Resolves when all blocks have been read, and none of them is read again. */
  async settle(): Promise<void> {
    await this.following.upToDate({ settlement: client, stream: client });
    for (let before = -1; before !== this.causedCalls();) {
      before = this.causedCalls();
      for (let wakes = 0; wakes < 20; wakes += 1) {
        this.following.chains.follower.wake();
        await setTimeout(10);
      }
    }
  }

  knows(quoteId: Hex): boolean {
    return this.following.engine.get(quoteId) !== undefined;
  }
}

const polling = await Counted.open(NEVER_MS, {});
const subscribed = await Counted.open(NEVER_MS, { hasSubscription: true });
const wallet = newOperator(operator.privateKey);
const publishing = await Counted.open(NEVER_MS, { hasSubscription: true, operator: wallet });
const verifying = await Counted.open(VERIFY_MS, { hasSubscription: true });
const all = [polling, subscribed, publishing, verifying];

/** Rows of docs/reference/rpc-calls.md, by their first cell: the others as numbers. */
const documented = new Map(
  readDocument('docs/reference/rpc-calls.md')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name = '', ...cells]) => [name, cells.slice(0, -1).map(Number)] as const),
);

function documentedAs(name: string): readonly number[] {
  const numbers = documented.get(name);
  if (numbers === undefined) throw new Error(`docs/reference/rpc-calls.md has no row "${name}"`);
  return numbers;
}

const most = (name: string): number => documentedAs(name)[0] ?? NaN;

const RATES = {
  idle: 'no block',
  empty: '4 empty blocks a second',
  transfers: '4 blocks a second, each with a transfer to a maker',
};

/** Calls a second of both while `act` runs once in `BLOCK_MS`. */
async function rates(seconds: number, act: () => Promise<unknown>): Promise<[subscribed: number, polling: number]> {
  const before = [subscribed.calls, polling.calls] as const;
  const startMs = performance.now();
  for (let n = 1; n * BLOCK_MS <= seconds * 1000; n += 1) {
    await act();
    await setTimeout(Math.max(0, startMs + n * BLOCK_MS - performance.now()));
  }
  const tookSeconds = (performance.now() - startMs) / 1000;
  return [(subscribed.calls - before[0]) / tookSeconds, (polling.calls - before[1]) / tookSeconds];
}

/** Calls of one follower that each of these acts causes. */
async function perAct(
  counted: Counted,
  acts: readonly (() => Promise<unknown>)[],
  isDone: (n: number) => boolean,
): Promise<number> {
  await counted.settle();
  const before = counted.causedCalls();
  for (const [n, act] of acts.entries()) {
    await act();
    while (!isDone(n)) await setTimeout(5);
  }
  await counted.settle();
  return (counted.causedCalls() - before) / acts.length;
}

const offers = await Promise.all([1, 2, 3, 4, 5, 6].map((salt) => market.sign(pool, { salt })));
const [known, foreign, own] = [offers.slice(0, 2), offers.slice(2, 4), offers.slice(4)];

t.before(async () => {
  await market.publish(stranger.address, known);
  for (const counted of all) await counted.settle();
  // Blocks that are announced with logs show that the announced filters are true; empty ones do not.
  for (let n = 0; n < 3; n += 1) {
    await market.transfer(stranger.address, market.token('testWETH'), maker.address, 1n);
    await Promise.all(all.map((counted) => counted.settle()));
  }
});

/** Of each window; where a machine stands still in one, looks that would have seen several blocks see one each. */
const SECONDS = 4;
const MOST_WINDOWS = 3;

/** As many as documented while `act` runs once in `BLOCK_MS`; in so short a time there may be one head more a chain. */
async function isAsDocumented(t: Test, name: string, act: () => Promise<unknown>): Promise<void> {
  const [mostSubscribed = 0, , mostPolling = 0] = documentedAs(name);
  const isWithin = ([ofSubscribed, ofPolling]: readonly [number, number]): boolean =>
    ofSubscribed <= mostSubscribed + 2 / SECONDS && ofPolling <= mostPolling + 2 / SECONDS;
  let found = await rates(SECONDS, act);
  for (let windows = 1; windows < MOST_WINDOWS && !isWithin(found); windows += 1) found = await rates(SECONDS, act);
  t.ok(isWithin(found), `${found[0].toFixed(2)} with a subscription, ${found[1].toFixed(2)} without`);
}

t.test('a verification, and calls while no block comes', async (t) => {
  const [calls = NaN] = documentedAs('a verification of the last blocks');
  const verification = async (): Promise<number> => {
    verifying.forget();
    while (verifying.logFilters().size < calls) await setTimeout(5);
    await setTimeout(1_000);
    return verifying.logFilters().size;
  };
  const [, ofVerification] = await Promise.all([
    isAsDocumented(t, RATES.idle, () => Promise.resolve()),
    verification(),
  ]);
  t.equal(ofVerification, calls, 'each chain’s filters, once');
});

t.test('at four empty blocks a second', (t) => isAsDocumented(t, RATES.empty, () => client.mine({ blocks: 1 })));

t.test('at four blocks a second that each hold a transfer to a maker', async (t) => {
  const token = market.token('testWETH');
  const transfer = (): Promise<unknown> => market.transfer(stranger.address, token, maker.address, 1n);
  await isAsDocumented(t, RATES.transfers, transfer);
});

t.test('a day has as many as its seconds, and the verifications', (t) => {
  const [calls = 0] = documentedAs('a verification of the last blocks');
  const often = (calls * 1000) / defaultLimits.verifyMs;
  const rare = often / 30;
  for (const [name, verifications] of [
    [RATES.idle, rare],
    [RATES.empty, rare],
    [RATES.transfers, often],
  ] as const) {
    const [ofSubscribed = 0, aDay, ofPolling = 0, anotherDay] = documentedAs(name);
    const days = [ofSubscribed, ofPolling].map((rate) => 1000 * Math.round((rate + verifications) * 86.4));
    t.strictSame([aDay, anotherDay], days, name);
  }
  t.end();
});

t.test('for a quote that somebody publishes, one that the service publishes, and a fill', async (t) => {
  const publish = foreign.map((offer) => () => market.publish(stranger.address, [offer]));
  const ofForeign = await perAct(subscribed, publish, (n) => subscribed.knows(foreign[n]?.quoteId ?? '0x'));
  t.ok(ofForeign <= most('a quote that somebody else publishes'), `${ofForeign} for a published quote`);

  const { publisher } = publishing.following.chains;
  const post = own.map((offer) => async () => publisher?.publish(offer));
  const ofOwn = 1 + (await perAct(publishing, post, (n) => publishing.knows(own[n]?.quoteId ?? '0x')));
  // The quote's state is asked for at another block where one comes meanwhile.
  t.ok(ofOwn <= 1 + most('a quote that the service publishes, and its receipt'), `${ofOwn} for an own quote`);

  const size = ONE / 4n;
  const [filled] = known;
  if (filled === undefined) throw new Error('No quote is known');
  const fill = [1, 2].map(() => () => market.fill(taker.address, filled, size));
  const fillable = (): bigint => subscribed.following.engine.get(filled.quoteId)?.fillableSize ?? 0n;
  const ofFill = await perAct(subscribed, fill, (n) => fillable() === ONE - BigInt(n + 1) * size);
  t.ok(ofFill <= most('a fill'), `${ofFill} for a fill`);
});
