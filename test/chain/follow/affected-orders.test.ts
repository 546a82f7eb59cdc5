import t from 'tap';
import type { BlockId, ChainLog } from '../../../src/chain/contracts/blocks-and-logs.js';
import {
  takeRoundRobin,
  OrderStates,
  affectedOrders,
  validateEvent,
} from '../../../src/chain/follow/affected-orders.js';
import { CommandSubmitter } from '../../../src/chain/follow/book-port.js';
import type { QuoteStates } from '../../../src/chain/follow/quote-states.js';
import type { SettlementEvent } from '../../../src/chain/follow/settlement-events.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Command, QuoteState } from '../../../src/engine/command.js';
import type { Hex, Order } from '../../../src/engine/quote.js';
import {
  address,
  blockHashOf,
  enter,
  MAKER,
  newEngine,
  POOL,
  quoteIdOf,
  samplePool,
  sampleQuote,
  START,
  txHashOf,
} from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const FACTORY = address(0xfac);
const OTHER_POOL = samplePool(1);
const OTHER_MAKER = address(0x11);
const BASE = POOL.poolKey.base.toLowerCase() as Hex;
const QUOTE = POOL.poolKey.quote.toLowerCase() as Hex;

function logOf(emitter: Hex, logIndex = 0): ChainLog {
  const blockNumber = 60;
  const place = { blockNumber, blockHash: blockHashOf(blockNumber), txHash: txHashOf(blockNumber), logIndex };
  return { address: emitter, topics: [], data: '0x', timestamp: null, ...place };
}

/** Quotes 1 and 2 of one maker in two pools, quote 3 of another in the first; all are asks of a call, paid in `BASE`. */
function newBook() {
  const engine = newEngine();
  const quotes = [
    sampleQuote({ n: 1 }),
    sampleQuote({ n: 2, pool: OTHER_POOL }),
    sampleQuote({ n: 3, provider: OTHER_MAKER }),
  ];
  for (const [i, quote] of quotes.entries()) engine.apply(enter(quote), { index: i + 1, tsMs: START * 1_000 });
  const orders = [...engine.known()];
  return {
    get: (quoteId: Hex) => engine.get(quoteId),
    ordersOf: (provider: Hex) => orders.filter(({ quote }) => quote.provider === provider),
    ordersIn: (poolAddress: Hex) => orders.filter(({ quote }) => quote.pool.poolAddress === poolAddress),
  };
}

function touchedSalts(changes: readonly SettlementEvent[], means: Parameters<typeof affectedOrders>[1]): number[] {
  return [...affectedOrders(changes, means, newBook()).keys()].map(({ quote }) => quote.salt).sort();
}

function fillAt(log: ReturnType<typeof logOf>, n: number): SettlementEvent {
  const terms = { taker: OTHER_MAKER, provider: MAKER, premium: 1n, fee: 0n, isBuy: true };
  return { type: 'FILL', log, quoteId: quoteIdOf(n), size: 1n, ...terms };
}

t.test('a fill counts when it comes from the pool of a quote that is known', async (t) => {
  const fillOf = (n: number, emitter: Hex) => validateEvent(fillAt(logOf(emitter), n), newBook(), FACTORY);
  t.equal(fillOf(1, POOL.poolAddress), null);
  t.equal(fillOf(1, OTHER_POOL.poolAddress), 'UNKNOWN_QUOTE');
  t.equal(fillOf(9, POOL.poolAddress), 'UNKNOWN_QUOTE');
});

t.test('a cancel counts when it is the provider who cancels', async (t) => {
  const cancelBy = (provider: Hex) =>
    validateEvent(
      { type: 'CANCEL', log: logOf(POOL.poolAddress), quoteId: quoteIdOf(1), provider },
      newBook(),
      FACTORY,
    );
  t.equal(cancelBy(MAKER), null);
  t.equal(cancelBy(OTHER_MAKER), 'OTHER_PROVIDER');
});

t.test('a deployment counts when the factory tells of it', async (t) => {
  const deployedBy = (emitter: Hex) =>
    validateEvent({ type: 'POOL', log: logOf(emitter), pool: POOL }, newBook(), FACTORY);
  t.equal(deployedBy(FACTORY), null);
  t.equal(deployedBy(POOL.poolAddress), 'OTHER_CONTRACT');
});

