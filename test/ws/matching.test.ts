import fc from 'fast-check';
import t from 'tap';
import { type Hex, type Side, sideOf, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { filterKeys } from '../../src/feed/filters.js';
import { TopicIndex } from '../../src/feed/topic-index.js';
import { orderOf, posted, type QuoteTraits, rfqOf } from './event-samples.js';
import type { FakeSocket } from './fake-net.js';
import { address, chainId, GatewayFixture } from './gateway-fixture.js';

const pools = [address(0xa1), address(0xa2)] as const;
const takers = [address(0xc1), address(0xc2)] as const;
const providers = [address(0xb1), address(0xb2)] as const;
const sides: readonly Side[] = ['bid', 'ask'];

/** The wire's FILTER body, without its chain. */
interface Body {
  readonly poolAddress?: Hex;
  readonly side?: Side;
  readonly taker?: Hex | '*';
  readonly provider?: Hex;
  readonly size?: string;
}

type Channel = 'QUOTES' | 'RFQ';

interface Subscriber {
  readonly socket: FakeSocket;
  readonly filters: Map<Channel, Body>;
  readonly expected: string[];
}

type Step =
  | { readonly do: 'JOIN' }
  | { readonly do: 'LEAVE'; readonly who: number }
  | { readonly do: 'FILTER'; readonly who: number; readonly channel: Channel; readonly body: Body }
  | { readonly do: 'UNSUBSCRIBE'; readonly who: number; readonly channel: Channel }
  | { readonly do: 'POST'; readonly traits: Omit<QuoteTraits, 'n'> }
  | { readonly do: 'RFQ'; readonly traits: { poolAddress: Hex; side: Side; taker: Hex; size: bigint } };

const who = fc.nat({ max: 7 });
const channel = fc.constantFrom<Channel>('QUOTES', 'RFQ');
const size = fc.nat({ max: 4 });

const anyMix: fc.Arbitrary<Body> = fc.record(
  {
    poolAddress: fc.constantFrom(...pools),
    side: fc.constantFrom(...sides),
    taker: fc.constantFrom<Hex | '*'>(...takers, ZERO_ADDRESS, '*'),
    provider: fc.constantFrom(...providers),
    size: size.map(String),
  },
  { requiredKeys: [] },
);

/** Often a size alone, so that several minimum sizes meet under one key. */
const body: fc.Arbitrary<Body> = fc.oneof(anyMix, fc.record({ size: size.map(String) }));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ do: 'JOIN' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('LEAVE' as const), who }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('FILTER' as const), who, channel, body }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('UNSUBSCRIBE' as const), who, channel }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('POST' as const),
      traits: fc.record({
        poolAddress: fc.constantFrom(...pools),
        isBuy: fc.boolean(),
        taker: fc.constantFrom(...takers, ZERO_ADDRESS),
        provider: fc.constantFrom(...providers),
        size: size.map(BigInt),
      }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('RFQ' as const),
      traits: fc.record({
        poolAddress: fc.constantFrom(...pools),
        side: fc.constantFrom(...sides),
        taker: fc.constantFrom(...takers),
        size: size.map(BigInt),
      }),
    }),
  },
);

/** The rules of the wire, said once more and without topics. */
function isWanted(channel: Channel, filter: Body | undefined, about: Required<Omit<QuoteTraits, 'n'>>): boolean {
  if (filter === undefined) return false;
  const side = sideOf(about);
  const isForTaker =
    channel === 'RFQ'
      ? filter.taker === undefined || filter.taker === '*' || filter.taker === about.taker
      : filter.taker === '*' || about.taker === ZERO_ADDRESS || filter.taker === about.taker;
  const isFromProvider = channel === 'RFQ' || filter.provider === undefined || filter.provider === about.provider;
  return (
    (filter.poolAddress === undefined || filter.poolAddress === about.poolAddress) &&
    (filter.side === undefined || filter.side === side) &&
    about.size >= BigInt(filter.size ?? 0) &&
    isForTaker &&
    isFromProvider
  );
}

class Market {
  readonly fixture = new GatewayFixture({}, { wsSubscribes: 1_000 });
  readonly subscribers: Subscriber[] = [];
  #published = 0;

