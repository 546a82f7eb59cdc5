import t from 'tap';
import {
  type BlockHead,
  type BlockId,
  type ChainLog,
  idOf,
  type LogQuery,
} from '../../../src/chain/contracts/blocks-and-logs.js';
import { LogWindow, type LogWindowOptions } from '../../../src/chain/follow/log-window.js';
import { LogsBloom } from '../../../src/chain/follow/logs-bloom.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address, blockHashOf, txHashOf } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';
import { Market } from '../dev/market.js';
import { httpRpc } from '../following.js';
import { MarketBook } from '../market-book.js';
import { RpcProxy } from '../rpc-proxy.js';

const EMITTER = address(0x51);
const EVENT = blockHashOf(0xe7);
const HINT = blockHashOf(0x41);
const OTHER = blockHashOf(0x0f);
const PATIENCE_MS = 3_000;
const VERIFY_MS = 10_000;
const OPTIONS = {
  ...{
    rereadBlocks: 4,
    rereadMs: 10_000,
    patienceMs: PATIENCE_MS,
    verifyBlocks: 20,
    verifyMs: VERIFY_MS,
    logsPerVerifyRequest: 3,
  },
  ...{ hintsMs: 500, mostLogs: 100, blocksInFlight: 2 },
};

type Blooms = 'TRUE' | 'ABSENT' | 'EMPTY';

interface Block {
  readonly hash: Hex;
  readonly topics: readonly Hex[];
}

/** A chain whose node gives the logs that a test lets it give. */
class Node {
  readonly requests: string[] = [];
  /** Block and index of logs that the node does not give. */
  readonly hidden = new Set<string>();
  refuses: Error | null = null;
  switches = 0;

  constructor(
    readonly blocks: Block[],
    private readonly blooms: Blooms = 'TRUE',
  ) {}

  /** One more block, with a log for each of these topics. */
  mine(...topics: Hex[]): number {
    return this.blocks.push({ hash: blockHashOf(this.blocks.length), topics }) - 1;
  }

  logsOf(blockNumber: number): ChainLog[] {
    const { hash: blockHash, topics } = this.#at(blockNumber);
    return topics.map((topic, logIndex) => ({
      ...{ address: EMITTER, topics: [topic, numberTopic(logIndex)], data: '0x' as const, txHash: txHashOf(1) },
      ...{ blockNumber, blockHash, logIndex, timestamp: null },
    }));
  }

  head(number = this.blocks.length - 1): BlockHead {
    const { hash } = this.#at(number);
    const logsBloom = this.blooms === 'TRUE' ? LogsBloom.of(this.logsOf(number)).hex : LogsBloom.of([]).hex;
    const parentHash = number === 0 ? blockHashOf(0) : this.#at(number - 1).hash;
    return { number, hash, parentHash, timestamp: number, ...(this.blooms !== 'ABSENT' && { logsBloom }) };
  }

  findBlock(number: number): Promise<BlockHead | null> {
    this.requests.push(`block ${number}`);
    return Promise.resolve(number < this.blocks.length ? this.head(number) : null);
  }

  block(number: number): Promise<BlockHead> {
    return Promise.resolve(this.head(number));
  }

  logs({ fromBlock, to: { blockNumber }, topics: [topic] }: LogQuery): Promise<ChainLog[]> {
    this.requests.push(`logs ${fromBlock}..${blockNumber}`);
    if (this.refuses !== null) return Promise.reject(this.refuses);
    const numbers = Array.from({ length: blockNumber - fromBlock + 1 }, (_, i) => fromBlock + i);
    const all = numbers.flatMap((number) => this.logsOf(number));
    return Promise.resolve(
      all.filter((log) => (topic === undefined || log.topics[0] === topic) && !this.hidden.has(placeOf(log))),
    );
  }

  #at(number: number): Block {
    const block = this.blocks[number];
    if (block === undefined) throw new Error(`there is no block ${number}`);
    return block;
  }
}

const numberTopic = (n: number): Hex => blockHashOf(n, 2);
const placeOf = ({ blockNumber, logIndex }: ChainLog): string => `${blockNumber}:${logIndex}`;
const places = (logs: readonly ChainLog[] = []): string[] => logs.map(placeOf);

