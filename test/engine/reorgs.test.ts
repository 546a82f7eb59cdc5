import { deepStrictEqual as same } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import type { ChainRole, Command } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { InvalidReason, Quote } from '../../src/engine/quote.js';
import { Driver } from './driver.js';
import { MAKERS, POOLS, TAKERS } from './random-commands.js';
import { newEngine, originAt, POOL, quoteIdOf, REORG_DEPTH, sampleQuote, START } from './samples.js';
import { SimulatedSettlement, SimulatedChain, publishedAt, type Operation } from './simulated-chains.js';

const QUOTES: readonly Quote[] = Array.from({ length: 12 }, (_, n) =>
  sampleQuote({
    n,
    pool: POOLS[n % 3] ?? POOL,
    ...(n % 4 === 3 && { taker: TAKERS[0] }),
    ...(n % 3 === 1 && { provider: MAKERS[1] }),
    price: 100n + BigInt(n % 3),
    size: BigInt(5 + n),
    isBuy: n % 2 === 0,
    deadline: START + 20 + 5 * n,
  }),
);

/** Reads both chains into an engine as the service's readers do: in its own time, from where the engine says it is. */
class Reader {
  readonly driver = new Driver<Engine>(newEngine());
  readonly stream: SimulatedChain<number>;
  readonly settlement: SimulatedSettlement;

  constructor(stream: SimulatedChain<number>, settlement: SimulatedSettlement) {
    this.stream = stream;
    this.settlement = settlement;
    this.#apply({ type: 'ADVANCE_POSITION', position: settlement.block(0).position });
    this.#apply({ type: 'ADVANCE_POSITION', position: stream.block(0).position });
  }

  /** At most `blocks` blocks; a quote's state is read at the settlement block that the engine is at. */
  readStream(blocks: number): void {
    this.#followSettlement(0);
    this.#followStream();
    const from = this.#heightOf('stream') + 1;
    const to = Math.min(this.stream.head, from + blocks - 1);
    const settlementBlock = this.#heightOf('settlement');
    for (let height = from; height <= to; height += 1) {
      const { position, contents } = this.stream.block(height);
      contents.forEach((n, place) => {
        const quote = QUOTES[n];
        if (quote === undefined) return;
        const state = this.settlement.state(n, settlementBlock);
        const published = publishedAt(quote, height, place);
        const upTo = { ...position, logIndex: place };
        this.#apply({ type: 'ENTER_QUOTE', quote: published, state, settlementBlock, position: upTo });
      });
    }
    if (to >= from) this.#apply({ type: 'ADVANCE_POSITION', position: this.stream.block(to).position });
  }

  readSettlement(blocks: number): void {
    this.#followSettlement(blocks);
    const from = this.#heightOf('settlement') + 1;
    this.#readSettlementThrough(Math.min(this.settlement.head, from + blocks - 1));
  }

  #followStream(): void {
    const ancestor = this.#ancestor('stream', this.stream);
    if (ancestor === null) return;
    this.#apply({ type: 'REWIND_STREAM', position: this.stream.block(ancestor).position });
  }

  /** States anew what the lost blocks touched, as it is `ahead` blocks into the new branch, and reads on to there. */
  #followSettlement(ahead: number): void {
    const ancestor = this.#ancestor('settlement', this.settlement);
    if (ancestor === null) return;
    const settlementBlock = Math.min(this.settlement.head, ancestor + ahead);
    const restated = this.driver.engine.touchedSince(ancestor).map(({ quote }) => {
      return { quoteId: quote.quoteId, state: this.settlement.state(quote.salt, settlementBlock) };
    });
    const { position } = this.settlement.block(ancestor);
    this.#apply({ type: 'REWIND_SETTLEMENT', position, settlementBlock, restated });
    this.#readSettlementThrough(settlementBlock);
  }

  #readSettlementThrough(to: number): void {
    const from = this.#heightOf('settlement') + 1;
    for (let height = from; height <= to; height += 1) {
      const { position, contents } = this.settlement.block(height);
      contents.forEach((operation, place) => {
        const upTo = { ...position, logIndex: place };
        const origin = originAt(height, place);
        if (operation.type === 'deploy') {
          const { pool } = operation;
          this.#apply({ type: 'DEPLOY_POOL', pool, deployedAt: START, origin, position: upTo });
          return;
        }
        const quoteId = quoteIdOf(operation.n);
        if (operation.type === 'means') {
          const { reason } = this.settlement.state(operation.n, height);
          this.#apply({ type: 'SET_VALIDITY', quoteId, reason, origin, position: upTo });
        } else if (operation.type === 'cancel') {
          this.#apply({ type: 'CANCEL_QUOTE', quoteId, origin, position: upTo });
        } else {
          const size = this.settlement.taken(height, place);
          this.#apply({ type: 'FILL_QUOTE', quoteId, size, origin, position: upTo });
        }
      });
    }
    if (to >= from) this.#apply({ type: 'ADVANCE_POSITION', position: this.settlement.block(to).position });
  }

  /** The newest block that the engine shares with the chain; null when that is where it is. */
  #ancestor(role: ChainRole, chain: SimulatedChain<unknown>): number | null {
    const trail = this.driver.engine.trail(role);
    const shared = trail.findLast((block) => chain.has(block));
    if (shared === undefined) throw new Error('the chains share no block');
    return shared === trail.at(-1) ? null : shared.blockNumber;
  }

  #heightOf(role: ChainRole): number {
    return this.driver.engine.positions()[role]?.blockNumber ?? 0;
  }

  #apply(command: Command): void {
    this.driver.apply(command);
    this.driver.engine.checkInvariants();
  }
}

