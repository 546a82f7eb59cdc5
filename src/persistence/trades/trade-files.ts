import type { EngineEvent, TradeRecorded, TradesUndone } from '../../engine/event.js';
import { MsgpackError, MsgpackReader } from '../codec/msgpack-reader.js';
import { MsgpackWriter } from '../codec/msgpack-writer.js';
import { QuoteReader, QuoteWriter } from '../codec/quote-codec.js';
import { readEvent, writeEvent } from '../codec/record-codec.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type Disk, type DiskFile, type Logger, readStart, readWhole } from '../disk/disk.js';
import { tradeFileName, tradeFileNumbers } from '../format/file-names.js';
import { beginFrame, endFrame, type Frame, FrameType, readFrame } from '../format/frame.js';
import { HEADER_BYTES, readHeaderFrame } from '../format/header.js';
import { brokenName } from '../recovery/torn-tail.js';

const KIND = 'quotebook trades';
const FORMAT = 1;
const HEADER_FIELDS = 5;
const BATCH_FIELDS = 3;

export type TradeLogEvent = TradeRecorded | TradesUndone;

/** A place in the log: its last event up to there, and the engine time of that event's record, milliseconds. */
export interface TradePoint {
  readonly seq: number;
  readonly tsMs: number;
}

export interface TradeBatch {
  readonly events: readonly TradeLogEvent[];
  /** The log has no other trade events since the batch before. */
  readonly through: TradePoint;
}

export type TradePart =
  | { readonly type: 'EVENTS'; readonly events: readonly TradeLogEvent[] }
  /** Events of records up to that Unix second may be missing, also those that undo earlier trades. */
  | { readonly type: 'GAP'; readonly throughSeconds: number };

/** Of the settlement chain, what trade events are about. */
export interface TradeSpan {
  /** Blocks of its trades; Infinity and -1: it has none. */
  readonly lowestBlock: number;
  readonly highestBlock: number;
  /** Unix seconds: of its oldest trade. */
  readonly lowestTime: number;
  /** It undoes earlier trades of all blocks after this one; Infinity: none. */
  readonly lowestUndone: number;
}

/** The content of one file. */
export interface TradeFilePart {
  readonly number: number;
  readonly after: TradePoint;
  readonly end: TradePoint;
  readonly span: TradeSpan;
}

export interface TradeFilesOptions {
  /** Of the log, as its files have it. */
  readonly epoch: Buffer;
  /** The log's end. */
  readonly end: TradePoint;
  /** The next file begins when the last one has as many bytes, or is as old. */
  readonly fileBytes: number;
  readonly fileMs: number;
  /** A file goes when the next one is older. */
  readonly keptMs: number;
  readonly logger: Logger;
}

/** One file. Its content ends where the next one begins. */
interface TradeFile {
  readonly number: number;
  /** The end of the files before it. */
  readonly after: TradePoint;
}

interface AppendedFile {
  readonly number: number;
  readonly file: DiskFile;
  readonly startMs: number;
  /** Whole and durable. */
  bytes: number;
}

/**
 * The trade events of a log, in files of their own that outlive its segments. They are derived: what they lack is read
 * from the log, and where both lack it the trades from before are not served. docs/reference/log-format.md has the
 * format.
 */
export class TradeFiles {
  readonly #disk: Disk;
  readonly #options: TradeFilesOptions;
  readonly #buffer = new GrowingBuffer(4096);
  readonly #writer = new QuoteWriter(this.#buffer);
  /** In order; the content of each ends where the next begins. */
  #files: readonly TradeFile[];
  /** Of the last file that was begun, or was tried to be. */
  #number: number;
  #through: TradePoint | null;
  #open: AppendedFile | null = null;
  /** By the numbers of the files: of all that was read and appended. */
  readonly #spans = new Map<number, TradeSpan>();