interface Opened {
  readonly blooms?: Blooms;
  readonly second?: Node;
  readonly options?: Partial<LogWindowOptions>;
  readonly resumedAt?: BlockId;
  /** The node is asked for hints, too; absent: there are none. */
  readonly hints?: boolean;
}

/** A window that has read block 0. */
function open({ blooms = 'TRUE', second, options, resumedAt, hints = false }: Opened = {}) {
  const node = new Node([{ hash: blockHashOf(0), topics: [] }], blooms);
  const clock = new ManualClock();
  const late: number[] = [];
  const seen = { lacking: 0, doubt: null as string | null };
  const window = new LogWindow(
    node,
    second ?? node,
    {
      mayHold: (bloom) => bloom.has(EMITTER) && bloom.has(EVENT),
      mayHoldHints: (bloom) => bloom.has(EMITTER) && bloom.has(HINT),
      isEvent: ({ topics }) => topics[0] === EVENT,
      hintsAmong: (logs) => logs.filter(({ topics }) => topics[0] === HINT),
      events: (reader, fromBlock, to) => reader.logs({ fromBlock, to, topics: [EVENT] }),
      hints: (reader, fromBlock, to) => (hints ? reader.logs({ fromBlock, to, topics: [HINT] }) : Promise.resolve([])),
    },
    clock,
    { ...OPTIONS, ...options },
    resumedAt ?? null,
    { onLate: (n) => late.push(n), onLacking: () => seen.lacking++, onDoubt: (why) => (seen.doubt = why) },
  );
  if (resumedAt === undefined) window.goBackTo(idOf(node.head(0)), true);
  let position = resumedAt?.blockNumber ?? 0;
  const headsFrom = (number: number): BlockHead[] =>
    Array.from({ length: node.blocks.length - number }, (_, i) => node.head(number + i));
  /** Reads on to the newest block: what came of new blocks and of old ones, once it is in the book; null: it waits. */
  const look = async (isAccepted = true): Promise<[fresh: string[], late: string[]] | null> => {
    const to = node.head();
    const isNew = to.number > position;
    const reading = isNew
      ? await window.read({ fromBlock: position + 1, to, isLast: true, heads: headsFrom(position + 1) })
      : await window.readOld();
    if (reading === 'AWAITED') return null;
    if (isAccepted) {
      window.accept(reading);
      position = reading.range?.to.number ?? position;
    }
    return [places(reading.fresh), places(reading.late)];
  };
  /** Requests since it was last asked. */
  const requests = (): string[] => node.requests.splice(0);
  const goBackTo = (number: number): void => {
    window.goBackTo(idOf(node.head(number)), false);
    position = number;
  };
  return { node, clock, window, late, seen, look, requests, goBackTo, position: () => position };
}

/** As `open`, and the node's filters are known to be true. */
async function openTrusting(opened: Opened = {}) {
  const on = open(opened);
  on.node.mine(EVENT);
  await on.look();
  on.requests();
  return on;
}

t.test('a block whose filter tells of an event is waited for until the node gives its logs', async (t) => {
  const { node, look, position } = open();
  const number = node.mine(EVENT);
  node.hidden.add(`${number}:0`);
  t.equal(await look(), null);
  t.equal(position(), 0);
  node.hidden.clear();
  t.strictSame(await look(), [['1:0'], []]);
});

t.test('so is one in the middle of a range: it ends before that one', async (t) => {
  const { node, look, position } = open();
  node.mine(EVENT);
  const lagging = node.mine(EVENT, EVENT);
  node.mine(EVENT);
  node.hidden.add(`${lagging}:1`);
  t.strictSame(await look(), [['1:0'], []]);
  t.equal(position(), 1);
  t.equal(await look(), null);
  node.hidden.clear();
  t.strictSame(await look(), [['2:0', '2:1', '3:0'], []]);
});

t.test('logs of others that are missing tell that the answer was cut off', async (t) => {
  const { node, look } = open();
  node.mine(OTHER, EVENT, OTHER);
  node.hidden.add('1:0');
  t.equal(await look(), null, 'its index shows a gap');
  node.hidden.clear();
  node.hidden.add('1:2');
  t.equal(await look(), null, 'its filter has more bits');
  node.hidden.clear();
  t.strictSame(await look(), [['1:1'], []]);
});

