import t from 'tap';
import { numberToHex } from 'viem';
import { LogsBloom } from '../../../src/chain/follow/logs-bloom.js';
import { publishQuoteTopics } from '../../../src/chain/follow/published-quotes.js';
import type { Hex } from '../../../src/engine/quote.js';
import { Market } from '../dev/market.js';

const market = await Market.open(t);
const { address } = market.chain.profile.contracts.orderbookStream;
const [topic] = publishQuoteTopics;

t.test('the filter of a block’s logs is the one in its header', async (t) => {
  await market.publish(market.stranger.address, [await market.sign(market.pool('testWETH', 1800n, true))]);
  const { logsBloom, hash } = await market.client.getBlock();
  const logs = await market.client.getLogs({ blockHash: hash });
  t.equal(LogsBloom.of(logs).hex, logsBloom);
  t.ok(LogsBloom.of(logs).equals(LogsBloom.read(logsBloom)));
  const bloom = LogsBloom.read(logsBloom);
  t.ok(logs.length > 0 && logs.every((log) => bloom.hasLog(log)));
  t.ok(bloom.has(address) && bloom.has(topic) && bloom.isSelective);
  t.notOk(bloom.has(hash));
  t.notOk(bloom.hasLog({ address, topics: [topic, hash] }));
  t.notOk(LogsBloom.of([]).equals(bloom));
});

t.test('letter case makes no difference', (t) => {
  t.ok(LogsBloom.of([{ address: address.toLowerCase() as Hex, topics: [] }]).has(address));
  t.end();
});

t.test('a filter that has most bits set says nothing', (t) => {
  t.notOk(LogsBloom.read(numberToHex(2n ** 2048n - 1n)).isSelective);
  t.end();
});
