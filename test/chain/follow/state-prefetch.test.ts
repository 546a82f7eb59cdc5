import t from 'tap';
import type { IdentifiedQuote } from '../../../src/chain/contracts/quote-types.js';
import type { QuoteReading } from '../../../src/chain/follow/quote-states.js';
import { StatePrefetch } from '../../../src/chain/follow/state-prefetch.js';
import { blockHashOf, sampleQuote } from '../../engine/samples.js';
import { Market } from '../dev/market.js';
import { Following, httpRpc, newOperator } from '../following.js';
import { RpcProxy } from '../rpc-proxy.js';

const block = { blockNumber: 7, blockHash: blockHashOf(7) };
const [first, second, third] = [1, 2, 3].map((n): IdentifiedQuote => sampleQuote({ n })) as [
  IdentifiedQuote,
  IdentifiedQuote,
  IdentifiedQuote,
];

/** Each answer has a size of its own, which identifies the quote and the request. */
function statePrefetch(...awaited: readonly IdentifiedQuote[]) {
  const asked: { quotes: readonly IdentifiedQuote[]; blockNumber: number }[] = [];
  const node = { isWell: true };
  let answers = 0n;
  const states = {
    read(quotes: readonly IdentifiedQuote[], at: unknown): Promise<QuoteReading[]> {
      if (quotes.length > 0) asked.push({ quotes, blockNumber: (at as typeof block).blockNumber });
      if (!node.isWell) return Promise.reject(new Error('no answer'));
      return Promise.resolve(quotes.map(() => ({ state: { fillableSize: ++answers, reason: null }, error: null })));
    },
  };
  const list = [...awaited];
  const prefetch = new StatePrefetch(states, () => list, 2);
  const read = async (quotes: readonly IdentifiedQuote[], at = block): Promise<bigint[]> =>
    (await prefetch.read(quotes, at)).map(({ state }) => state.fillableSize);
  return { prefetch, read, asked, node, list };
}

t.test('what was foreseen is not asked again, and what was not is, in the order of the quotes', async (t) => {
  const { prefetch, read, asked } = statePrefetch(first, third);
  prefetch.prefetch(block);
  t.strictSame(await read([third, second, first]), [2n, 3n, 1n]);
  t.strictSame(asked, [
    { quotes: [first, third], blockNumber: 7 },
    { quotes: [second], blockNumber: 7 },
  ]);
});

t.test('a quote is asked about once a block, however often the block is seen', async (t) => {
  const { prefetch, read, asked, list } = statePrefetch(first);
  prefetch.prefetch(block);
  prefetch.prefetch(block);
  list.push(second);
  prefetch.prefetch(block);
  t.strictSame(await read([first, second]), [1n, 2n]);
  t.strictSame(
    asked.map(({ quotes }) => quotes),
    [[first], [second]],
  );
});

t.test('the state after another block is asked anew', async (t) => {
  const { prefetch, read, asked } = statePrefetch(first);
  prefetch.prefetch(block);
  const replaced = { blockNumber: 7, blockHash: blockHashOf(7, 1) };
  t.strictSame(await read([first], replaced), [2n]);
  prefetch.prefetch(replaced);
  t.strictSame(await read([first], replaced), [3n]);
  t.equal(asked.length, 3);
});

t.test('the same terms under another signature are asked about: the signature is what a pool checks', async (t) => {
  const { prefetch, read } = statePrefetch(first);
  prefetch.prefetch(block);
  const { signature } = first;
  for (const part of ['r', 's'] as const) {
    const other = { ...first, signature: { ...signature, [part]: blockHashOf(5) } };
    t.not((await read([other]))[0], 1n, part);
  }
  const v = signature.v === 27 ? 28 : 27;
  t.not((await read([{ ...first, signature: { ...signature, v } }]))[0], 1n, 'v');
  t.strictSame(await read([{ ...first }]), [1n]);
});

t.test('where no answer came it is asked again, and that answer or error counts', async (t) => {
  const { prefetch, read, node } = statePrefetch(first);
  node.isWell = false;
  prefetch.prefetch(block);
  await t.rejects(read([first]), { message: 'no answer' });
  node.isWell = true;
  t.strictSame(await read([first]), [1n]);
});

t.test('what is awaited no more is forgotten, also while no block comes', async (t) => {
  const { prefetch, read, list } = statePrefetch(first, second);
  prefetch.prefetch(block);
  list.splice(0, 2, third);
  prefetch.prefetch(block);
  t.strictSame(await read([third]), [3n], 'and leaves room for others');
  t.strictSame(await read([first]), [4n]);
});

t.test('nothing is foreseen of more quotes than fit into one question', async (t) => {
  const { prefetch, read, asked } = statePrefetch(first, second, third);
  prefetch.prefetch(block);
  t.strictSame(asked, []);
  t.strictSame(await read([second]), [1n]);
});

t.test('a quote that the wallet publishes is asked about before the logs of its block have come', async (t) => {
  const market = await Market.open(t);
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const rpc = { settlement: httpRpc([proxy.url]), stream: httpRpc([proxy.url]) };
  const { profile } = market.chain;
  const following = await Following.start({ profile, rpc, operator: newOperator(market.operator.privateKey) });
  t.teardown(() => following.stop());
  await following.until(() => following.chains.follower.caughtUp);

  /** By block hash: what came, in turn. */
  const seen = new Map<unknown, string[]>();
  const note = (blockHash: unknown, what: string): void => {
    seen.set(blockHash, [...(seen.get(blockHash) ?? []), what]);
  };
  proxy.trick = ({ method, params }) => {
    if (method === 'eth_call') note((params[1] as { blockHash?: unknown }).blockHash, 'asked');
    if (method !== 'eth_getLogs') return 'PASS';
    return {
      rewrite(logs) {
        note((params[0] as { blockHash?: unknown }).blockHash, 'logs');
        return logs;
      },
    };
  };
  const offer = await market.sign(market.pool('testWETH', 1800n, true));
  t.strictSame(await following.chains.publisher?.publish(offer), { type: 'ENTERED', isSent: true });
  const number = following.engine.get(offer.quoteId)?.quote.origin.blockNumber ?? 0;
  const { hash } = await market.client.getBlock({ blockNumber: BigInt(number) });
  const ofItsBlock = seen.get(hash) ?? [];
  t.equal(ofItsBlock[0], 'asked');
  t.equal(ofItsBlock.filter((what) => what === 'asked').length, 1, 'and once');
  t.ok(ofItsBlock.includes('logs'));
});