  run(step: Step): void {
    switch (step.do) {
      case 'JOIN':
        this.subscribers.push({ socket: this.fixture.authorized(), filters: new Map(), expected: [] });
        return;
      case 'LEAVE': {
        const [subscriber] = this.subscribers.splice(step.who % Math.max(1, this.subscribers.length), 1);
        if (subscriber === undefined) return;
        verify(subscriber);
        this.fixture.net.drop(subscriber.socket);
        return;
      }
      case 'FILTER':
        this.#with(step.who, ({ socket, filters }) => {
          socket.says({ type: 'FILTER', channel: step.channel, body: { chainId, ...step.body } });
          filters.set(step.channel, step.body);
        });
        return;
      case 'UNSUBSCRIBE':
        this.#with(step.who, ({ socket, filters }) => {
          socket.says({ type: 'UNSUBSCRIBE', channel: step.channel, body: null });
          filters.delete(step.channel);
        });
        return;
      case 'POST': {
        const n = ++this.#published;
        const traits = { n, ...step.traits };
        this.#expect('QUOTES', orderOf(traits).quote.quoteId, { ...required, ...step.traits });
        this.fixture.tell(posted(traits));
        return;
      }
      case 'RFQ': {
        const n = ++this.#published;
        const { side, ...rest } = step.traits;
        this.#expect('RFQ', String(n), { ...required, ...rest, isBuy: side === 'bid' });
        this.fixture.commit(rfqOf({ ...step.traits, body: `{"quoteId":"${n}"}` }));
      }
    }
  }

  end(): void {
    this.subscribers.forEach(verify);
    for (const { socket } of this.subscribers) this.fixture.net.drop(socket);
    if (this.fixture.topics.size !== 0) throw new Error('topics are left without subscribers');
  }

  #with(who: number, act: (subscriber: Subscriber) => void): void {
    const subscriber = this.subscribers[who % Math.max(1, this.subscribers.length)];
    if (subscriber !== undefined) act(subscriber);
  }

  #expect(channel: Channel, name: string, about: Required<Omit<QuoteTraits, 'n'>>): void {
    for (const { filters, expected } of this.subscribers) {
      if (isWanted(channel, filters.get(channel), about)) expected.push(name);
    }
  }
}

const required = { poolAddress: pools[0], isBuy: false, taker: takers[0], provider: providers[0], size: 0n };

/** Exactly what was wanted, in order, nothing twice. */
function verify({ socket, expected }: Subscriber): void {
  const messages = socket.take() as { type: string; body: { quoteId: string } | null; message?: string }[];
  const errors = messages.filter(({ type }) => type === 'ERROR');
  if (errors.length > 0) throw new Error(`refused: ${JSON.stringify(errors)}`);
  const received = messages.flatMap(({ body }) => (body === null ? [] : [body.quoteId]));
  if (received.join() !== expected.join()) {
    throw new Error(`received ${received.join()}\nexpected ${expected.join()}`);
  }
}

t.test('each subscriber gets exactly what its filters ask for, in order and once', async () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 120, size: 'max' }), (steps) => {
      const market = new Market();
      for (let joined = 0; joined < 5; joined++) market.run({ do: 'JOIN' });
      for (const each of steps) market.run(each);
      market.end();
    }),
    { numRuns: 1_000 },
  );
});

t.test('a route is under at most one key of any filter', async () => {
  const filter = fc.record({
    poolAddress: fc.option(fc.constantFrom(...pools)),
    side: fc.option(fc.constantFrom(...sides)),
    taker: fc.option(fc.constantFrom<Hex | '*'>(...takers, ZERO_ADDRESS, '*')),
  });
  const route = fc.record({
    poolAddress: fc.constantFrom(...pools),
    side: fc.constantFrom(...sides),
    taker: fc.constantFrom(...takers, ZERO_ADDRESS),
  });
  const rest = { provider: null, minSize: 0n };
  fc.assert(
    fc.property(channel, filter, route, (channel, filter, route) => {
      const topics = new TopicIndex(chainId);
      for (const key of filterKeys(channel, chainId, { ...filter, narrowing: rest })) topics.join(key, rest);
      return topics.match({ ...route, channel, provider: null, size: 1n }).length <= 1;
    }),
  );
});

t.test('who leaves a topic that nobody joined is a bug, and says so', async (t) => {
  const topics = new TopicIndex(chainId);
  const topic = topics.join('quotes:421613:*:*:*', { provider: null, minSize: 0n });
  topics.leave(topic);
  t.throws(() => topics.leave(topic), { message: `nobody is subscribed to ${topic}` });
});
