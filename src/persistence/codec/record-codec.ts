import type { Command, Stamp } from '../../engine/command.js';
import type { Cause, EngineEvent, RfqChanged, RfqStatus } from '../../engine/event.js';
import type { JournalRecord } from '../../engine/ports.js';
import type { Order } from '../../engine/quote.js';
import type { GrowingBuffer } from '../disk/buffer.js';
import { PersistenceError } from '../disk/disk.js';
import {
  readCommand,
  readMakers,
  readRfq,
  readRfqTerms,
  readTerms,
  readWithdrawalReason,
  recordVersionOf,
  writeCommand,
  writeMakers,
  writeRfq,
  writeRfqTerms,
  writeTerms,
  writeWithdrawalReason,
} from './command-codec.js';
import { MsgpackError, MsgpackReader } from './msgpack-reader.js';
import { pick, QuoteReader, QuoteWriter } from './quote-codec.js';

/** The newest version of a record's layout. A program reads its own and older ones. */
const RECORD_VERSION = 8;
const RECORD_FIELDS = 5;

/** Writes records into a buffer, one after another. Equal records give equal bytes. */
export class RecordWriter {
  readonly #out: QuoteWriter;

  constructor(out: GrowingBuffer) {
    this.#out = new QuoteWriter(out);
  }

  /** Throws RangeError on a value that the vocabulary doesn't allow: a bug, never bad input. */
  write({ stamp, command, events }: JournalRecord): void {
    const out = this.#out;
    out.beginRecord();
    out.array(RECORD_FIELDS);
    out.uint(versionOf(command, events));
    out.uint(stamp.index);
    out.uint(stamp.tsMs);
    writeCommand(out, command);
    this.#writeEvents(events);
  }

  /**
   * The end alone of what `write` makes of a record with this command: a command that was read needs no writing again.
   */
  writeEvents(command: Command, events: JournalRecord['events']): void {
    const out = this.#out;
    out.beginRecord();
    if (command.type === 'ENTER_QUOTE') {
      out.countQuote(command.quote);
      out.countPool(command.quote.pool);
    } else if (command.type === 'DEPLOY_POOL') {
      out.countPool(command.pool);
    } else if (command.type === 'FILL_QUOTE' && command.trade !== undefined) {
      out.countPool(command.trade.pool);
    }
    this.#writeEvents(events);
  }

  #writeEvents(events: JournalRecord['events']): void {
    this.#out.array(events.length);
    for (const event of events) writeEvent(this.#out, event);
  }
}

export class RecordReader {
  readonly #in = new MsgpackReader();
  readonly #quotes = new QuoteReader(this.#in);