t.test('after a while reading goes on without them, which is known until they come', async (t) => {
  const { node, clock, look, late, seen } = await openTrusting();
  node.mine(EVENT);
  node.hidden.add('2:0');
  t.equal(await look(), null);
  clock.advance(PATIENCE_MS);
  t.strictSame(await look(), [[], []]);
  t.match(seen, { lacking: 1, doubt: 'the logs of block 2 do not match its bloom filter' });
  node.mine();
  await look();
  t.not(seen.doubt, null);
  node.hidden.clear();
  t.strictSame(await look(), [[], ['2:0']]);
  t.strictSame([seen.doubt, late], [null, [1]]);
});

t.test('a block that cannot hold an event needs no request for logs, once filters are known to be true', async (t) => {
  const { node, look, requests } = await openTrusting();
  node.mine();
  node.mine(OTHER);
  await look();
  t.strictSame(requests(), []);
  node.mine();
  node.mine(EVENT);
  await look();
  t.strictSame(requests(), ['logs 5..5']);
  await look();
  t.strictSame(requests(), [], 'and nothing is read again');
});

t.test('blocks that may hold what is read are asked for with one request', async (t) => {
  const { node, look, requests } = await openTrusting();
  node.mine(EVENT);
  node.mine();
  node.mine(OTHER, EVENT);
  t.strictSame(await look(), [['2:0', '4:1'], []]);
  t.strictSame(requests(), ['logs 2..4']);
});

t.test('where the node refuses that, each is asked for alone', async (t) => {
  const { node, look, requests } = await openTrusting();
  node.mine(EVENT);
  node.mine(EVENT);
  refuseRanges(node);
  t.strictSame(await look(), [['2:0', '3:0'], []]);
  t.strictSame(requests(), ['refused', 'logs 2..2', 'logs 3..3']);
});

t.test('hints come with all logs of a block that may hold some', async (t) => {
  const { node, window, look, requests } = await openTrusting();
  node.mine(OTHER, HINT);
  const reading = await window.read({ fromBlock: 2, to: node.head(2), isLast: true, heads: [node.head(2)] });
  if (reading === 'AWAITED') throw new Error('Nothing is missing');
  t.strictSame([places(reading.fresh), places(reading.hints), reading.isProven], [[], ['2:1'], true]);
  t.strictSame(requests(), ['logs 2..2']);
  node.hidden.add('2:0');
  t.equal(await look(), null, 'and they are waited for');
});

t.test('announced blocks with nothing but hints wait after others with hints', async (t) => {
  const { node, clock, window } = await openTrusting();
  node.mine(HINT);
  t.equal(window.mayWait(announced(node, 2)), false);
  await window.read(announced(node, 2));
  for (const topic of [HINT, EVENT, OTHER]) node.mine(topic);
  t.strictSame(
    [3, 4, 5].map((number) => window.mayWait(announced(node, number))),
    [true, false, false],
    'none with an event does, nor one that holds nothing',
  );
  clock.advance(OPTIONS.hintsMs);
  t.equal(window.mayWait(announced(node, 3)), false);
});

t.test('filters of a subscription are trusted apart from those of the node', async (t) => {
  const { node, window, requests } = await openTrusting();
  node.mine();
  await window.read(announced(node, 2));
  t.strictSame(requests(), ['logs 2..2'], 'nothing shows that this filter is true');
  node.mine(EVENT);
  await window.read(announced(node, 3));
  requests();
  node.mine();
  await window.read(announced(node, 4));
  t.notOk(requests().includes('logs 4..4'));
});

t.test('a block whose filter says nothing is read again, and its header asked for once', async (t) => {
  const { node, window, requests } = await openTrusting({ options: { rereadBlocks: 8 } });
  node.mine();
  const head = node.head.bind(node);
  node.head = (number) => ({ ...head(number), ...(number === 2 && { logsBloom: `0x${'f'.repeat(512)}` }) });
  const reading = await window.read({ fromBlock: 2, to: node.head(2), isLast: true, heads: [] });
  if (reading === 'AWAITED') throw new Error('Nothing is missing');
  window.accept(reading);
  requests();
  window.accept(await window.readOld());
  t.strictSame(requests().sort(), ['block 2', 'logs 2..2']);
  window.accept(await window.readOld());
  t.strictSame(requests(), ['logs 2..2']);
});

