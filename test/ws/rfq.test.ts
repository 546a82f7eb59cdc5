import t from 'tap';
import type { Rfq } from '../../src/engine/command.js';
import type { Hex } from '../../src/engine/quote.js';
import { GatewayFixture, address, chainId, poolAddress, settled } from './gateway-fixture.js';

const taker = '0xFab0000000000000000000000000000000000002';
const byAddress = {
  poolAddress: '0xABCDEF0000000000000000000000000000000001',
  side: 'bid',
  chainId,
  size: '0001000000000000000',
  taker,
};
const poolKey = {
  base: '0xABCDEF0000000000000000000000000000000011',
  quote: address(2),
  oracleAdapter: address(3),
  strike: '1800000000000000000000',
  maturity: 1_709_280_000,
  isCallPool: true,
};
const byPoolKey = { poolKey, side: 'ask', chainId, size: '7', taker };
const rfq = (body: object) => ({ type: 'RFQ', body });
const info = (message: string) => ({ type: 'INFO', body: null, message });
const error = (message: string) => ({ type: 'ERROR', body: null, message });
const published = (key: string) => info(`Published RFQ to ${key} Redis channel`);

t.test('a request by pool address is published in the words of its taker', async (t) => {
  const fixture = new GatewayFixture();
  const maker = fixture.subscribed('RFQ');
  const asking = fixture.authorized();
  asking.says(rfq(byAddress));
  await settled();
  t.same(asking.take(), [published(`rfq:421613:${byAddress.poolAddress.toLowerCase()}:bid:${taker.toLowerCase()}`)]);
  t.strictSame(maker.take(), [rfq(byAddress)]);
});

t.test('a request by pool key is routed by the address that belongs to the key', async (t) => {
  const asked: unknown[] = [];
  const fixture = new GatewayFixture({
    poolAddressOf: async (key) => {
      asked.push(key);
      return poolAddress;
    },
  });
  const maker = fixture.subscribed('RFQ', { poolAddress, side: 'ask' });
  const asking = fixture.authorized();
  asking.says(rfq(byPoolKey));
  await settled();
  t.same(asking.take(), [published(`rfq:421613:${poolAddress}:ask:${taker.toLowerCase()}`)]);
  t.strictSame(maker.take(), [rfq(byPoolKey)]);
  t.same(asked, [{ ...poolKey, strike: 1800n * 10n ** 18n }]);
});

t.test('a maturity in decimal text is published as a number', async (t) => {
  const fixture = new GatewayFixture({ poolAddressOf: async () => poolAddress });
  const maker = fixture.subscribed('RFQ');
  const asking = fixture.authorized();
  asking.says(rfq({ ...byPoolKey, poolKey: { ...poolKey, maturity: String(poolKey.maturity) } }));
  await settled();
  t.same(asking.take(), [published(`rfq:421613:${poolAddress}:ask:${taker.toLowerCase()}`)]);
  t.strictSame(maker.take(), [rfq(byPoolKey)]);
  t.same(
    fixture.log.map(({ body }) => body),
    [JSON.stringify(byPoolKey)],
    'with its fields in the order in which they came',
  );
});

t.test('what goes into the log is read by the letter and by the number', async (t) => {
  const fixture = new GatewayFixture();
  fixture.authorized().says(rfq(byAddress));
  await settled();
  t.same(fixture.log, [
    {
      poolAddress: byAddress.poolAddress.toLowerCase(),
      side: 'bid',
      size: 10n ** 15n,
      taker: taker.toLowerCase(),
      body: JSON.stringify(byAddress),
    },
  ]);
});

t.test('who publishes a request and follows requests gets his own', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('RFQ');
  socket.says(rfq(byAddress));
  await settled();
  t.same(
    (socket.take() as { type: string }[]).map(({ type }) => type),
    ['RFQ', 'INFO'],
  );
});

t.test('requests are followed by pool, side, taker and minimum size', async (t) => {
  const fixture = new GatewayFixture();
  const hears = async (filter: object) => {
    const maker = fixture.subscribed('RFQ', filter);
    fixture.authorized().says(rfq({ ...byAddress, size: '10' }));
    await settled();
    return maker.received.length === 1;
  };
  t.ok(await hears({}));
  t.ok(await hears({ taker: '*' }));
  t.ok(await hears({ taker }));
  t.notOk(await hears({ taker: address(1) }));
  t.ok(await hears({ poolAddress: byAddress.poolAddress }));
  t.notOk(await hears({ poolAddress }));
  t.ok(await hears({ side: 'bid' }));
  t.notOk(await hears({ side: 'ask' }));
  t.ok(await hears({ size: '10' }));
  t.notOk(await hears({ size: '11' }));
  t.ok(await hears({ provider: address(1) }), 'a request has no maker to compare with');
});

t.test('a request is acknowledged and told once it is durable, not before', async (t) => {
  let durable: () => void = () => undefined;
  const fixture: GatewayFixture = new GatewayFixture({
    publish: (rfq) => new Promise((resolve) => (durable = () => resolve(fixture.commit(rfq)))),
  });
  const socket = fixture.subscribed('RFQ');
  socket.says(rfq(byAddress));
  await settled();
  t.same(socket.received, []);
  durable();
  await settled();
  t.equal(socket.received.length, 2);
});