t.test('a moved balance touches the orders of its owner that are paid in that token, in every pool', async (t) => {
  t.strictSame(touchedSalts([], [{ log: logOf(BASE), accounts: [MAKER] }]), [1, 2]);
  t.strictSame(touchedSalts([], [{ log: logOf(QUOTE), accounts: [MAKER] }]), []);
});

t.test('a moved position touches the orders of its owner in that pool alone', async (t) => {
  t.strictSame(touchedSalts([], [{ log: logOf(OTHER_POOL.poolAddress), accounts: [MAKER, OTHER_MAKER] }]), [2]);
});

t.test('a fill touches its order, a deployment all of its pool, a cancel none: it ends one', async (t) => {
  const log = logOf(POOL.poolAddress);
  t.strictSame(touchedSalts([fillAt(log, 3)], []), [3]);
  t.strictSame(touchedSalts([{ type: 'POOL', log: logOf(FACTORY), pool: POOL }], []), [1, 3]);
  t.strictSame(touchedSalts([{ type: 'CANCEL', log, quoteId: quoteIdOf(1), provider: MAKER }], []), []);
});

t.test('of several logs that touch an order the last is named, in whatever order they were read', (t) => {
  const means = [1, 3, 2].map((logIndex) => ({ log: logOf(BASE, logIndex), accounts: [OTHER_MAKER] }));
  means.push({ log: logOf(POOL.poolAddress, 0), accounts: [OTHER_MAKER] });
  const indexes = [means, means.toReversed()].map((all) =>
    [...affectedOrders([], all, newBook()).values()].map(({ logIndex }) => logIndex),
  );
  t.strictSame(indexes, [[3], [3]]);
  t.end();
});

t.test('a later block counts before a higher index', (t) => {
  const [first, second] = [logOf(BASE, 7), { ...logOf(BASE, 1), blockNumber: 61 }];
  const means = [second, first].map((log) => ({ log, accounts: [OTHER_MAKER] }));
  t.strictSame([...affectedOrders([], means, newBook()).values()], [second]);
  t.end();
});

t.test('any number of logs that name a maker take no more than one walk through the maker’s orders', (t) => {
  const book = newBook();
  let walks = 0;
  const counted = { ...book, ordersOf: (provider: Hex) => (walks++, book.ordersOf(provider)) };
  const means = Array.from({ length: 100 }, (_, logIndex) => ({ log: logOf(BASE, logIndex), accounts: [MAKER] }));
  affectedOrders([], means, counted);
  t.equal(walks, 1);
  t.end();
});

t.test('of more orders than are asked about at once, each maker has as many', async (t) => {
  const engine = newEngine();
  for (const n of [1, 2, 3, 4, 5, 6]) {
    const quote = sampleQuote({ n, provider: n === 6 ? OTHER_MAKER : MAKER });
    engine.apply(enter(quote), { index: n, tsMs: START * 1_000 });
  }
  const touched = new Map([...engine.known()].map((order) => [order, null]));
  const salts = (most: number) => takeRoundRobin(touched, most).map(({ quote }) => quote.salt);
  t.strictSame(salts(2), [1, 6]);
  t.strictSame(salts(4), [1, 6, 2, 3]);
  t.strictSame(salts(6), [1, 2, 3, 4, 5, 6]);
});

const AT: BlockId = { blockNumber: 70, blockHash: blockHashOf(70) };
const NEWEST: BlockId = { blockNumber: 200, blockHash: blockHashOf(200) };
const TO = { number: 70, hash: AT.blockHash, parentHash: blockHashOf(69), timestamp: START };
const RANGE = { fromBlock: 60, to: TO, heads: [] };
const LACKS = new RpcError(-32000, 'missing trie node', null);
const SILENT = new RpcUnreachable('nobody answers');

