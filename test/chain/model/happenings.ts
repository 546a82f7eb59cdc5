import fc from 'fast-check';
import type { ChainRole } from '../../../src/engine/command.js';

/** Quotes that a run knows, by number. */
export const QUOTES = 10;
/** Blocks that a run's reorgs take back at most, and that its engines follow. */
export const REORG_DEPTH = 6;

/** `some` is enough for the smaller quotes alone. */
export type Allowance = 'nothing' | 'some' | 'all';

/** Steps of two chains and of the service that reads them. */
export type Happening =
  | { readonly type: 'publish'; readonly quotes: readonly number[] }
  | { readonly type: 'fill'; readonly quote: number; readonly tenths: number }
  | { readonly type: 'cancel' | 'hostile cancel'; readonly quote: number }
  | { readonly type: 'approve'; readonly maker: number; readonly isCall: boolean; readonly amount: Allowance }
  | { readonly type: 'transfer away' | 'get back'; readonly maker: number; readonly isCall: boolean }
  /** All longs that the taker has of the quote's pool go to its provider, or the other way. */
  | { readonly type: 'hand over' | 'hand back'; readonly quote: number }
  /** Another contract than the quote's pool says that it is filled, and the stream says it with another signature. */
  | { readonly type: 'forge'; readonly quote: number }
  | { readonly type: 'deploy' }
  | { readonly type: 'time passes'; readonly steps: number }
  | { readonly type: 'reorg'; readonly role: ChainRole; readonly depth: number }
  | { readonly type: 'mark'; readonly role: ChainRole }
  /** The chain goes back to its mark, and is shorter than it was. */
  | { readonly type: 'go back'; readonly role: ChainRole }
  | { readonly type: 'settle' }
  /** From the next so many commands on the log takes nothing, until the service is started anew. */
  | { readonly type: 'stall'; readonly after: number }
  | { readonly type: 'stop' }
  | { readonly type: 'start' };

const quote = fc.nat(QUOTES - 1);
const maker = fc.nat(1);
const role = fc.constantFrom<ChainRole>('settlement', 'stream');
const of = <T extends string>(...types: T[]) => fc.constantFrom(...types);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: of('publish'), quotes: fc.array(quote, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ type: of('fill'), quote, tenths: fc.constantFrom(3, 5, 10) }) },
  { weight: 2, arbitrary: fc.record({ type: of('cancel', 'hostile cancel'), quote }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: of('approve'),
      maker,
      isCall: fc.boolean(),
      amount: of<Allowance>('nothing', 'some', 'all'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: of('transfer away', 'get back'), maker, isCall: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: of('hand over', 'hand back'), quote }) },
  { weight: 1, arbitrary: fc.record({ type: of('forge'), quote }) },
  { weight: 1, arbitrary: fc.record({ type: of('deploy') }) },
  { weight: 1, arbitrary: fc.record({ type: of('time passes'), steps: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ type: of('reorg'), role, depth: fc.integer({ min: 1, max: REORG_DEPTH }) }) },
  { weight: 1, arbitrary: fc.record({ type: of('mark', 'go back'), role }) },
  { weight: 4, arbitrary: fc.record({ type: of('settle') }) },
  { weight: 1, arbitrary: fc.record({ type: of('stall'), after: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ type: of('stop', 'start') }) },
);

/** Asks of deployed pools, whose provider is maker `n % 2` and whose pool is a call where `n % 3` is 0. */
const ASKS = [0, 3, 4, 6, 7];

/**
 * A maker without collateral can sell as long as it has longs: events of positions alone say when that begins and ends.
 */
const sellingLongs = fc
  .record({ quote: fc.constantFrom(...ASKS), isHandedBack: fc.boolean() })
  .map(({ quote, isHandedBack }): Happening[] => [
    { type: 'publish', quotes: [quote] },
    { type: 'approve', maker: quote % 2, isCall: quote % 3 === 0, amount: 'nothing' },
    ...(isHandedBack ? [{ type: 'hand over', quote } as const] : []),
    { type: 'settle' },
    { type: isHandedBack ? 'hand back' : 'hand over', quote },
  ]);

const step = fc.oneof({ weight: 30, arbitrary: happening.map((one) => [one]) }, { weight: 1, arbitrary: sellingLongs });

export const happenings = fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }).map((steps) => steps.flat());