t.test('requests enter the log in the order in which they came, however long an address takes', async (t) => {
  let answer: (address: Hex) => void = () => undefined;
  const fixture = new GatewayFixture({ poolAddressOf: () => new Promise((resolve) => (answer = resolve)) });
  const socket = fixture.authorized();
  socket.says(rfq(byPoolKey));
  socket.says(rfq(byAddress));
  await settled();
  t.same(fixture.log, []);
  answer(poolAddress);
  await settled();
  t.same(
    fixture.log.map(({ side }) => side),
    ['ask', 'bid'],
  );
});

t.test('a request does not wait for the one before to become durable', async (t) => {
  const submitted: Rfq[] = [];
  const fixture = new GatewayFixture({
    publish: (rfq) => {
      submitted.push(rfq);
      return new Promise(() => undefined);
    },
  });
  const socket = fixture.authorized();
  for (let sent = 0; sent < 5; sent++) socket.says(rfq(byAddress));
  await settled();
  t.equal(submitted.length, 4);
  t.same(socket.take(), [error('Too many RFQs: 4 of them wait to be published')]);
});

t.test('a request that has its answer makes room for another, whatever the answer was', async (t) => {
  const answers = [poolAddress, 'IMPOSSIBLE', new Error('lost')] as const;
  let asked = 0;
  const fixture = new GatewayFixture({
    poolAddressOf: async () => {
      const answer = answers[asked++ % answers.length] ?? 'IMPOSSIBLE';
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const socket = fixture.authorized();
  // Four may wait; what comes after a fault is not held up by it.
  for (let round = 0; round < 3; round++) {
    for (let sent = 0; sent < 3; sent++) socket.says(rfq(byPoolKey));
    await settled();
    t.match(socket.take(), [
      published(`rfq:421613:${poolAddress}:ask:${taker.toLowerCase()}`),
      error('Failed to fetch pool address'),
      error('RFQ not published: internal error'),
    ]);
  }
});

t.test('an impossible pool key and an unreachable chain get different errors', async (t) => {
  const answers = ['IMPOSSIBLE', 'UNAVAILABLE', poolAddress] as const;
  const asked = answers.values();
  const fixture = new GatewayFixture({ poolAddressOf: async () => asked.next().value ?? 'IMPOSSIBLE' });
  const socket = fixture.authorized();
  answers.forEach(() => socket.says(rfq(byPoolKey)));
  await settled();
  t.same(socket.take(), [
    error('Failed to fetch pool address'),
    error('Failed to fetch pool address: the chain does not answer'),
    published(`rfq:421613:${poolAddress}:ask:${taker.toLowerCase()}`),
  ]);
});

t.test('a chain that leaves the question open holds nothing up for long', async (t) => {
  let asked = 0;
  let answer: (address: Hex) => void = () => undefined;
  const fixture = new GatewayFixture({
    poolAddressOf: () => {
      asked += 1;
      return new Promise((resolve) => (answer = resolve));
    },
  });
  const socket = fixture.authorized();
  for (const body of [byPoolKey, byPoolKey, byAddress]) socket.says(rfq(body));
  fixture.clock.advance(4_999);
  await settled();
  t.same(socket.take(), []);
  fixture.clock.advance(1);
  await settled();
  const unanswered = error('Failed to fetch pool address: the chain does not answer');
  t.same(socket.take(), [
    unanswered,
    unanswered,
    published(`rfq:421613:${byAddress.poolAddress.toLowerCase()}:bid:${taker.toLowerCase()}`),
  ]);
  t.equal(asked, 1, 'what came with the first one waits no longer than that');
  answer(poolAddress);
  await settled();
  t.same(socket.take(), [], 'an answer that comes later publishes nothing');
  socket.says(rfq(byPoolKey));
  await settled();
  answer(poolAddress);
  await settled();
  t.same(socket.take(), [published(`rfq:421613:${poolAddress}:ask:${taker.toLowerCase()}`)]);
  fixture.clock.advance(5_000);
  await settled();
  t.same(socket.take(), []);
});

t.test('a log that takes nothing now is named', async (t) => {
  for (const refusal of ['STORAGE_FULL', 'BUSY'] as const) {
    const fixture = new GatewayFixture({ publish: async () => refusal });
    const socket = fixture.authorized();
    socket.says(rfq(byAddress));
    await settled();
    t.same(socket.take(), [error(`RFQ not published: ${refusal}`)]);
  }
});

t.test('a fault inside is reported, answered, and does not hold up what follows', async (t) => {
  const failing = [true, false].values();
  const fixture: GatewayFixture = new GatewayFixture({
    publish: async (rfq) => {
      if (failing.next().value === true) throw new Error('lost');
      return fixture.commit(rfq);
    },
  });
  const socket = fixture.authorized();
  socket.says(rfq(byAddress));
  socket.says(rfq(byAddress));
  await settled();
  t.same(
    (socket.take() as { message: string }[]).map(({ message }) => message.slice(0, 13)),
    ['RFQ not publi', 'Published RFQ'],
  );
  t.match(fixture.faults, [{ message: 'lost' }]);
});

t.test('a request whose taker has gone is published all the same', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  socket.says(rfq(byAddress));
  fixture.net.drop(socket);
  await settled();
  t.equal(fixture.log.length, 1);
  t.same(socket.received, []);
});
