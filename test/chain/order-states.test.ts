import t from 'tap';
import type { BlockId } from '../../src/chain/block-head.js';
import { PatientSubmitter } from '../../src/chain/followed-book.js';
import { OrderStates } from '../../src/chain/order-states.js';
import type { QuoteStates } from '../../src/chain/quote-states.js';
import { RpcError, RpcUnreachable } from '../../src/chain/rpc-errors.js';
import type { Command, QuoteState } from '../../src/engine/command.js';
import type { Order } from '../../src/engine/quote.js';
import { blockHashOf, enter, newEngine, sampleQuote, START } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const AT: BlockId = { blockNumber: 70, blockHash: blockHashOf(70) };
const NEWEST: BlockId = { blockNumber: 200, blockHash: blockHashOf(200) };
const RANGE = { fromBlock: 60, to: { number: 70, hash: AT.blockHash, parentHash: blockHashOf(69), timestamp: START } };
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
  } as unknown as ConstructorParameters<typeof PatientSubmitter>[0];
  const submitter = new PatientSubmitter(book, new ManualClock(), 1);
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

t.test('the book is told of differences alone', async (t) => {
  const { states, orders, state, commands } = onOrders();
  const tell = (told: readonly QuoteState[]) => states.tell(orders, told, AT, () => null);
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

t.test(
  'of an order that went while it was asked about nothing is told; of one without an answer neither',
  async (t) => {
    const { states, orders, commands, forgotten } = onOrders();
    const [went] = orders;
    if (went) forgotten.add(went);
    await states.tell(orders, [{ fillableSize: 1n, reason: null }], AT, () => null);
    t.strictSame(commands, []);
  },
);

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