  /**
   * Reads what there is to be gone on from. Files of another log are put aside; events that the log has lost are cut
   * off. Rejects with the system's error.
   */
  static async open(disk: Disk, options: TradeFilesOptions): Promise<TradeFiles> {
    const { epoch, end, logger } = options;
    const names = await disk.list();
    const found: TradeFile[] = [];
    const numbers = tradeFileNumbers(names);
    for (const number of numbers) {
      const name = tradeFileName(number);
      const header = readTradeHeader(await readStart(disk, name, HEADER_BYTES), epoch);
      if (typeof header !== 'string') {
        found.push({ number, after: header.after });
        continue;
      }
      const setAside = brokenName(names, name);
      await disk.rename(name, setAside);
      logger.warn({ file: name, reason: header, setAside }, 'trade file set aside');
    }
    const files = new TradeFiles(disk, options, found, numbers.at(-1) ?? 0);
    const last = found.at(-1);
    if (last === undefined) return files;
    const reading = readBatches(await readWhole(disk, tradeFileName(last.number)), epoch);
    let through = last.after;
    let read = reading.next();
    for (; read.done !== true; read = reading.next()) ({ through } = read.value);
    const { end: bytes, problem } = read.value;
    if (through.seq > end.seq) {
      // At once: from here on the log gives the numbers of lost events to others.
      files.#through = end;
      await files.#beginFile(end);
      await disk.syncDirectory();
    } else {
      files.#through = through;
      if (problem === null) await files.#continueFile(last, bytes);
      else logger.warn({ file: tradeFileName(last.number), offset: bytes, reason: problem }, 'trade file torn');
    }
    await files.#removeUnread();
    return files;
  }

  private constructor(disk: Disk, options: TradeFilesOptions, files: readonly TradeFile[], number: number) {
    this.#disk = disk;
    this.#options = options;
    this.#files = files;
    this.#number = number;
    this.#through = null;
  }

  /** Up to where the log's trade events are in the files, or known to be missing; null: there is no file. */
  get through(): TradePoint | null {
    return this.#through;
  }

  /**
   * The events of all files, the oldest first, a batch at a time; before anything is appended. Where a file is damaged
   * and `isInLog(seq)`, the log has all events after that number, it ends there: `through` tells the place, and later
   * files are taken for void. A file that cannot be read is a damaged one.
   */
  async *read(isInLog: (afterSeq: number) => boolean): AsyncGenerator<TradePart> {
    const { logger } = this.#options;
    const [oldest] = this.#files;
    if (oldest === undefined || this.#through === null) return;
    if (oldest.after.seq > 0) yield gapThrough(oldest.after);
    let through = oldest.after;
    for (const [place, { number, after }] of this.#files.entries()) {
      if (after.seq > through.seq) {
        yield gapThrough(after);
        through = after;
      }
      const limit = this.#files[place + 1]?.after ?? this.#through;
      const name = tradeFileName(number);
      let reason: string;
      try {
        const reading = this.#content(number, through, limit);
        let read = await reading.next();
        for (; read.done !== true; read = await reading.next()) {
          this.#note(number, read.value);
          yield { type: 'EVENTS', events: read.value };
        }
        ({ through, reason } = read.value);
      } catch (error) {
        reason = (error as Error).message;
      }
      if (through.seq >= limit.seq) continue;
      const isRebuilt = isInLog(through.seq);
      logger.warn({ file: name, reason, seq: through.seq, isRebuilt }, 'trade file damaged');
      if (!isRebuilt) continue;
      await this.skipTo(through);
      return;
    }
  }

  /** The files that have something, the newest first, as they are now. All were read before by `read`. */
  parts(): TradeFilePart[] {
    const parts: TradeFilePart[] = [];
    let end = this.#through;
    for (const { number, after } of this.#files.toReversed()) {
      if (end === null || after.seq >= end.seq) continue;
      const span = this.#spans.get(number);
      if (span !== undefined) parts.push({ number, after, end, span });
      end = after;
    }
    return parts;
  }

  /**
   * The events of one file, the oldest first, a batch at a time; returns whether they are all there. Rejects with the
   * system's error.
   */
  async *readPart({ number, after, end }: TradeFilePart): AsyncGenerator<readonly TradeLogEvent[], boolean> {
    const { through, reason } = yield* this.#content(number, after, end);
    if (through.seq >= end.seq) return true;
    this.#options.logger.warn(
      { file: tradeFileName(number), reason, seq: through.seq, isRebuilt: false },
      'trade file damaged',
    );
    return false;
  }

  /** The next batch follows this place, which may be before the end of the files, or behind it. */
  async skipTo(point: TradePoint): Promise<void> {
    this.#through = point;
    await this.#closeFile();
  }