t.test('filters are tried with a block of others before they are trusted', async (t) => {
  const { node, look, requests } = open();
  node.mine(OTHER);
  await look();
  t.strictSame(requests(), ['logs 1..1', 'logs 1..1'], 'the events, and all logs');
  node.mine();
  await look();
  t.strictSame(requests(), []);
});

t.test('and where the new ones are empty, with one that held an event', async (t) => {
  const { node, window, requests } = open({ options: { rereadBlocks: 2 } });
  node.mine(EVENT);
  node.mine();
  const reading = await window.read({ fromBlock: 1, to: node.head(2), isLast: true, heads: [] });
  if (reading === 'AWAITED') throw new Error('Nothing is missing');
  window.accept(reading);
  await window.readOld();
  t.strictSame(requests(), ['logs 1..2', 'logs 1..2', 'block 1', 'logs 1..1']);
  t.match(await window.readOld(), { confirmed: [{ number: 1 }, { number: 2 }] }, 'then they confirm the open blocks');
});

t.test('open blocks are confirmed by their filters, and then read no more', async (t) => {
  const { node, window, requests } = await openTrusting({ options: { rereadBlocks: 8 } });
  for (const topic of [OTHER, EVENT]) node.mine(topic);
  node.hidden.add('3:0');
  const reading = await window.read({ fromBlock: 2, to: node.head(3), isLast: true, heads: [] });
  if (reading === 'AWAITED') throw new Error('Without a header nothing is known to be missing');
  window.accept(reading);
  requests();
  const old = await window.readOld();
  t.strictSame(requests().sort(), ['block 2', 'block 3', 'logs 2..3', 'logs 3..3']);
  t.strictSame(
    old.confirmed.map(({ number }) => number),
    [2],
    'the other lacks its log',
  );
  window.accept(old);
  node.hidden.clear();
  const late = await window.readOld();
  t.strictSame(places(late.late), ['3:0']);
  window.accept(late);
  requests();
  window.accept(await window.readOld());
  t.strictSame(requests(), []);
});

t.test('where there are no filters, or false ones, the last blocks are read again with each look', async (t) => {
  for (const blooms of ['ABSENT', 'EMPTY'] as const) {
    const { node, look, late, requests } = open({ blooms });
    node.mine(EVENT);
    node.hidden.add('1:0');
    t.strictSame(await look(), [[], []]);
    node.mine(EVENT);
    requests();
    t.strictSame(await look(), [['2:0'], []]);
    t.strictSame(requests(), ['logs 1..2'], 'with one request');
    node.hidden.clear();
    t.strictSame(await look(), [[], ['1:0']], 'also while there is no new block');
    t.strictSame(await look(), [[], []], 'each log counts once');
    t.strictSame(late, [1]);
  }
});

t.test('a new block that is read with older ones is not proven by that, one that is read alone is', async (t) => {
  const { node, window, look } = open({ blooms: 'ABSENT' });
  node.mine(EVENT);
  const read = async (number: number) => {
    const head = node.head(number);
    const reading = await window.read({ fromBlock: number, to: head, isLast: true, heads: [head] });
    return reading === 'AWAITED' ? reading : reading.isProven;
  };
  t.equal(await read(1), true, 'the question names its hash');
  await look();
  node.mine(EVENT);
  t.equal(await read(2), false, 'the question names numbers, and a node may lack the last');
});

t.test('blocks deeper than that are not, nor those of a chain that has stood still for long', async (t) => {
  const { node, clock, look, requests } = open({ blooms: 'ABSENT' });
  node.mine(EVENT);
  node.hidden.add('1:0');
  for (let n = 0; n < OPTIONS.rereadBlocks; n++) {
    await look();
    node.mine();
  }
  node.hidden.clear();
  t.strictSame(await look(), [[], []]);
  requests();
  clock.advance(OPTIONS.rereadMs - 1);
  await look();
  t.strictSame(requests(), ['logs 2..5']);
  clock.advance(1);
  await look();
  t.equal(requests()[0], 'logs 1..5', 'the slow verification alone');
});

