import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RpcProxy, type RpcRequest } from '../chain/rpc-proxy.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

/** Blocks of one log query that the node takes, and how many come while the service is away: several such queries. */
const NODE_TAKES = 100;
const BLOCKS_AWAY = 350;

interface Orders {
  readonly validQuotes: readonly { readonly quoteId: string; readonly fillableSize: string; readonly ts: number }[];
  readonly invalidQuotes: readonly { readonly reason: string; readonly quote: { readonly quoteId: string } }[];
}

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const proxy = await RpcProxy.open(chain.rpcUrl);
t.teardown(() => proxy.close());
const market = new Market(chain);
const { maker, taker, stranger, operator } = market;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);

const one = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
const behindProxy = { ...chain, profile: { ...chain.profile, settlement: one, stream: one } };
const service = await ServiceProcess.prepare(behindProxy, t.testdir(), { QUOTEBOOK_LOG_LEVEL: 'info' });
t.teardown(() => service.end('SIGKILL'));

async function orders(): Promise<Orders> {
  const rest = new RestClient(service.httpUrl, service.apiKey);
  return (await rest.get(`/orders?chainId=${chain.chainId}`)).body as unknown as Orders;
}

/** First and last block of a query for the logs of more than one block; null of any other request. */
function rangeOf({ method, params }: RpcRequest): readonly [from: number, to: number] | null {
  const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
  return method === 'eth_getLogs' && fromBlock !== undefined ? [Number(fromBlock), Number(toBlock)] : null;
}

const isTooLong = ([from, to]: readonly [number, number]): boolean => to - from >= NODE_TAKES;

await t.test('a service that was killed goes on from its own log, and is ready when it has caught up', async (t) => {
  const poolsReadTo = Number(await market.client.getBlockNumber());
  await service.start();
  const [filled, cancelled, kept] = await Promise.all([call, call, call].map((pool) => market.sign(pool)));
  const revoked = await market.sign(put, {}, operator);
  if (!filled || !cancelled || !kept) throw new Error('There are three');
  await market.publish(stranger.address, [filled, cancelled, kept, revoked]);
  while ((await orders()).validQuotes.length < 4);
  const before = new Map((await orders()).validQuotes.map((quote) => [quote.quoteId, quote]));
  const readTo = Number(await market.client.getBlockNumber());
  t.equal(await service.end('SIGKILL'), 'SIGKILL');

  await market.fill(taker.address, filled, ONE / 4n);
  await market.cancel(maker.address, call.poolAddress, [cancelled.quoteId]);
  await market.approve(operator.address, market.token('USDC'), chain.contracts.erc20Router, 0n);
  await market.client.mine({ blocks: BLOCKS_AWAY });
  const late = await market.sign(call);
  await market.publish(stranger.address, [late]);
  proxy.requests.length = 0;
  proxy.trick = (request) => {
    const range = rangeOf(request);
    const error = { code: -32602, message: `query exceeds max block range ${NODE_TAKES}` };
    return range !== null && isTooLong(range) ? { error } : 'PASS';
  };
  await service.start();

  const { validQuotes, invalidQuotes } = await orders();
  const sizes = Object.fromEntries(validQuotes.map(({ quoteId, fillableSize }) => [quoteId, fillableSize]));
  t.strictSame(sizes, {
    [filled.quoteId]: String((3n * ONE) / 4n),
    [kept.quoteId]: String(ONE),
    [late.quoteId]: String(ONE),
  });
  t.strictSame(
    invalidQuotes.map(({ reason, quote }) => [reason, quote.quoteId]),
    [['InsufficientCollateralAllowance', revoked.quoteId]],
  );
  t.equal(validQuotes.find(({ quoteId }) => quoteId === kept.quoteId)?.ts, before.get(kept.quoteId)?.ts);
  const taken = proxy.requests.map(rangeOf).filter((range) => range !== null && !isTooLong(range));
  // The stream's cursor is at its last block; the settlement chain had no event since the pools were read.
  const firsts = (ofStream: boolean): number[] =>
    proxy.requests.flatMap((request) => {
      const { address } = (request.params[0] ?? {}) as { address?: string };
      return (address !== undefined) === ofStream ? [rangeOf(request)?.[0] ?? Infinity] : [];
    });
  t.equal(Math.min(...firsts(true)), readTo + 1, 'what the log has of the stream is not read again');
  t.ok(Math.min(...firsts(false)) > poolsReadTo, 'nor what it has of the settlement chain');
  t.ok(taken.length >= 2 * Math.floor(BLOCKS_AWAY / NODE_TAKES), 'both chains were read in ranges that the node takes');
  t.match(service.said, /"msg":"catching up"/, 'and it tells how far it is');
});

await t.test('a log of another chain is refused by its name', async (t) => {
  await service.end('SIGTERM');
  const other = await startLocalChain();
  t.teardown(() => other.stop());
  const elsewhere = { ...other.profile, name: chain.profile.name };
  const moved = await ServiceProcess.prepare({ ...other, profile: elsewhere }, service.dataDir);
  await t.rejects(moved.start(), /settlementGenesis/);
});
