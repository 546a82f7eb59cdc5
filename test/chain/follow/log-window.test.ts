import t from 'tap';
import {
  type BlockHead,
  type BlockId,
  type ChainLog,
  idOf,
  type LogQuery,
} from '../../../src/chain/contracts/blocks-and-logs.js';
import { ChainMoved } from '../../../src/chain/follow/cursor.js';
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
const OTHER = blockHashOf(0x0f);
const PATIENCE_MS = 3_000;
const VERIFY_MS = 10_000;
const OPTIONS = {
  ...{ rereadBlocks: 4, rereadMs: 10_000, patienceMs: PATIENCE_MS, verifyBlocks: 20, verifyMs: VERIFY_MS },
  ...{ mostLogs: 100, blocksInFlight: 2 },
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
  turn = 0;

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
}

/** A window that has read block 0. */
function open({ blooms = 'TRUE', second, options, resumedAt }: Opened = {}) {
  const node = new Node([{ hash: blockHashOf(0), topics: [] }], blooms);
  const clock = new ManualClock();
  const late: number[] = [];
  const seen = { lacking: 0, doubt: null as string | null };
  const window = new LogWindow(
    node,
    second ?? node,
    {
      mayHold: (bloom) => bloom.has(EMITTER) && bloom.has(EVENT),
      isEvent: ({ topics }) => topics[0] === EVENT,
      events: (reader, fromBlock, to) => reader.logs({ fromBlock, to, topics: [EVENT] }),
      hints: () => Promise.resolve([]),
    },
    clock,
    { ...OPTIONS, ...options },
    resumedAt ?? null,
    { onLate: (n) => late.push(n), onLacking: () => seen.lacking++, onDoubt: (why) => (seen.doubt = why) },
  );
  if (resumedAt === undefined) window.goBackTo(idOf(node.head(0)), true);
  let position = resumedAt?.blockNumber ?? 0;
  /** Reads on to the newest block: what came of new blocks and of old ones, once it is in the book; null: it waits. */
  const look = async (isAccepted = true): Promise<[fresh: string[], late: string[]] | null> => {
    const to = node.head();
    const isNew = to.number > position;
    const reading = isNew
      ? await window.read({ type: 'BLOCKS', fromBlock: position + 1, to, isLast: true } as never)
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
  const { node, look, requests, window } = await openTrusting();
  node.mine();
  node.mine(OTHER);
  await look();
  t.strictSame(requests(), ['block 2']);
  node.mine();
  window.addHead(node.head(4));
  node.mine(EVENT);
  await look();
  t.strictSame(requests(), ['logs 5..5'], 'nor one for a block that a subscription told of');
  await look();
  t.strictSame(requests(), [], 'and nothing is read again');
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

t.test('a range whose blocks do not follow each other is of two branches', async (t) => {
  const { node, look } = open();
  node.mine(EVENT);
  node.mine();
  const head = node.head.bind(node);
  node.head = (number) => ({ ...head(number), ...(number === 1 && { hash: blockHashOf(1, 9) }) });
  await t.rejects(look(), ChainMoved);
});

t.test('a node that refuses so many blocks is asked for the new ones alone', async (t) => {
  const { node, look, requests } = open({ blooms: 'ABSENT' });
  node.mine();
  await look();
  node.mine(EVENT);
  requests();
  const logs = node.logs.bind(node);
  node.logs = (query) =>
    query.fromBlock < query.to.blockNumber
      ? (node.requests.push('refused'), Promise.reject(new RpcError(-32005, 'too many', null)))
      : logs(query);
  t.strictSame(await look(), [['2:0'], []]);
  t.strictSame(requests(), ['refused', 'logs 2..2']);
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
  t.ok(node.logsOf(1).every((log) => window.isOfEarlierProcess(log)));
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

/** What was begun beside the looks is done. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