t.test('false filters are not used, though they hold nothing up for long', async (t) => {
  const { node, clock, look } = open();
  node.mine(EVENT);
  const head = node.head.bind(node);
  node.head = (number) => ({
    ...head(number),
    logsBloom: LogsBloom.of([{ address: EMITTER, topics: [EVENT, OTHER] }]).hex,
  });
  t.equal(await look(), null);
  clock.advance(PATIENCE_MS);
  t.strictSame(await look(), [['1:0'], []]);
  node.mine(EVENT);
  t.strictSame(await look(), [['2:0'], []]);
});

t.test('what was not accepted comes again, though the node leaves it out the next time', async (t) => {
  const { node, look, seen } = open({ blooms: 'ABSENT' });
  node.mine(EVENT);
  node.hidden.add('1:0');
  await look();
  node.hidden.clear();
  t.strictSame(await look(false), [[], ['1:0']]);
  node.hidden.add('1:0');
  t.match(seen.doubt, /block 1/);
  t.strictSame(await look(), [[], ['1:0']]);
  t.equal(seen.doubt, null);
});

t.test('all blocks are verified slowly, through the second endpoint', async (t) => {
  const { node: second } = open();
  const { node, clock, look, late, seen } = open({ second });
  for (const one of [node, second]) one.mine(EVENT, EVENT);
  // The logs that the first one gives have the filter of all of them.
  const logsOf = node.logsOf.bind(node);
  node.logsOf = (number) => logsOf(number).slice(0, 1);
  const logs = second.logs.bind(second);
  second.logs = (query) => turn().then(() => logs(query));
  await look();
  clock.advance(VERIFY_MS);
  t.strictSame(await look(), [[], []], 'reading does not wait for it');
  await turn();
  await turn();
  t.equal(seen.doubt, 'another reading of the logs has 1 more events');
  t.strictSame(await look(), [[], ['1:1']]);
  t.strictSame([seen.doubt, late], [null, [1]]);
  second.refuses = new RpcUnreachable('down');
  clock.advance(VERIFY_MS);
  t.strictSame(await look(), [[], []], 'that it fails stops nothing');
  await turn();
  t.equal(seen.doubt, null);
});

t.test('it asks for the logs of some blocks after those of others', async (t) => {
  const { node, clock, look, requests } = open();
  for (let n = 0; n < 5; n += 1) node.mine(EVENT, EVENT);
  await look();
  requests();
  clock.advance(VERIFY_MS);
  await look();
  for (let n = 0; n < 3; n += 1) await turn();
  t.strictSame(requests(), ['logs 1..2', 'logs 3..4', 'logs 5..5']);
});

t.test('it is rare once nothing has come for a while', async (t) => {
  const { node, clock, look, requests } = await openTrusting();
  const verifications = async (times: number): Promise<number> => {
    requests();
    for (let n = 0; n < times; n += 1) {
      clock.advance(VERIFY_MS);
      node.mine();
      await look();
      await turn();
    }
    return requests().length;
  };
  t.equal(await verifications(3), 3);
  t.equal(await verifications(29), 0);
  t.equal(await verifications(1), 1);
  node.mine(EVENT);
  await look();
  t.equal(await verifications(3), 3);
});

t.test('a block that should hold an event is read again on demand', async (t) => {
  const { node, clock, look, window } = open({ blooms: 'ABSENT' });
  node.mine(EVENT);
  node.hidden.add('1:0');
  await look();
  clock.advance(OPTIONS.rereadMs);
  await look();
  await turn();
  node.hidden.clear();
  let isRead = false;
  void window.readAgain(1).then(() => (isRead = true));
  t.strictSame(await look(false), [[], ['1:0']]);
  await turn();
  t.notOk(isRead, 'it is not in the book yet');
  await look();
  await turn();
  t.ok(isRead);
});

t.test('late logs of a block that was taken back do not count', async (t) => {
  const { node, look, goBackTo } = open({ blooms: 'ABSENT' });
  const logsOf = node.logsOf.bind(node);
  node.mine(EVENT);
  node.hidden.add('1:0');
  await look();
  node.hidden.clear();
  node.logsOf = (number) => logsOf(number).map((log) => ({ ...log, blockHash: blockHashOf(number, 9) }));
  t.strictSame(await look(), [[], []]);
  node.logsOf = logsOf;
  goBackTo(0);
  t.strictSame(await look(), [['1:0'], []]);
});