/** Three orders of a book, and what is made of the chain's word of them. `fail`: what the node says of a block. */
function onOrders(fail: (at: BlockId) => Error | null = () => null, newest: BlockId | null = null) {
  const engine = newEngine();
  for (const n of [1, 2, 3]) engine.apply(enter(sampleQuote({ n })), { index: n, tsMs: START * 1_000 });
  const orders = [...engine.known()].sort((a, b) => a.quote.salt - b.quote.salt);
  const commands: Command[] = [];
  const state: QuoteState = { fillableSize: orders[0]?.fillableSize ?? 0n, reason: null };
  const chain = {
    read: (quotes: readonly unknown[], at: BlockId) => {
      const error = fail(at);
      return error === null ? Promise.resolve(quotes.map(() => ({ state, error: null }))) : Promise.reject(error);
    },
  } as unknown as QuoteStates;
  const forgotten = new Set<Order>();
  const known = (order: Order | undefined) => (order === undefined || forgotten.has(order) ? undefined : order);
  const book = {
    get: (quoteId: string) => known(orders.find(({ quote }) => quote.quoteId === quoteId)),
    submit: (command: Command) => commands.push(command) > 0,
  } as unknown as ConstructorParameters<typeof CommandSubmitter>[0];
  const submitter = new CommandSubmitter(book, new ManualClock(), 1);
  const states = new OrderStates(chain, { newestFarAbove: () => newest }, book, submitter, 2);
  return { states, orders, state, commands, forgotten };
}

t.test('a state that the node lacks is waited for only where a later block will tell it', async (t) => {
  const { states, orders } = onOrders(() => LACKS);
  t.equal(await states.atEnd({ ...RANGE, isLast: false }, orders), null);
  await t.rejects(states.atEnd({ ...RANGE, isLast: true }, orders), LACKS);
});

t.test('where nobody answers nothing is put off: the block is read again', async (t) => {
  const { states, orders } = onOrders(() => SILENT);
  await t.rejects(states.atEnd({ ...RANGE, isLast: false }, orders), SILENT);
});

t.test('the newest block stands in for an ancestor whose state is lost, if that is far enough below', async (t) => {
  const lacksOld = ({ blockNumber }: BlockId) => (blockNumber === NEWEST.blockNumber ? null : LACKS);
  const far = onOrders(lacksOld, NEWEST);
  t.match(await far.states.toGoBackTo(AT, far.orders), { at: NEWEST, states: { length: 3 } });
  const near = onOrders(lacksOld, null);
  await t.rejects(near.states.toGoBackTo(AT, near.orders), LACKS);
});

t.test('an ancestor that nobody tells of has nothing stand in for it', async (t) => {
  const { states, orders } = onOrders(
    ({ blockNumber }) => (blockNumber === NEWEST.blockNumber ? null : SILENT),
    NEWEST,
  );
  await t.rejects(states.toGoBackTo(AT, orders), SILENT);
});

t.test('only differences are submitted to the book', async (t) => {
  const { states, orders, state, commands } = onOrders();
  const tell = (told: readonly QuoteState[]) => states.reportChanges(orders, told, AT, () => null);
  await tell([state, state, state]);
  t.strictSame(commands, []);
  const [other, smaller] = [{ ...state, reason: 8 } as const, { fillableSize: 1n, reason: null }];
  await tell([state, other, smaller]);
  const ids = orders.map(({ quote }) => quote.quoteId);
  t.match(commands, [
    { type: 'SET_VALIDITY', quoteId: ids[1], reason: 8, position: { ...AT, logIndex: null } },
    { type: 'REWIND_SETTLEMENT', restated: [{ quoteId: ids[2], state: smaller }], settlementBlock: AT.blockNumber },
  ]);
  t.equal(commands.length, 2);
});

t.test('nothing is submitted for an order that left during the check, or for one without an answer', async (t) => {
  const { states, orders, commands, forgotten } = onOrders();
  const [went] = orders;
  if (went) forgotten.add(went);
  await states.reportChanges(orders, [{ fillableSize: 1n, reason: null }], AT, () => null);
  t.strictSame(commands, []);
});

t.test('many are stated by several commands, none by one: the position moves all the same', async (t) => {
  const { states, orders, state, commands } = onOrders();
  await states.restate(
    AT,
    orders.map(({ quote: { quoteId } }) => ({ quoteId, state })),
    90,
  );
  await states.restate(AT, []);
  const told = commands.map((command) =>
    command.type === 'REWIND_SETTLEMENT' ? [command.restated.length, command.settlementBlock] : null,
  );
  t.strictSame(told, [
    [2, 90],
    [1, 90],
    [0, 70],
  ]);
});
