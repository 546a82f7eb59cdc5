import t from 'tap';
import { LeaderWatch } from '../../src/app/gateway-core.js';
import type { LeaderNews } from '../../src/cluster/members.js';
import { ManualClock } from '../system/manual-clock.js';

const block = (blockNumber: number) =>
  ({ blockNumber, blockHash: `0x${blockNumber.toString(16).padStart(64, '0')}` }) as const;

function news(seq: number, readTo: number): LeaderNews {
  const chain = { head: null, stale: null, failure: null, readTo: block(readTo) };
  const leader = { member: 'a', term: 1, group: 0, engineMs: 0, caughtUp: true, refusal: null, wallet: null };
  return { ...leader, seq, chains: { settlement: chain, stream: chain } };
}

t.test('a block counts as read once the book here has the events that the leader had then', (t) => {
  const watch = new LeaderWatch(new ManualClock(), 1_000);
  t.equal(watch.readTo('settlement', 10), null, 'nothing was heard');
  watch.heard(news(10, 7));
  t.equal(watch.readTo('settlement', 9), null);
  t.strictSame(watch.readTo('settlement', 10), block(7));
  watch.heard(news(12, 8));
  t.strictSame(watch.readTo('settlement', 11), block(7));
  t.strictSame(watch.readTo('settlement', 12), block(8));
  t.end();
});
