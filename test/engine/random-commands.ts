import fc from 'fast-check';
import type { ChainPosition, ChainRole, Command } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import { type Hex, ZERO_ADDRESS, type InvalidReason, type Quote, type TradeTerms } from '../../src/engine/quote.js';
import {
  address,
  at,
  blockHashOf,
  originAt,
  POOL,
  quoteIdOf,
  samplePool,
  sampleQuote,
  START,
  TAKER,
} from './samples.js';

export const POOLS = [POOL, samplePool(1, START + 40), samplePool(2, START + 90)];
export const MAKERS = [address(0x10), address(0x11), address(0x12)];
export const TAKERS = [TAKER, address(0x21)];
export const QUOTES = 24;

const reason = fc.constantFrom<InvalidReason | null>(null, null, 7, 8, 9);
const n = fc.nat(QUOTES - 1);

/** What happens next, in words that make sense whatever happened before. */
export type Step =
  | {
      readonly kind: 'enter';
      n: number;
      pick: number;
      left: number;
      reason: InvalidReason | null;
      ahead: number;
      /** Sizes of fills that came before it; null: a cancel. */
      early: (number | null)[];
    }
  | { readonly kind: 'fill'; n: number; size: number; ahead: number }
  | { readonly kind: 'cancel'; n: number; ahead: number }
  | { readonly kind: 'validity'; n: number; reason: InvalidReason | null; ahead: number; swept: boolean }
  | { readonly kind: 'deploy'; pool: number; ahead: number }
  | { readonly kind: 'advance'; chain: ChainRole; ahead: number }
  | { readonly kind: 'rewind'; chain: ChainRole; back: number; left: number; reason: InvalidReason | null }
  | { readonly kind: 'pass'; ms: number }
  | { readonly kind: 'rfq' }
  | { readonly kind: 'withdraw' | 'restore'; numbers: number[]; nonce: number; life: number }
  | { readonly kind: 'protect'; maker: number; pool: number; amount: number; life: number; nonce: number }
  | { readonly kind: 'restart' };

const ahead = fc.integer({ min: 0, max: 3 });
const chain = fc.constantFrom<ChainRole>('stream', 'settlement');

