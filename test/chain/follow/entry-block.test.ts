import t, { type Test } from 'tap';
import { startLocalChain } from '../../../src/chain/dev/local-chain.js';
import type { Engine } from '../../../src/engine/engine.js';
import type { EngineEvent } from '../../../src/engine/event.js';
import { DevActions } from '../dev-actions.js';
import { Market, ONE } from '../dev/market.js';
import { Following } from '../following.js';

// Two chains, so that one can take back what it said while the other stays.
const market = await Market.open(t);
const other = await startLocalChain();
t.teardown(() => other.stop());
const publisher = new DevActions(other);
const profile = { ...market.chain.profile, stream: other.profile.stream };
const clients = { settlement: market.client, stream: publisher.client };
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);

/** A process that has read of quotes which were gone before they were published, and what it knows of them. */
async function enteredGone(t: Test) {
  const first = await Following.start({ profile });
  t.teardown(() => first.stop());
  await first.upToDate(clients);
  const [filled, cancelled] = [await market.sign(call), await market.sign(call)];
  // Nobody knows of these quotes yet: no event of the settlement chain makes the book hear of its block.
  await market.fill(taker.address, filled, ONE);
  await market.cancel(maker.address, call.poolAddress, [cancelled.quoteId]);
  await first.upToDate(clients);
  await publisher.publish(stranger.address, [filled, cancelled]);
  await first.upToDate(clients);
  await first.stop();
  const states = () => [filled, cancelled].map(({ quoteId }) => first.engine.get(quoteId)?.state);
  t.strictSame(states(), ['gone', 'gone']);
  return { engine: first.engine, states };
}

/** The next process: what it tells until it has read both chains. */
async function goOn(t: Test, engine: Engine): Promise<EngineEvent[]> {
  const events: EngineEvent[] = [];
  const again = await Following.start({ profile, engine, onEvents: (more) => events.push(...more) });
  t.teardown(() => again.stop());
  await again.until(() => again.chains.follower.caughtUp);
  t.strictSame(again.failures, []);
  return events;
}

t.test('a process that starts anew tells nothing of quotes that were gone when they entered', async (t) => {
  const { engine, states } = await enteredGone(t);
  t.strictSame(await goOn(t, engine), []);
  t.strictSame(states(), ['gone', 'gone']);
});

t.test('it sees that the settlement block of their entry was replaced meanwhile', async (t) => {
  const { engine, states } = await enteredGone(t);
  await market.reorg(2);
  const events = await goOn(t, engine);
  t.strictSame(states(), ['live', 'live']);
  t.strictSame(
    events.map(({ type }) => type),
    ['TRADES_UNDONE', 'QUOTE_RESTATED', 'QUOTE_RESTATED'],
    'one event each, and one for their trades',
  );
});

t.test('a book is caught up when the longer of its chains has been read to its head, too', async (t) => {
  await market.client.mine({ blocks: 60 });
  const head = Number(await market.client.getBlockNumber());
  const following = await Following.start({ profile, limits: { logRangeBlocks: 5 } });
  t.teardown(() => following.stop());
  await following.until(() => following.chains.follower.caughtUp);
  t.equal(following.chains.readTo('settlement')?.blockNumber, head);
});