t.test('a node that refuses so many blocks is asked for the new ones alone', async (t) => {
  const { node, look, requests } = open({ blooms: 'ABSENT' });
  node.mine();
  await look();
  node.mine(EVENT);
  requests();
  refuseRanges(node);
  t.strictSame(await look(), [['2:0'], []]);
  t.strictSame(requests(), ['refused', 'logs 2..2']);
});

/** As `open`, with as many blocks read as are read again, which nothing confirms. */
async function openWithoutFilters() {
  const on = open({ blooms: 'ABSENT', hints: true });
  for (let n = 0; n < OPTIONS.rereadBlocks; n += 1) {
    on.node.mine();
    await on.look();
  }
  on.requests();
  return on;
}

t.test('a node that refused some looks is asked for old blocks again once it answers', async (t) => {
  const { node, look, requests } = await openWithoutFilters();
  const logs = node.logs.bind(node);
  refuseRanges(node);
  for (let n = 0; n < 6; n += 1) {
    node.mine();
    await look();
  }
  node.logs = logs;
  requests();
  for (let n = 0; n < 4; n += 1) {
    node.mine();
    await look();
  }
  t.strictSame([...new Set(requests())], ['logs 11..11', 'logs 11..12', 'logs 10..13', 'logs 11..14']);
});

t.test('after a look whose events and hints were refused, the next one asks for half as many blocks', async (t) => {
  const { node, look, requests } = await openWithoutFilters();
  const logs = node.logs.bind(node);
  refuseRanges(node);
  await look();
  t.strictSame(requests(), ['refused', 'refused', 'logs 4..4', 'logs 4..4']);
  node.logs = logs;
  await look();
  t.strictSame(requests(), ['logs 3..4', 'logs 3..4']);
});

t.test('events of blocks that an earlier process read are found, and not counted as late', async (t) => {
  const { node, clock, look, late, seen, window } = open({
    blooms: 'ABSENT',
    resumedAt: { blockNumber: 1, blockHash: blockHashOf(1) },
  });
  node.mine(EVENT);
  node.mine();
  clock.advance(VERIFY_MS);
  t.strictSame(await look(), [[], ['1:0']]);
  t.strictSame([seen.doubt, late], [null, []]);
  t.ok(node.logsOf(1).every((log) => window.isBeforeMemory(log)));
});

t.test('quotes, fills and cancels that a real node’s index has late are in the book soon after', async (t) => {
  const market = await Market.open(t);
  const call = market.pool('testWETH', 1800n, true);
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const rpc = { settlement: httpRpc([proxy.url]), stream: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc }, async (book) => {
    await book.upToDate();
    const offers = await Promise.all([1, 2, 3].map((salt) => market.sign(call, { salt })));
    let isBehind = true;
    proxy.trick = ({ method }) => (method === 'eth_getLogs' && isBehind ? { rewrite: () => [] } : 'PASS');
    for (const offer of offers) await market.publish(market.stranger.address, [offer]);
    await market.client.mine({ blocks: 2 });
    await market.cancel(market.maker.address, call.poolAddress, [offers[0]?.quoteId ?? '0x']);
    await market.client.mine({ blocks: 2 });
    isBehind = false;
    const [gone, ...live] = offers.map(({ quoteId }) => quoteId);
    await book.following.until(() => live.every((id) => book.ids.includes(id)));
    await book.upToDate();
    t.notOk(book.ids.includes(gone ?? '0x'));
  });
});

/** A block as a subscription announces it. */
function announced(node: Node, number: number) {
  const to = node.head(number);
  return { fromBlock: number, to, isLast: true, heads: [to], isHeard: true as const };
}

/** From now on the node gives the logs of one block at a time. */
function refuseRanges(node: Node): void {
  const logs = node.logs.bind(node);
  node.logs = (query) => {
    if (query.fromBlock === query.to.blockNumber) return logs(query);
    node.requests.push('refused');
    return Promise.reject(new RpcError(-32005, 'too many', null));
  };
}

/** What was begun beside the looks is done. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