  /**
   * Events of a file after `from` and up to `to`; returns up to where it has them all, and what follows there. Rejects
   * before the first where the file cannot be read.
   */
  async *#content(
    number: number,
    from: TradePoint,
    to: TradePoint,
  ): AsyncGenerator<readonly TradeLogEvent[], { readonly through: TradePoint; readonly reason: string }> {
    const reading = readBatches(await readWhole(this.#disk, tradeFileName(number)), this.#options.epoch);
    let through = from;
    let read = reading.next();
    for (; read.done !== true && through.seq < to.seq; read = reading.next()) {
      const batch = read.value;
      const { seq: last } = through;
      const events = batch.events.filter(({ seq }) => seq > last && seq <= to.seq);
      if (batch.through.seq > last) through = batch.through.seq < to.seq ? batch.through : to;
      if (events.length > 0) yield events;
    }
    return { through, reason: (read.done === true ? read.value.problem : null) ?? 'its end is missing' };
  }

  #note(number: number, events: readonly TradeLogEvent[]): void {
    this.#spans.set(number, spanOf(events, this.#spans.get(number)));
  }

  /** Durable when it resolves. After a rejection it may be called again: it begins another file. */
  async append(batch: TradeBatch): Promise<void> {
    const { fileBytes, fileMs } = this.#options;
    const { through } = batch;
    const after = this.#through ?? through;
    const isFull =
      this.#open !== null && (this.#open.bytes >= fileBytes || through.tsMs - this.#open.startMs >= fileMs);
    if (isFull) await this.#closeFile();
    const open = this.#open ?? (await this.#beginFile(after));
    try {
      const frame = this.#frameOf(batch);
      await open.file.write(frame, open.bytes);
      await open.file.sync();
      open.bytes += frame.length;
      this.#note(open.number, batch.events);
    } catch (error) {
      // Bytes of a failed write or sync are behind the place where the next file begins.
      await this.#closeFile();
      throw error;
    }
    this.#through = through;
    if (isFull) await this.#removeOld(through.tsMs);
  }

  async close(): Promise<void> {
    await this.#closeFile();
  }

  /**
   * Its name becomes durable with the log's next one, thus before the log drops a segment. A sync of the directory here
   * could fail and hide from the log's own that something is not on the disk.
   */
  async #beginFile(after: TradePoint): Promise<AppendedFile> {
    await this.#closeFile();
    this.#number += 1;
    const number = this.#number;
    this.#buffer.clear(0);
    putTradeHeader(this.#buffer, this.#options.epoch, after);
    const head = Buffer.from(this.#buffer.view());
    const file = await this.#disk.open(tradeFileName(number), 'create');
    try {
      await file.write(head, 0);
      await file.sync();
    } catch (error) {
      await file.close().catch(() => undefined);
      await this.#disk.remove(file.name).catch(() => undefined);
      throw error;
    }
    this.#open = { number, file, startMs: after.tsMs, bytes: head.length };
    this.#files = [...this.#files, { number, after }];
    return this.#open;
  }

  async #continueFile({ number, after }: TradeFile, bytes: number): Promise<void> {
    const file = await this.#disk.open(tradeFileName(number), 'write');
    this.#open = { number, file, startMs: after.tsMs, bytes };
  }

  async #closeFile(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.file.close().catch(() => undefined);
  }

  /** Files of which nothing is read: a later one begins at or before the place where they do. */
  async #removeUnread(): Promise<void> {
    let limit = Infinity;
    const read: TradeFile[] = [];
    for (const file of this.#files.toReversed()) {
      if (file.after.seq < limit || !(await this.#remove(file))) read.unshift(file);
      limit = Math.min(limit, file.after.seq);
    }
    this.#files = read;
    await this.#removeOld(this.#options.end.tsMs);
  }

  /** A block is no younger than the record that names it. */
  async #removeOld(nowMs: number): Promise<void> {
    for (;;) {
      const [oldest, next] = this.#files;
      if (oldest === undefined || next === undefined || next.after.tsMs > nowMs - this.#options.keptMs) return;
      if (!(await this.#remove(oldest))) return;
      this.#files = this.#files.slice(1);
    }
  }

  /** One that stays is removed at a later start. */
  async #remove({ number }: TradeFile): Promise<boolean> {
    const file = tradeFileName(number);
    try {
      await this.#disk.remove(file);
      this.#spans.delete(number);
      return true;
    } catch (error) {
      this.#options.logger.warn({ err: error, file }, 'trade file not removed');
      return false;
    }
  }

  #frameOf({ events, through }: TradeBatch): Buffer {
    this.#buffer.clear(1 << 20);
    const start = beginFrame(this.#buffer);
    const out = this.#writer;
    out.beginRecord();
    out.array(BATCH_FIELDS);
    out.uint(through.seq);
    out.uint(through.tsMs);
    out.array(events.length);
    for (const event of events) writeEvent(out, event);
    endFrame(this.#buffer, start, FrameType.chunk);
    return this.#buffer.view();
  }
}

const NO_SPAN: TradeSpan = { lowestBlock: Infinity, highestBlock: -1, lowestTime: Infinity, lowestUndone: Infinity };

/** Of these events and of those before them. */
export function spanOf(events: readonly TradeLogEvent[], before: TradeSpan = NO_SPAN): TradeSpan {
  let { lowestBlock, highestBlock, lowestTime, lowestUndone } = before;
  for (const event of events) {
    if (event.type === 'TRADES_UNDONE') lowestUndone = Math.min(lowestUndone, event.blockNumber);
    else {
      lowestBlock = Math.min(lowestBlock, event.cause.blockNumber);
      highestBlock = Math.max(highestBlock, event.cause.blockNumber);
      lowestTime = Math.min(lowestTime, event.trade.time);
    }
  }
  return { lowestBlock, highestBlock, lowestTime, lowestUndone };
}

function gapThrough({ tsMs }: TradePoint): TradePart {
  return { type: 'GAP', throughSeconds: Math.floor(tsMs / 1000) };
}

function putTradeHeader(out: GrowingBuffer, epoch: Buffer, { seq, tsMs }: TradePoint): void {
  const start = beginFrame(out);
  const writer = new MsgpackWriter(out);
  writer.array(HEADER_FIELDS);
  writer.text(KIND);
  writer.uint(FORMAT);
  writer.bin(epoch);
  writer.uint(seq);
  writer.uint(tsMs);
  endFrame(out, start, FrameType.header);
}

/** In words why it is not the beginning of such a file of that log. */
function readTradeHeader(bytes: Buffer, epoch: Buffer): { readonly after: TradePoint; readonly frame: Frame } | string {
  return readHeaderFrame<{ readonly after: TradePoint }>(bytes, KIND, (input, format, fields) => {
    if (format !== FORMAT || fields !== HEADER_FIELDS) return `format ${format}, this program reads ${FORMAT}`;
    if (!input.bin().equals(epoch)) return 'it is of another log';
    return { after: { seq: input.uint(), tsMs: input.uint() } };
  });
}

/** The whole batches at the file's beginning; then how many bytes they end behind, and what follows; null: nothing. */
function* readBatches(
  bytes: Buffer,
  epoch: Buffer,
): Generator<TradeBatch, { readonly end: number; readonly problem: string | null }> {
  const header = readTradeHeader(bytes, epoch);
  if (typeof header === 'string') return { end: 0, problem: header };
  const input = new MsgpackReader();
  const quotes = new QuoteReader(input);
  let { end } = header.frame;
  while (end < bytes.length) {
    const frame = readFrame(bytes, end);
    if (typeof frame === 'string') return { end, problem: frame };
    const batch = readBatch(frame, input, quotes);
    if (typeof batch === 'string') return { end, problem: batch };
    yield batch;
    ({ end } = frame);
  }
  return { end, problem: null };
}

function readBatch(frame: Frame, input: MsgpackReader, quotes: QuoteReader): TradeBatch | string {
  if (frame.type !== FrameType.chunk) return `a frame of type ${frame.type} instead of a batch`;
  try {
    quotes.beginRecord();
    input.begin(frame.payload);
    input.tuple(BATCH_FIELDS);
    const through = { seq: input.uint(), tsMs: input.uint() };
    const events = Array.from({ length: input.array() }, () => asTrade(readEvent(input, quotes)));
    input.end();
    return { events, through };
  } catch (error) {
    if (error instanceof MsgpackError) return error.message;
    throw error;
  }
}

function asTrade(event: EngineEvent): TradeLogEvent {
  if (event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE') return event;
  throw new MsgpackError(`${event.type} among trades`);
}
