import t from 'tap';
import { type Hex, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { isLiveRfq } from '../../src/engine/rfq-store.js';
import { RfqDesk, type RfqRequest } from '../../src/rfq/rfq-desk.js';
import { enter, MAKER, POOL, quoteIdOf, samplePool, sampleQuote, TAKER } from '../engine/samples.js';
import { World } from '../persistence/world.js';

const ROOM = 5;
const leg = { poolAddress: POOL.poolAddress, side: 'ask', size: 10n, body: '{}' } as const;
const other = { ...leg, poolAddress: samplePool(1).poolAddress };
const request: RfqRequest = {
  owner: 'key',
  clientId: 'mine',
  minQuotes: 1,
  makers: [],
  legs: [leg, other],
  taker: TAKER,
  hiddenTaker: null,
  validUntil: null,
};

/** A desk whose log takes ROOM records until it has committed them. */
async function setUp() {
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? 300 : 0) });
  const process = await world.start({ queueRecords: ROOM });
  const { sequencer, time, log } = process;
  const desk = new RfqDesk({
    engine: log.engine,
    sequencer,
    nowSeconds: () => Math.floor(time.nowMs() / 1000),
    random: world.random,
    limits: { rfqSeconds: 60, rfqMaxSeconds: 600, liveRfqs: 9, liveRfqsPerKey: 9 },
  });
  /** Leaves room for so many records. */
  const fillUpTo = (room: number): void => world.submit(process, ROOM - room - log.journal.waiting.records);
  const states = () => [...log.engine.rfqs.all()];
  const live = () =>
    states()
      .filter(isLiveRfq)
      .map(({ terms }) => terms.rfqId);
  const emptied = (): Promise<void> => world.clock.until(log.journal.flush());
  const open = (changed: Partial<RfqRequest> = {}) => world.clock.until(desk.open({ ...request, ...changed }));
  /** The oldest package. */
  const cancel = () => world.clock.until(desk.cancel(request.owner, states()[0]?.terms.leg?.packageId ?? ''));
  /** A request of a socket. */
  const publish = (taker: Hex) => world.clock.until(desk.publish({ ...leg, taker }, request.owner));
  return { cancel, emptied, fillUpTo, live, open, publish, sequencer, states };
}

t.test('of a package all legs are opened or none', async (t) => {
  const { open, fillUpTo, live, emptied } = await setUp();
  fillUpTo(0);
  t.strictSame(await open(), { type: 'REFUSED', why: 'BUSY' });
  t.strictSame(live(), []);
  await emptied();
  fillUpTo(1);
  const opened = await open();
  t.match(opened, { type: 'OPENED', isNew: true });
  t.strictSame(opened.type === 'OPENED' && opened.rfqIds, live());
  t.equal(live().length, 2);
});

t.test('of a package all legs are cancelled or none', async (t) => {
  const { cancel, open, fillUpTo, live, emptied } = await setUp();
  await open();
  fillUpTo(0);
  t.equal(await cancel(), 'BUSY');
  t.equal(live().length, 2);
  await emptied();
  fillUpTo(1);
  t.equal(await cancel(), 'OK');
  t.strictSame(live(), []);
});

t.test('the same package again under its client id is the one that is live', async (t) => {
  const { open, live } = await setUp();
  const first = await open();
  t.strictSame(await open(), { ...first, isNew: false });
  t.equal(live().length, 2);
});

t.test('another request cannot have the client id of one that is live', async (t) => {
  const { cancel, open, live } = await setUp();
  await open();
  const used = { type: 'REFUSED', why: 'CLIENT_ID_USED' };
  t.strictSame(await open({ legs: [leg] }), used);
  t.strictSame(await open({ legs: [other, leg] }), used);
  t.strictSame(await open({ legs: [leg, { ...other, size: 11n }] }), used);
  t.strictSame(await open({ legs: [leg, { ...other, side: 'bid' }] }), used);
  t.strictSame(await open({ taker: MAKER }), used);
  t.equal(live().length, 2);
  t.match(await open({ owner: 'another key' }), { type: 'OPENED', isNew: true });
  await cancel();
  t.match(await open({ legs: [leg] }), { type: 'OPENED', isNew: true });
});

t.test('a request of a socket is followed if it has a taker', async (t) => {
  const { publish, states } = await setUp();
  t.equal(await publish(TAKER), 'OK');
  t.match(
    states().map(({ rfq }) => rfq),
    [{ taker: TAKER }],
  );
  t.equal(await publish(ZERO_ADDRESS), 'OK');
  t.equal(states().length, 1);
});

t.test('a request of a socket without a taker takes no answer from one with a hidden taker', async (t) => {
  const { emptied, publish, open, sequencer, states } = await setUp();
  await publish(ZERO_ADDRESS);
  await open({ legs: [leg], taker: ZERO_ADDRESS, hiddenTaker: TAKER });
  sequencer.submit(enter(sampleQuote({ n: 1 })));
  await emptied();
  t.match(
    states().map(({ terms, answers }) => [terms.taker, answers.map(({ quoteId }) => quoteId)]),
    [[TAKER, [quoteIdOf(1)]]],
  );
});

t.test('without room the newest package of the key with most gives way to a key with fewer', async (t) => {
  const { open, emptied, states } = await setUp();
  for (const clientId of ['1', '2', '3', '4']) await open({ owner: 'greedy', clientId });
  await emptied();
  t.match(await open({ owner: 'modest' }), { type: 'OPENED' });
  t.strictSame(
    states().map(({ terms: { owner, clientId }, progress }) => [owner, clientId, progress.status]),
    [
      ...['1', '1', '2', '2', '3', '3'].map((clientId) => ['greedy', clientId, 'open']),
      ...['4', '4'].map((clientId) => ['greedy', clientId, 'cancelled']),
      ...['mine', 'mine'].map((clientId) => ['modest', clientId, 'open']),
    ],
  );
});

t.test('no request gives way to a key that would then have more', async (t) => {
  const { open, emptied, live } = await setUp();
  for (const clientId of ['1', '2']) for (const owner of ['a', 'b']) await open({ owner, clientId });
  await emptied();
  t.strictSame(await open({ owner: 'a', clientId: '3' }), { type: 'REFUSED', why: 'TOO_MANY' });
  t.equal(live().length, 8);
});