  /**
   * The whole record that lies in `bytes` from `start` to `end`. Throws MsgpackError on bytes that are none,
   * PersistenceError NEWER_FORMAT on a newer program's.
   */
  read(bytes: Buffer, start = 0, end = bytes.length): JournalRecord {
    const { stamp, command, version } = this.#readHead(bytes, start, end);
    const events = Array.from({ length: this.#in.array() }, () => readEvent(this.#in, this.#quotes));
    this.#in.end();
    if (version !== versionOf(command, events)) throw new MsgpackError(`no record of version ${version}`);
    return { stamp, command, events };
  }

  /** Where in the bytes the events begin, after `readCommand`. */
  get eventsAt(): number {
    return this.#in.position;
  }

  /** Reads everything that a replay applies: all but the events. */
  readCommand(bytes: Buffer, start = 0, end = bytes.length): { readonly stamp: Stamp; readonly command: Command } {
    return this.#readHead(bytes, start, end);
  }

  #readHead(bytes: Buffer, start: number, end: number) {
    const input = this.#in;
    this.#quotes.beginRecord();
    input.begin(bytes, start, end);
    const length = input.array();
    const version = input.uint();
    if (version > RECORD_VERSION) {
      throw new PersistenceError(
        'NEWER_FORMAT',
        `a record of version ${version}, this program reads up to ${RECORD_VERSION}`,
      );
    }
    if (version < 1 || length !== RECORD_FIELDS) throw new MsgpackError(`no record of version ${version}`);
    const stamp = { index: input.uint(), tsMs: input.uint() };
    const command = readCommand(input, this.#quotes);
    const isOfWithdrawn = version === OF_WITHDRAWN && mayBeOfWithdrawn(command);
    if (!isOfWithdrawn && version !== recordVersionOf(command)) {
      throw new MsgpackError(`no record of version ${version}`);
    }
    return { stamp, command, version };
  }
}

/**
 * The version of a record whose command of the settlement chain has a fill, a restatement or the withdrawal of a withdrawn
 * quote among its events: an older reader knows the command, not the event.
 */
const OF_WITHDRAWN = 5;

function mayBeOfWithdrawn({ type }: Command): boolean {
  return type === 'FILL_QUOTE' || type === 'REWIND_SETTLEMENT';
}

function versionOf(command: Command, events: JournalRecord['events']): number {
  return mayBeOfWithdrawn(command) && events.some(isOfWithdrawn) ? OF_WITHDRAWN : recordVersionOf(command);
}

function isOfWithdrawn({ type }: EngineEvent): boolean {
  return type === 'WITHDRAWN_QUOTE_FILLED' || type === 'WITHDRAWN_QUOTE_RESTATED' || type === 'QUOTE_WITHDRAWN';
}

type Type = EngineEvent['type'];
type Removal = Extract<EngineEvent, { type: 'QUOTE_REMOVED' }>['why'];

/**
 * How many fields follow kind, seq and cause. An event's kind is its place in this list, which is only ever added to at
 * its end. docs/reference/log-format.md has the fields.
 */
const FIELDS = {
  QUOTE_POSTED: 3,
  QUOTE_FILLED: 4,
  QUOTE_REMOVED: 4,
  QUOTE_INVALIDATED: 3,
  QUOTE_REVALIDATED: 2,
  QUOTE_RESTATED: 4,
  POOL_DEPLOYED: 1,
  POOL_WITHDRAWN: 1,
  RFQ_PUBLISHED: 5,
  TRADE_RECORDED: 4,
  TRADES_UNDONE: 1,
  QUOTE_WITHDRAWN: 4,
  QUOTE_RESTORED: 3,
  WITHDRAWN_QUOTE_FILLED: 3,
  WITHDRAWN_QUOTE_RESTATED: 2,
  RFQ_CHANGED: 11,
} as const satisfies Record<Type, number>;
const KINDS = Object.keys(FIELDS) as readonly Type[];
const KIND_OF = Object.fromEntries(KINDS.map((type, kind) => [type, kind])) as Record<Type, number>;

/** The head of an event's array, and its kind. */
function headOf(type: Type): Buffer {
  return Buffer.from([FIXARRAY + 3 + FIELDS[type], KIND_OF[type]]);
}

const FIXARRAY = 0x90;
const WITHDRAWING = (['QUOTE_WITHDRAWN', 'QUOTE_RESTORED'] as const).map(headOf);

/** Whether a record may have an event that withdraws or restores a quote, by its bytes alone: most others have none. */
export function mayWithdraw(record: Buffer): boolean {
  return WITHDRAWING.some((head) => record.includes(head));
}

/** Written as the place in this list, which is only ever added to at its end. */
const REMOVALS: readonly Removal[] = ['FILLED', 'CANCELLED', 'EXPIRED', 'REWOUND'];

/** Written as the place in this list, which is only ever added to at its end. */
const RFQ_STATUSES: readonly RfqStatus[] = ['open', 'quoted', 'partly_filled', 'filled', 'cancelled', 'expired'];

/** Within what `beginRecord` began: a pool or quote that comes again is written as its number. */
export function writeEvent(out: QuoteWriter, event: EngineEvent): void {
  const hasTerms = event.type === 'RFQ_PUBLISHED' && event.terms !== undefined;
  out.array(3 + FIELDS[event.type] + (hasTerms ? 1 : 0));
  out.uint(KIND_OF[event.type]);
  out.uint(event.seq);
  writeCause(out, event.cause);
  switch (event.type) {
    case 'QUOTE_POSTED':
      writeOrder(out, event);
      return out.reason(event.reason);
    case 'QUOTE_FILLED':
      writeOrder(out, event);
      out.amount(event.size);
      return out.bool(event.valid);
    case 'QUOTE_REMOVED':
      writeOrder(out, event);
      out.uint(REMOVALS.indexOf(event.why));
      return out.bool(event.valid);
    case 'QUOTE_INVALIDATED':
      writeOrder(out, event);
      return out.reason(event.reason);
    case 'QUOTE_REVALIDATED':
    case 'WITHDRAWN_QUOTE_RESTATED':
      return writeOrder(out, event);
    case 'QUOTE_RESTATED':
      writeOrder(out, event);
      out.bool(event.wasValid);
      return out.reason(event.reason);
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
      return out.pool(event.pool);
    case 'RFQ_PUBLISHED':
      writeRfq(out, event.rfq);
      if (event.terms !== undefined) writeRfqTerms(out, event.terms);
      return;
    case 'RFQ_CHANGED':
      return writeRfqChanged(out, event);
    case 'TRADE_RECORDED':
      out.word(event.trade.quoteId);
      out.amount(event.trade.size);
      out.word(event.trade.blockHash);
      return writeTerms(out, event.trade);
    case 'TRADES_UNDONE':
      return out.uint(event.blockNumber);
    case 'QUOTE_WITHDRAWN':
      writeOrder(out, event);
      writeWithdrawalReason(out, event.reason);
      return out.bool(event.valid);
    case 'QUOTE_RESTORED':
      writeOrder(out, event);
      return out.reason(event.reason);
    case 'WITHDRAWN_QUOTE_FILLED':
      writeOrder(out, event);
      return out.amount(event.size);
  }
}

/** Throws MsgpackError on bytes that are no event. */
export function readEvent(input: MsgpackReader, quotes: QuoteReader): EngineEvent {
  const length = input.array();
  const type = pick(KINDS, input.uint(), 'event');
  const hasTerms = type === 'RFQ_PUBLISHED' && length === 4 + FIELDS[type];
  if (!hasTerms && length !== 3 + FIELDS[type]) throw new MsgpackError(`${type} with ${length - 3} fields`);
  const common = { seq: input.uint(), cause: readCause(input, quotes) };
  switch (type) {
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
      return { type, ...common, pool: quotes.pool() };
    case 'RFQ_PUBLISHED': {
      const published = { type, ...common, rfq: readRfq(input, quotes) };
      return hasTerms ? { ...published, terms: readRfqTerms(input, quotes) } : published;
    }
    case 'RFQ_CHANGED':
      return { type, ...common, ...readRfqChanged(input, quotes) };
    case 'TRADE_RECORDED': {
      const { seq, cause } = common;
      if (cause === null) throw new MsgpackError('a trade without its log');
      const [quoteId, size, blockHash] = [quotes.word(), input.amount(), quotes.word()];
      return { type, seq, cause, trade: { ...readTerms(input, quotes), quoteId, size, blockHash } };
    }
    case 'TRADES_UNDONE':
      return { type, ...common, blockNumber: input.uint() };
    default:
      return readOrderEvent(type, common, input, quotes);
  }
}

type OrderEventType = Exclude<
  Type,
  'POOL_DEPLOYED' | 'POOL_WITHDRAWN' | 'RFQ_PUBLISHED' | 'RFQ_CHANGED' | 'TRADE_RECORDED' | 'TRADES_UNDONE'
>;

/**
 * The order that comes with a read event is as that event left it, as far as the event tells: an invalid one that was
 * filled has no reason here.
 */
function readOrderEvent(
  type: OrderEventType,
  common: Pick<EngineEvent, 'seq' | 'cause'>,
  input: MsgpackReader,
  quotes: QuoteReader,
): EngineEvent {
  const quote = quotes.quote();
  const fillableSize = input.amount();
  const order = (state: Order['state'], reason: Order['reason']) => ({
    ...common,
    order: { quote, fillableSize, state: fillableSize === 0n ? 'gone' : state, reason } satisfies Order,
    fillableSize,
  });
  switch (type) {
    case 'QUOTE_POSTED': {
      const reason = quotes.reason();
      return { type, ...order(reason === null ? 'live' : 'invalid', reason), reason };
    }
    case 'QUOTE_FILLED': {
      const size = input.amount();
      const valid = input.bool();
      return { type, ...order(valid ? 'live' : 'invalid', null), size, valid };
    }
    case 'QUOTE_REMOVED':
      return { type, ...order('gone', null), why: pick(REMOVALS, input.uint(), 'removal'), valid: input.bool() };
    case 'QUOTE_INVALIDATED': {
      const reason = quotes.presentReason();
      return { type, ...order('invalid', reason), reason };
    }
    case 'QUOTE_REVALIDATED':
      return { type, ...order('live', null) };
    case 'QUOTE_RESTATED': {
      const wasValid = input.bool();
      const reason = quotes.reason();
      return { type, ...order(reason === null ? 'live' : 'invalid', reason), wasValid, reason };
    }
    case 'QUOTE_WITHDRAWN':
      return { type, ...order('withdrawn', null), reason: readWithdrawalReason(input), valid: input.bool() };
    case 'QUOTE_RESTORED': {
      const reason = quotes.reason();
      return { type, ...order(reason === null ? 'live' : 'invalid', reason), reason };
    }
    case 'WITHDRAWN_QUOTE_FILLED':
      return { type, ...order('withdrawn', null), size: input.amount() };
    case 'WITHDRAWN_QUOTE_RESTATED':
      return { type, ...order('withdrawn', null) };
  }
}

function writeOrder(
  out: QuoteWriter,
  { order, fillableSize }: Pick<Order, 'fillableSize'> & { readonly order: Order },
): void {
  out.quote(order.quote);
  out.amount(fillableSize);
}

function writeRfqChanged(out: QuoteWriter, { rfqId, rfq, makers, taker, ...progress }: RfqChanged): void {
  out.text(rfqId);
  out.address(rfq.poolAddress);
  out.bool(rfq.side === 'bid');
  out.amount(rfq.size);
  out.address(rfq.taker);
  writeMakers(out, makers);
  if (taker === null) out.nil();
  else out.address(taker);
  out.uint(RFQ_STATUSES.indexOf(progress.status));
  out.amount(progress.filledSize);
  out.uint(progress.quotes);
  if (progress.best === null) return out.nil();
  out.array(BEST_FIELDS);
  out.word(progress.best.quoteId);
  out.amount(progress.best.price);
  out.amount(progress.best.fillableSize);
}

const BEST_FIELDS = 3;

/** Object literals are evaluated from top to bottom. */
function readRfqChanged(input: MsgpackReader, quotes: QuoteReader): Omit<RfqChanged, 'type' | 'seq' | 'cause'> {
  return {
    rfqId: input.text(),
    rfq: {
      poolAddress: quotes.address(),
      side: input.bool() ? 'bid' : 'ask',
      size: input.amount(),
      taker: quotes.address(),
    },
    makers: readMakers(input, quotes),
    taker: input.nil() ? null : quotes.address(),
    status: pick(RFQ_STATUSES, input.uint(), 'status'),
    filledSize: input.amount(),
    quotes: input.uint(),
    best: readBest(input, quotes),
  };
}

function readBest(input: MsgpackReader, quotes: QuoteReader): RfqChanged['best'] {
  if (input.nil()) return null;
  input.tuple(BEST_FIELDS);
  return { quoteId: quotes.word(), price: input.amount(), fillableSize: input.amount() };
}

function writeCause(out: QuoteWriter, cause: Cause | null): void {
  if (cause === null) return out.nil();
  out.array(2);
  out.chain(cause.chain);
  out.origin(cause);
}

function readCause(input: MsgpackReader, quotes: QuoteReader): Cause | null {
  if (input.nil()) return null;
  input.tuple(2);
  return { chain: quotes.chain(), ...quotes.origin() };
}
