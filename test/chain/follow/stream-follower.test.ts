import t from 'tap';
import type { BlockId, ChainLog } from '../../../src/chain/contracts/blocks-and-logs.js';
import type { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import type { IdentifiedQuote } from '../../../src/chain/contracts/quote-types.js';
import { CommandSubmitter, resumeAfter } from '../../../src/chain/follow/book-port.js';
import { ChainMoved, type CursorStart } from '../../../src/chain/follow/cursor.js';
import { LogWindow } from '../../../src/chain/follow/log-window.js';
import type { RefusedEvent } from '../../../src/chain/follow/published-quotes.js';
import { StreamFollower } from '../../../src/chain/follow/stream-follower.js';
import type { ChainPosition, Command } from '../../../src/engine/command.js';
import { blockHashOf, sampleQuote } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';
import { ScriptedChain, timeOf } from '../scripted-chain.js';
import { cursorOn } from '../scripted-cursor.js';

const TELL_EVERY_BLOCKS = 5;
const RETRY_MS = 100;
/** Of the other chain, which stands still. */
const SETTLEMENT = { blockNumber: 7, blockHash: blockHashOf(7) };
const NOTHING: CursorStart = { trail: [], isPartial: false };

interface Follow {
  readonly height: number;
  readonly resume?: CursorStart;
  readonly position?: ChainPosition;
  /** What the node says of the time of each log. */
  readonly logTime?: number;
  /** What happens while the settlement chain is asked about quotes. */
  readonly meanwhile?: (chain: ScriptedChain) => void;
}

/** A stream whose events, each by block and index, are quotes where a test says so, and are refused where not. */
function follow({ height, resume = NOTHING, position, logTime = 1, meanwhile }: Follow) {
  const chain = new ScriptedChain(height);
  const { cursor } = cursorOn(chain, {}, resume);
  const events: [blockNumber: number, logIndex: number, quote?: IdentifiedQuote][] = [];
  const commands: Command[] = [];
  const entered = new Map<string, Command>();
  const decided: (string | null)[] = [];
  const refused: string[] = [];
  const log = { takes: true };
  const clock = new ManualClock();
  const book = {
    get: (quoteId: string) => entered.get(quoteId),
    submit(command: Command) {
      if (!log.takes) return false;
      if (command.type === 'ENTER_QUOTE') entered.set(command.quote.quoteId, command);
      commands.push(command);
      return true;
    },
  } as unknown as ConstructorParameters<typeof CommandSubmitter>[0];
  const { reader: blocks } = chain;
  const reader = {
    findBlock: (number: number) => blocks.findBlock(number),
    switches: 0,
    blockOf: ({ blockNumber }: { blockNumber: number }) =>
      Promise.resolve({ number: blockNumber, timestamp: timeOf(blockNumber) }),
    logs: ({ fromBlock, to }: { fromBlock: number; to: { blockNumber: number } }) =>
      Promise.resolve(
        events
          .filter(([blockNumber]) => blockNumber >= fromBlock && blockNumber <= to.blockNumber)
          .map(([blockNumber, logIndex]) => ({
            ...chain.id(blockNumber),
            logIndex,
            timestamp: logTime,
            txHash: `0x${'01'.repeat(32)}`,
          })),
      ),
  } as unknown as ChainReader;
  const publications = {
    check(logs: readonly ChainLog[]) {
      const found = logs.map((log) => {
        const event = events.find(([block, index]) => block === log.blockNumber && index === log.logIndex);
        return { log, quote: event?.[2] };
      });
      return Promise.resolve({
        candidates: found.flatMap(({ log, quote }) =>
          quote === undefined || entered.has(quote.quoteId) ? [] : [{ log, quote }],
        ),
        refused: found.flatMap(({ log, quote }): RefusedEvent[] =>
          quote === undefined ? [{ why: 'MALFORMED', log, publication: null }] : [],
        ),
        known: found.flatMap(({ quote }) => (quote && entered.has(quote.quoteId) ? [quote.quoteId] : [])),
      });
    },
  };
  const states = {
    read(quotes: readonly IdentifiedQuote[]) {
      meanwhile?.(chain);
      return Promise.resolve(quotes.map(({ size }) => ({ state: { fillableSize: size, reason: null }, error: null })));
    },
  };
  const watched = {
    mayHold: () => false,
    mayHoldHints: () => false,
    isEvent: () => true,
    hintsAmong: () => [],
    events: (_: ChainReader, fromBlock: number, to: BlockId) => reader.logs({ fromBlock, to, topics: [] }),
    hints: () => Promise.resolve([]),
  };
  const windowOptions = {
    rereadBlocks: 4,
    rereadMs: 1_000,
    patienceMs: 1_000,
    verifyBlocks: 50,
    verifyMs: 10_000,
    logsPerVerifyRequest: 500,
    hintsMs: 500,
  };
  const readBefore = resume.trail.at(resume.isPartial ? -2 : -1) ?? null;
  const window = new LogWindow(
    reader,
    reader,
    watched,
    clock,
    { ...windowOptions, mostLogs: 100, blocksInFlight: 2 },
    readBefore,
    { onLate: () => undefined, onLacking: () => undefined, onDoubt: () => undefined },
  );
  const follower = new StreamFollower({
    reader,
    cursor,
    book,
    submitter: new CommandSubmitter(book, clock, RETRY_MS),
    publications,
    states,
    early: { take: () => [] },
    window,
    listener: {
      onDecided: (_quoteId, refusal) => decided.push(refusal),
      onRefused: (why, { blockNumber, logIndex }) => refused.push(`${why} ${blockNumber}:${logIndex}`),
      beforeEntry: () => Promise.resolve(),
    },
    resumeAfter: resumeAfter(position ?? null),
    reportEveryBlocks: TELL_EVERY_BLOCKS,
    blocksInFlight: 1,
  });
  const step = async (): Promise<boolean> => follower.enter(await follower.look(), SETTLEMENT);
  const readAll = async (): Promise<void> => {
    while (!(await step()));
  };
  /** Commands that the book received since the last look. */
  const told = (): [type: string, blockNumber: number | undefined][] =>
    commands
      .splice(0)
      .map((command) => [command.type, 'position' in command ? command.position.blockNumber : undefined]);
  const times = (): number[] =>
    commands.flatMap((command) => (command.type === 'ENTER_QUOTE' ? [command.quote.ts] : []));
  return { chain, follower, events, log, clock, decided, refused, step, readAll, told, times };
}

t.test('of a range whose end was replaced while its quotes were asked about nobody hears', async (t) => {
  const { events, decided, refused, step, readAll, told } = follow({
    height: 17,
    meanwhile(chain) {
      if (chain.height !== 17) return;
      chain.cutTo(16);
      chain.mine(2, 'b');
    },
  });
  events.push([12, 0, sampleQuote({ n: 1 })], [13, 0]);
  t.equal(await step(), false);
  t.strictSame(told(), [['ADVANCE_POSITION', 9]]);
  await t.rejects(step(), ChainMoved);
  t.strictSame([told(), decided, refused], [[], [], []]);
  await readAll();
  t.strictSame(told(), [
    ['ADVANCE_POSITION', 10],
    ['ENTER_QUOTE', 12],
    ['ADVANCE_POSITION', 18],
  ]);
  t.strictSame([decided, refused], [[null], ['MALFORMED 13:0']]);
});

t.test(
  'the position is submitted after events, every so many blocks, and after a reorg from its ancestor on',
  async (t) => {
    const { chain, events, refused, readAll, told } = follow({ height: 20 });
    await readAll();
    told();
    const readOn = async (blocks: number): Promise<unknown> => {
      for (let n = 0; n < blocks; n++) {
        chain.mine(1);
        await readAll();
      }
      return told();
    };
    t.strictSame(await readOn(4), []);
    t.strictSame(await readOn(1), [['ADVANCE_POSITION', 25]]);
    events.push([27, 0]);
    t.strictSame(await readOn(2), [['ADVANCE_POSITION', 27]], 'a restart does not refuse it once more');
    t.strictSame(refused, ['MALFORMED 27:0']);
    events.length = 0;
    chain.cutTo(24);
    chain.mine(4, 'b');
    await readAll();
    t.strictSame(told(), [['REWIND_STREAM', 24]]);
    t.strictSame(await readOn(1), [['ADVANCE_POSITION', 29]]);
  },
);

t.test("quotes have their blocks' times, whatever a node says of those of the logs", async (t) => {
  const { events, readAll, times } = follow({ height: 20, logTime: timeOf(20) + 1 });
  events.push([12, 0, sampleQuote({ n: 1 })], [20, 0, sampleQuote({ n: 2 })]);
  await readAll();
  t.strictSame(times(), [12, 20].map(timeOf));
});

t.test('the publisher of a known quote hears that the book has it', async (t) => {
  const { chain, events, decided, step, readAll, told } = follow({ height: 20 });
  events.push([20, 0, sampleQuote({ n: 1 })]);
  await readAll();
  t.strictSame(decided, [null]);
  told();
  chain.mine(1);
  events.push([21, 0, sampleQuote({ n: 1 })]);
  t.equal(await step(), true, 'nothing is left to be read');
  t.strictSame(decided, [null, null]);
  t.strictSame(told(), [['ADVANCE_POSITION', 21]]);
  t.equal(await step(), true);
});

t.test('reading goes on only after the book has taken the commands', async (t) => {
  const { chain, follower, log, clock, step, readAll, told } = follow({ height: 20 });
  const whileLogIsFull = async (): Promise<void> => {
    log.takes = false;
    const before = follower.position;
    const stepped = step();
    for (let n = 0; n < 20; n++) await Promise.resolve();
    t.strictSame(follower.position, before);
    log.takes = true;
    clock.advance(RETRY_MS);
    t.equal(await stepped, false);
  };
  await whileLogIsFull();
  t.strictSame([told(), follower.position], [[['ADVANCE_POSITION', 9]], chain.id(9)]);
  await readAll();
  told();
  chain.cutTo(15);
  chain.mine(6, 'b');
  await whileLogIsFull();
  t.match(told(), [['REWIND_STREAM', follower.position?.blockNumber]]);
});

t.test('after a restart the rest of a partly applied block is applied, or all of its replacement', async (t) => {
  for (const branch of ['a', 'b']) {
    const old = new ScriptedChain(22);
    const { chain, events, refused, readAll } = follow({
      height: 21,
      resume: { trail: [old.id(20), old.id(22)], isPartial: true },
      position: { chain: 'stream', ...old.id(22), logIndex: 0 },
    });
    chain.mine(2, branch);
    events.push([22, 0], [22, 1], [23, 0]);
    await readAll();
    const rest = ['MALFORMED 22:1', 'MALFORMED 23:0'];
    t.strictSame(refused, branch === 'a' ? rest : ['MALFORMED 22:0', ...rest]);
  }
});
