import t, { type Test } from 'tap';
import type { Block } from 'viem';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { type Limits, limits as defaultLimits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { DevActions } from '../chain/dev-actions.js';
import { Following, httpRpc, visibleBook } from '../chain/following.js';
import { RpcProxy, type RpcRequest, type Trick } from '../chain/rpc-proxy.js';
import { type SignedOffer, signOffer } from '../chain/sign-quote.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const dev = new DevActions(chain);
const [pool] = chain.pools;
const [, maker, stranger] = chain.accounts;
if (!pool || !maker || !stranger) throw new Error('The local chain lacks pools or accounts');
const clients = { settlement: dev.client, stream: dev.client };

const UNIT = 10n ** 16n;

/** One more quote, in a block of its own. */
const publish = async (): Promise<SignedOffer> => {
  const deadline = (await dev.now()) + 3600;
  const offer = await signOffer(maker, chain.chainId, { pool, price: 5n * UNIT, size: UNIT, isBuy: false, deadline });
  await dev.publish(stranger.address, [offer]);
  return offer;
};

/** A book that follows the chain through these endpoints, for both roles. */
async function follow(t: Test, count: number, changed: Partial<Limits> = {}) {
  const proxies = await Promise.all(Array.from({ length: count }, () => RpcProxy.open(chain.rpcUrl)));
  const limits: Limits = { ...defaultLimits, rpcBackoffMs: 1, rpcTimeoutMs: 1_000, lowerHeadMs: 60_000, ...changed };
  const urls = proxies.map(({ url }) => url);
  const rpc = { settlement: httpRpc(urls, limits), stream: httpRpc(urls, limits) };
  const following = await Following.start({ profile: chain.profile, rpc, limits });
  t.teardown(async () => {
    for (const proxy of proxies) proxy.trick = () => 'PASS';
    await following.stop();
    for (const proxy of proxies) proxy.close();
  });
  return { following, proxies, rpc };
}

/** The book ends as one that reads the chain in good order. */
async function sameAsFromScratch(t: Test, following: Following): Promise<void> {
  await following.upToDate(clients);
  const fresh = await Following.start({ profile: chain.profile });
  t.teardown(() => fresh.stop());
  await fresh.upToDate(clients);
  t.strictSame(visibleBook(following.engine), visibleBook(fresh.engine));
  t.equal(following.halted, null);
}

/** As JSON-RPC has it. */
async function rawBlock(number: bigint): Promise<unknown> {
  const params = [`0x${number.toString(16)}`, false];
  return dev.client.request<{ Method: 'eth_getBlockByNumber'; Parameters: unknown[]; ReturnType: Block }>({
    method: 'eth_getBlockByNumber',
    params,
  });
}

const isHead = ({ method, params }: RpcRequest): boolean => method === 'eth_getBlockByNumber' && params[0] === 'latest';
const isRange = ({ method, params }: RpcRequest): boolean =>
  method === 'eth_getLogs' && 'fromBlock' in (params[0] as object);

/** Near the head, blocks that may hold quotes are asked for whole, whatever contract their logs are of. */
const isWhole = ({ params }: RpcRequest): boolean => (params[0] as { topics: unknown[] }).topics.length === 0;
const isOfStream = (request: RpcRequest): boolean =>
  request.method === 'eth_getLogs' &&
  (isWhole(request) || JSON.stringify(request).toLowerCase().includes(chain.contracts.orderbookStream.toLowerCase()));

await t.test(
  'a node that falls back to an older head is left for another, and nothing is missed or undone',
  async (t) => {
    const { following, proxies } = await follow(t, 2);
    const [first] = proxies;
    if (first === undefined) throw new Error('There are two');
    await publish();
    await following.upToDate(clients);
    const before = visibleBook(following.engine);
    const height = await dev.client.getBlockNumber();
    const old = await rawBlock(height - 3n);
    first.trick = (request) => (isHead(request) ? { rewrite: () => old } : 'PASS');
    await following.until(() => (proxies[1]?.requests.length ?? 0) > 10);
    t.strictSame(visibleBook(following.engine), before, 'the lower head undid nothing');
    const { quoteId } = await publish();
    await following.until(() => following.engine.get(quoteId)?.state === 'live');
    await sameAsFromScratch(t, following);
  },
);

await t.test(
  'when a node dies in the middle of a poll, what the next one does not have yet is not taken for nothing',
  async (t) => {
    const { following, proxies } = await follow(t, 2);
    await following.upToDate(clients);
    const [first, second] = proxies;
    if (first === undefined || second === undefined) throw new Error('There are two');
    // Both show an old head while the chain goes on, so that the next poll reads a range.
    const old = await rawBlock(await dev.client.getBlockNumber());
    for (const proxy of proxies) proxy.trick = (request) => (isHead(request) ? { rewrite: () => old } : 'PASS');
    const offers = [await publish(), await publish(), await publish()];
    let lies = 0;
    first.trick = (request) => (request.method === 'eth_getLogs' ? 'CUT' : 'PASS');
    second.trick = (request) => (isOfStream(request) && lies++ === 0 ? { rewrite: () => [] } : 'PASS');
    await following.until(() => offers.every(({ quoteId }) => following.engine.get(quoteId) !== undefined));
    t.ok(lies > 1, 'the second node was asked again for what the first had begun');
    await sameAsFromScratch(t, following);
  },
);

const PUBLISHED = 5;
await t.test('a node that shows a head of another fork now and then costs a look back and no more', async (t) => {
  const { following, proxies } = await follow(t, 1);
  await following.upToDate(clients);
  let heads = 0;
  let forks = 0;
  const forked = (result: unknown): unknown => {
    const hash = `0x${(++heads).toString(16).padStart(64, 'f')}`;
    if (heads % 3 !== 0) return result;
    forks += 1;
    return { ...(result as object), hash, parentHash: hash };
  };
  const [proxy] = proxies;
  if (proxy === undefined) throw new Error('There is one');
  const before = proxy.requests.length;
  proxy.trick = (request) => (isHead(request) ? { rewrite: forked } : 'PASS');
  for (let n = 0; n < PUBLISHED; n++) {
    const { quoteId } = await publish();
    await following.until(() => following.engine.get(quoteId)?.state === 'live');
  }
  const requests = proxy.requests.slice(before);
  proxy.trick = () => 'PASS';
  const count = (isWanted: (request: RpcRequest) => boolean): number => requests.filter(isWanted).length;
  const blocks = count((request) => request.method === 'eth_getBlockByNumber' && !isHead(request));
  const logs = count(({ method }) => method === 'eth_getLogs');
  t.comment(`${heads} heads, ${forks} of other forks, ${blocks} blocks and logs ${logs} times`);
  t.ok(forks > 0, 'heads of other forks were served');
  // Two chains are read; looking back further than one block, or reading a branch anew, would take several for each fork.
  t.ok(blocks <= forks + 2 * PUBLISHED, `${blocks} blocks were looked at for ${forks} heads`);
  t.ok(logs <= forks + 2 * PUBLISHED, `${logs} times logs were read`);
  await sameAsFromScratch(t, following);
});

const REFUSALS = [
  { code: -32602, message: 'query returned more than 10000 results' },
  { code: -32005, message: 'query returned more than 10000 results' },
  {
    code: -32600,
    message: 'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range',
  },
] as const;
await t.test('ranges are halved until a node takes them, whatever code its refusal has', async (t) => {
  await dev.client.mine({ blocks: 100 });
  await publish();
  const { following, proxies } = await follow(t, 1, { reorgDepth: 8 });
  const taken: number[] = [];
  let refused = 0;
  for (const proxy of proxies) {
    proxy.trick = (request) => {
      if (!isRange(request)) return 'PASS';
      const { fromBlock, toBlock } = request.params[0] as { fromBlock: Hex; toBlock: Hex };
      const blocks = Number(toBlock) - Number(fromBlock) + 1;
      const error = REFUSALS[refused % REFUSALS.length];
      if (blocks > 20 && error !== undefined) {
        refused++;
        return { error };
      }
      taken.push(blocks);
      return 'PASS';
    };
  }
  await sameAsFromScratch(t, following);
  t.ok(refused > REFUSALS.length);
  t.ok(Math.max(...taken) > 10, 'and they grow again to what it takes');
});

const BAD: readonly Trick[] = [
  { status: 429, headers: { 'retry-after': '0' }, body: '' },
  { status: 200, body: '<html><body>Please enable cookies</body></html>' },
  { status: 200, body: `{"jsonrpc":"2.0","id":1,"result":"0x${'0'.repeat(10 << 20)}"}` },
  { status: 503, body: 'no healthy upstream' },
  { error: { code: -32603, message: 'Internal error' } },
  { error: { code: -32000, message: 'header not found' } },
  'CUT',
  'CUT_AFTER',
  { rewrite: () => null },
  { rewrite: () => 'not what was asked for' },
];
await t.test('whatever else two bad nodes answer in between, the book is the same in the end', async (t) => {
  const { following, proxies } = await follow(t, 2, {
    rpcAnswerBytes: 1 << 20,
    rpcLogsAnswerBytes: 1 << 20,
    rpcReturnAfterMs: 20,
  });
  let requests = 0;
  for (const proxy of proxies) {
    proxy.trick = () => (++requests % 4 === 0 ? (BAD[(requests / 4) % BAD.length] ?? 'PASS') : 'PASS');
  }
  const offers: SignedOffer[] = [];
  for (let n = 0; n < 12; n++) {
    offers.push(await publish());
    if (n % 4 === 3) await dev.fill(stranger.address, offers[n - 1] ?? (await publish()), UNIT / 2n);
    if (n % 4 === 1) await dev.cancel(maker.address, pool.poolAddress, [offers[n]?.quoteId ?? '0x']);
  }
  await following.until(() => offers.every(({ quoteId }) => following.engine.get(quoteId) !== undefined));
  t.ok(requests > 4 * BAD.length, 'each of them was met');
  for (const proxy of proxies) proxy.trick = () => 'PASS';
  await sameAsFromScratch(t, following);
});

await t.test('the preferred node is read from again when it is well', async (t) => {
  const { following, proxies, rpc } = await follow(t, 2, { rpcReturnAfterMs: 20 });
  const [first] = proxies;
  if (first === undefined) throw new Error('There are two');
  await following.upToDate(clients);
  first.trick = () => 'CUT';
  const { quoteId } = await publish();
  await following.until(() => following.engine.get(quoteId) !== undefined);
  t.strictSame([rpc.settlement.endpoint, rpc.stream.endpoint], [1, 1]);
  first.trick = () => 'PASS';
  await following.until(() => rpc.settlement.endpoint === 0 && rpc.stream.endpoint === 0);
  await sameAsFromScratch(t, following);
});

await t.test('quotes enter, and cancels count, once enough blocks follow them', async (t) => {
  const confirmed = (confirmations: number): Profile => ({
    ...chain.profile,
    settlement: { ...chain.profile.settlement, confirmations },
    stream: { ...chain.profile.stream, confirmations },
  });
  const following = await Following.start({ profile: confirmed(3) });
  t.teardown(() => following.stop());
  const direct = await Following.start({ profile: chain.profile });
  t.teardown(() => direct.stop());
  const { quoteId } = await publish();
  const readTo = async (back: bigint): Promise<void> => {
    const { hash } = await dev.client.getBlock({ blockNumber: (await dev.client.getBlockNumber()) - back });
    await following.until(() => following.chains.readTo('stream')?.blockHash === hash);
    await following.until(() => following.chains.readTo('settlement')?.blockHash === hash);
  };
  for (let n = 0; n < 3; n++) {
    await readTo(3n);
    t.equal(following.engine.get(quoteId), undefined, `${n} blocks follow it`);
    await dev.client.mine({ blocks: 1 });
  }
  await following.until(() => following.engine.get(quoteId)?.state === 'live');
  await dev.cancel(maker.address, pool.poolAddress, [quoteId]);
  await direct.until(() => direct.engine.get(quoteId)?.state === 'gone');
  for (let n = 0; n < 3; n++) {
    await readTo(3n);
    t.equal(following.engine.get(quoteId)?.state, 'live', `${n} blocks follow its cancel`);
    await dev.client.mine({ blocks: 1 });
  }
  await following.until(() => following.engine.get(quoteId)?.state === 'gone');
});