const n = fc.nat(QUOTES.length - 1);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ type: fc.constant('fill' as const), n, size: fc.bigInt(1n, 9n) }),
  fc.record({ type: fc.constant('cancel' as const), n }),
  fc.record({
    type: fc.constant('means' as const),
    n,
    reason: fc.constantFrom<InvalidReason | null>(null, null, 8, 9),
  }),
  fc.record({ type: fc.constant('deploy' as const), pool: fc.constantFrom(...POOLS) }),
);

const blocks = fc.integer({ min: 1, max: 4 });
const depth = fc.integer({ min: 1, max: REORG_DEPTH });
const mask = fc.nat(2 ** 16 - 1);
const role = fc.constantFrom<ChainRole>('stream', 'settlement');
const happenings = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('publish' as const), quotes: fc.array(n, { maxLength: 3 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('settle' as const), done: fc.array(operation, { maxLength: 3 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('reorg' as const), role, depth, mask }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('read' as const), role, blocks }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(6_000) }) },
  ),
  { maxLength: 80, size: 'max' },
);

/** The public view of a book. */
function book(engine: Engine): unknown {
  const { valid, invalid } = engine.orders({ quoteIds: QUOTES.map(({ quoteId }) => quoteId) });
  return {
    valid: valid.map(({ quote, fillableSize }) => [quote.salt, quote.origin, fillableSize]),
    invalid: invalid.map(({ quote, fillableSize, reason }) => [quote.salt, quote.origin, fillableSize, reason]),
    pools: [...engine.pools()].map(({ pool, origin }) => [pool.poolAddress, origin]).sort(),
    levels: POOLS.map(({ poolAddress }) =>
      [null, ...TAKERS].map((taker) => engine.levels({ poolAddress, side: 'ask', taker })),
    ),
  };
}

t.test('whatever the chains take back, the book ends as one that reads them from scratch', async () => {
  const property = fc.property(happenings, (all) => {
    const stream = new SimulatedChain<number>('stream', REORG_DEPTH);
    const settlement = new SimulatedSettlement(
      REORG_DEPTH,
      QUOTES.map(({ size }) => size),
    );
    const reader = new Reader(stream, settlement);
    for (const happening of all) {
      if (happening.kind === 'publish') stream.mine(...happening.quotes);
      else if (happening.kind === 'settle') settlement.mine(...happening.done);
      else if (happening.kind === 'pass') reader.driver.elapsedMs += happening.ms;
      else if (happening.kind === 'reorg') {
        (happening.role === 'stream' ? stream : settlement).reorg(happening.depth, happening.mask);
      } else if (happening.role === 'stream') reader.readStream(happening.blocks);
      else reader.readSettlement(happening.blocks);
    }
    reader.readSettlement(Infinity);
    reader.readStream(Infinity);
    reader.driver.apply({ type: 'TICK' });

    const fresh = new Reader(stream, settlement);
    fresh.driver.elapsedMs = reader.driver.elapsedMs;
    fresh.readSettlement(Infinity);
    fresh.readStream(Infinity);
    same(book(reader.driver.engine), book(fresh.driver.engine));
  });
  fc.assert(property, { numRuns: 300 });
});