const signed = (kind: 'withdraw' | 'restore', most: number) =>
  fc.record({
    kind: fc.constant(kind),
    numbers: fc.array(n, { minLength: 1, maxLength: most, size: 'max' }),
    nonce: fc.nat(20),
    life: fc.integer({ min: -2, max: 30 }),
  });

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('enter' as const),
        n,
        pick: fc.nat(2 ** 16),
        left: fc.integer({ min: 0, max: 10 }),
        reason,
        ahead,
        early: fc.oneof(
          { weight: 3, arbitrary: fc.constant<(number | null)[]>([]) },
          { weight: 1, arbitrary: fc.array(fc.option(fc.nat(12), { nil: null }), { maxLength: 3 }) },
        ),
      }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('fill' as const), n, size: fc.nat(12), ahead }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), n, ahead }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('validity' as const),
        n,
        reason,
        ahead: fc.integer({ min: -2, max: 2 }),
        swept: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('deploy' as const), pool: fc.nat(2), ahead }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('advance' as const), chain, ahead: fc.integer({ min: 0, max: 9 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('rewind' as const),
        chain,
        back: fc.nat(6),
        left: fc.nat(10),
        reason,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(9_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rfq' as const) }) },
    { weight: 3, arbitrary: signed('withdraw', 8) },
    // Of so many that some of the few that are withdrawn are among them.
    { weight: 3, arbitrary: signed('restore', QUOTES) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('protect' as const),
        maker: fc.nat(2),
        pool: fc.nat(2),
        amount: fc.nat(15),
        life: fc.integer({ min: -2, max: 60 }),
        nonce: fc.nat(20),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  ),
  { maxLength: 80, size: 'max' },
);

/** Makes commands of steps for an engine at the place it is in. Every branch of a chain has block hashes of its own. */
export class CommandMaker {
  readonly #branch: Record<ChainRole, number> = { stream: 0, settlement: 0 };

  make(step: Exclude<Step, { kind: 'restart' }>, engine: Engine): Command {
    switch (step.kind) {
      case 'enter': {
        const position = this.#ahead(engine, 'stream', step.ahead);
        const quote = quoteOf(step.n, step.pick, position.blockNumber);
        const settlementBlock = this.#ahead(engine, 'settlement', step.ahead).blockNumber;
        const fillableSize = quote.size < BigInt(step.left) ? quote.size : BigInt(step.left);
        const early = step.early.map((size) => {
          return { size: size === null ? null : BigInt(size), origin: originAt(settlementBlock, step.n) };
        });
        const state = { fillableSize, reason: step.reason };
        const entered = { type: 'ENTER_QUOTE', quote, state, settlementBlock, position } as const;
        return early.length > 0 ? { ...entered, early } : entered;
      }
      case 'fill': {
        const position = this.#ahead(engine, 'settlement', step.ahead);
        const origin = originAt(position.blockNumber, step.n);
        const fill = {
          type: 'FILL_QUOTE',
          quoteId: quoteIdOf(step.n),
          size: BigInt(step.size),
          origin,
          position,
        } as const;
        return step.n % 3 === 0 ? fill : { ...fill, trade: tradeOf(step.n, step.size) };
      }
      case 'cancel': {
        const position = this.#ahead(engine, 'settlement', step.ahead);
        const origin = originAt(position.blockNumber, step.n);
        return { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(step.n), origin, position };
      }
      case 'validity': {
        const position = this.#ahead(engine, 'settlement', step.ahead);
        const origin = step.swept ? null : originAt(position.blockNumber, step.n);
        return { type: 'SET_VALIDITY', quoteId: quoteIdOf(step.n), reason: step.reason, origin, position };
      }
      case 'deploy': {
        const pool = POOLS[step.pool] ?? POOL;
        const position = this.#ahead(engine, 'settlement', step.ahead);
        const origin = originAt(position.blockNumber, step.pool);
        return { type: 'DEPLOY_POOL', pool, deployedAt: START - 100, origin, position };
      }
      case 'advance':
        return { type: 'ADVANCE_POSITION', position: this.#ahead(engine, step.chain, step.ahead) };
      case 'rewind':
        return this.#rewind(engine, step.chain, step);
      case 'pass':
        return { type: 'TICK' };
      case 'withdraw':
      case 'restore':
        return signedCommand(step, engine);
      case 'protect':
        return protection(step, engine);
      case 'rfq': {
        const rfq = { poolAddress: POOL.poolAddress, side: 'bid' as const, taker: TAKER };
        const body = JSON.stringify({ ...rfq, chainId: '421613', size: '1' });
        return { type: 'PUBLISH_RFQ', rfq: { ...rfq, size: 1n, body } };
      }
    }
  }

  /** A few of what will be due after so many milliseconds more, one order that will not be, and one that nobody knows. */
  expireSome(engine: Engine, ms: number): Command {
    const second = Math.floor((engine.tsMs + ms) / 1000);
    const due = engine.dueBy(second, ms % 4).map(({ quote }) => quote.quoteId);
    const others = engine.dueBy(second + 5, QUOTES).slice(-1);
    return {
      type: 'EXPIRE_QUOTES',
      second,
      quoteIds: [...due, ...others.map(({ quote }) => quote.quoteId), quoteIdOf(QUOTES)],
    };
  }

  #ahead(engine: Engine, chain: ChainRole, blocks: number): ChainPosition {
    const now = engine.positions()[chain]?.blockNumber ?? 10;
    return at(chain, Math.max(0, now + blocks), this.#branch[chain]);
  }

  /** To a block that the engine remembers, or to the one before a block that it remembers. */
  #rewind(engine: Engine, chain: ChainRole, about: Extract<Step, { kind: 'rewind' }>): Command {
    const trail = engine.trail(chain);
    const block = trail.at(-1 - Math.min(about.back, trail.length - 1));
    if (block === undefined) return { type: 'TICK' };
    const oldest = trail[0]?.blockNumber ?? 0;
    const blockNumber = Math.max(oldest, block.blockNumber - (about.left % 2));
    const position = { chain, blockNumber, blockHash: blockHashOf(blockNumber, this.#branch[chain]), logIndex: null };
    this.#branch[chain] += 1;
    if (chain === 'stream') return { type: 'REWIND_STREAM', position };
    const restated = engine.touchedSince(blockNumber).map(({ quote }, place) => {
      const size = BigInt(Math.max(0, about.left - place));
      const fillableSize = quote.size < size ? quote.size : size;
      return { quoteId: quote.quoteId, state: { fillableSize, reason: about.reason } };
    });
    const settlementBlock = blockNumber + 1 + (about.back % 3);
    const undoing = about.left % 3 === 0 ? {} : { undoesTrades: true as const };
    return { type: 'REWIND_SETTLEMENT', position, settlementBlock, restated, ...undoing };
  }
}

const REASONS = ['REQUESTED', 'DISCONNECTED', 'HEARTBEAT_MISSED', 'FILL_LIMIT'] as const;

/** By the maker of the first quote, of quotes that may be another maker's; now and then without a signature. */
function signedCommand(
  { kind, numbers, nonce, life }: Extract<Step, { kind: 'withdraw' | 'restore' }>,
  engine: Engine,
): Command {
  const provider = makerOf(numbers[0] ?? 0);
  const quoteIds = numbers.map(quoteIdOf);
  const deadline = Math.max(0, Math.floor(engine.tsMs / 1000) + life);
  const signed = nonce < 10 ? { nonce: BigInt(nonce), deadline } : null;
  const word = quoteIdOf(nonce);
  const message = { quoteIds: [...quoteIds, word], signature: { r: word, s: word, v: 27 } };
  const more = signed === null || nonce % 3 === 0 ? {} : { message };
  if (kind === 'restore') return { type: 'RESTORE_QUOTES', provider, quoteIds, signed, ...more };
  return { type: 'WITHDRAW_QUOTES', provider, quoteIds, reason: REASONS[nonce % 4] ?? 'REQUESTED', signed, ...more };
}

/** An authorisation, a timer or a limit of a maker in a pool; now and then without a signature. */
function protection({ maker, pool, amount, life, nonce }: Extract<Step, { kind: 'protect' }>, engine: Engine): Command {
  const provider = MAKERS[maker] ?? address(0x10);
  const owner = `key ${amount % 2}`;
  const deadline = Math.max(0, Math.floor(engine.tsMs / 1000) + life);
  const signed = nonce < 10 ? { nonce: BigInt(nonce), deadline } : null;
  if (nonce % 4 === 0) return { type: 'AUTHORIZE_KEY', provider, owner, until: amount === 0 ? 0 : deadline, signed };
  if (nonce % 4 === 1) {
    const kind = life % 2 === 0 ? 'HEARTBEAT' : 'CONNECTION';
    return { type: 'SET_TIMER', provider, owner, kind, seconds: amount };
  }
  const { poolAddress, poolKey } = POOLS[pool] ?? POOL;
  const bounds = amount === 0 ? null : { contracts: BigInt(amount % 8), fills: amount % 3, seconds: 1 + (amount % 20) };
  return { type: 'SET_FILL_LIMIT', provider, poolAddress, until: poolKey.maturity, bounds, signed };
}

function makerOf(n: number): Hex {
  return MAKERS[(n % 5) % 3] ?? address(0x10);
}

function tradeOf(n: number, size: number): TradeTerms {
  return {
    pool: POOLS[n % 3] ?? POOL,
    provider: MAKERS[n % 3] ?? address(0x10),
    taker: TAKER,
    price: BigInt(100 + (n % 5)),
    fee: BigInt(size),
    isBuy: n % 2 === 0,
    time: START + n,
  };
}

/** Everything but the age follows from `n` alone: the id says what was signed. */
function quoteOf(n: number, pick: number, newestBlock: number): Quote {
  const takers = [ZERO_ADDRESS, ZERO_ADDRESS, ...TAKERS];
  const quote = sampleQuote({
    n,
    pool: POOLS[n % 3] ?? POOL,
    provider: makerOf(n),
    taker: takers[n % 4] ?? ZERO_ADDRESS,
    price: 100n + BigInt((n * 7) % 5),
    size: BigInt(1 + (n % 10)),
    isBuy: n % 2 === 0,
    deadline: START + 5 + ((n * 13) % 60),
  });
  const origin = originAt(Math.max(0, newestBlock - (pick % 4)), pick >> 2);
  return { ...quote, origin };
}
