import { crc32 } from 'node:zlib';
import {
  type Disk,
  type DiskFile,
  isDiskFull,
  type Logger,
  PersistenceError,
  readWhole,
  writeWhole,
  type KeyValueStore,
} from './disk.js';

/** 2: with filler after the last line. */
export const STORE_FORMAT = 2;
/** The file's length is a multiple of this, and at least one byte of it is filler. */
const FILL_BYTES = 4096;

const NEW_LINE = Buffer.from('\n');
/** CRC, length, and the blanks after them: a longer length is invalid. */
const LINE_HEAD = /^([0-9a-f]{8}) ([0-9]{1,16}) /;
const LINE_HEAD_BYTES = 26;

/** One change of the values; without `value` the key is gone. */
interface Change {
  readonly key: string;
  readonly value?: unknown;
}

export interface JsonStoreOptions {
  /** The file is written anew, with what it still holds, when it has grown beyond this. */
  readonly maxBytes: number;
  readonly logger: Logger;
  /** A write or sync failed in a way after which nothing is known of the disk: the process has to end. */
  readonly onFatal: (error: Error) => void;
  /** The file was there before: without it, or where it is shorter than it was made, the store is refused. */
  readonly isExpected: boolean;
  /** The operator goes on with what is left of a file that is missing or has been cut short. */
  readonly acceptMissing: boolean;
}

/**
 * A few JSON values by key, in a file that is appended to: a line for each group of changes, which is the CRC-32 of its
 * JSON in 8 hex digits, the JSON's length in bytes, and the JSON. A line is synced before the next is written, so a bad
 * last line was never promised to anyone and is dropped; a bad line before a good one is damage. Line ends fill up the
 * file, so that one without them has been cut short. docs/reference/log-format.md has the format.
 */
export class JsonStore implements KeyValueStore {
  readonly found: ReadonlyMap<string, unknown>;
  readonly #values: Map<string, unknown>;
  #file: DiskFile | null = null;
  /** Bytes of lines, and of lines and filler. */
  #bytes = 0;
  #length = 0;
  /** Changes that the next line will hold, and who waits for it. */
  #waiting: Change[] = [];
  #nextLine: Promise<void> | null = null;
  #lastLine: Promise<void> = Promise.resolve();
  #failed: Error | null = null;
  /** The last line found no room: said once, until there is room again. */
  #isFull = false;

  private constructor(
    private readonly disk: Disk,
    private readonly name: string,
    found: Map<string, unknown>,
    private readonly options: JsonStoreOptions,
  ) {
    this.found = new Map(found);
    this.#values = found;
  }

  /**
   * Makes the file when it is absent. A leftover `*.tmp` is gone by then. Throws PersistenceError: DAMAGED, MISSING,
   * NEWER_FORMAT.
   */
  static async open(disk: Disk, name: string, options: JsonStoreOptions): Promise<JsonStore> {
    const isThere = (await disk.list()).includes(name);
    if (!isThere && options.isExpected) checkAccepted(name, 'is missing', options);
    const found = isThere ? readValues(name, await readWhole(disk, name), options) : new Map<string, unknown>();
    const kept = new JsonStore(disk, name, found, options);
    try {
      await kept.#rewrite();
    } catch (error) {
      // As on a disk that fills up later: nothing is appended to the old file, and the first change with room replaces it.
      if (!isDiskFull(error)) throw error;
      options.logger.warn({ err: error, file: name }, 'file not compacted');
      kept.#isFull = true;
    }
    return kept;
  }

  put(key: string, value: unknown): Promise<void> {
    this.#values.set(key, value);
    return this.#change({ key, value });
  }

  async remove(key: string): Promise<void> {
    if (this.#values.delete(key)) await this.#change({ key });
  }

  /** Nothing is written any more when it resolves. */
  async close(): Promise<void> {
    this.#failed ??= new PersistenceError('FAILED', `${this.name} is closed`);
    await this.#lastLine.catch(() => undefined);
    await this.#closeFile();
  }

  /** Changes that come while a line is on its way go into the next one together. */
  #change(change: Change): Promise<void> {
    if (this.#failed !== null) return Promise.reject(this.#failed);
    this.#waiting.push(change);
    if (this.#nextLine === null) {
      const write = (): Promise<void> => this.#writeLine();
      this.#nextLine = this.#lastLine.then(write, write);
      this.#lastLine = this.#nextLine;
    }
    return this.#nextLine;
  }

  async #writeLine(): Promise<void> {
    const line = toLine(this.#waiting);
    this.#waiting = [];
    this.#nextLine = null;
    if (this.#failed !== null) throw this.#failed;
    try {
      if (this.#file === null || this.#bytes + line.length > this.options.maxBytes) await this.#rewrite();
      else {
        await this.#makeRoom(this.#file, line.length);
        await this.#file.write(line, this.#bytes);
        this.#bytes += line.length;
        await this.#file.sync();
      }
      this.#setFull(false, { file: this.name });
    } catch (error) {
      // Changes that only memory has get into the file with all the rest, once there is room again.
      if (isDiskFull(error)) {
        this.#setFull(true, { err: error, file: this.name });
        await this.#closeFile();
      } else {
        this.#failed = new PersistenceError('FAILED', `${this.name} can't be written`, { cause: error });
        this.options.onFatal(this.#failed);
      }
      throw error;
    }
  }

  #setFull(isFull: boolean, details: object): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    const { logger } = this.options;
    if (isFull) logger.warn(details, 'file not written');
    else logger.info(details, 'file writes recovered');
  }

  /** Everything that is held, in a file that replaces the old one in one step. */
  async #rewrite(): Promise<void> {
    await this.#closeFile();
    const changes = [...this.#values].map(([key, value]): Change => ({ key, value }));
    const lines = [toLine({ format: STORE_FORMAT }), ...(changes.length > 0 ? [toLine(changes)] : [])];
    const bytes = lines.reduce((sum, { length }) => sum + length, 0);
    const length = filledLength(bytes);
    await writeWhole(this.disk, this.name, [...lines, Buffer.alloc(length - bytes, NEW_LINE)]);
    this.#file = await this.disk.open(this.name, 'write');
    this.#bytes = bytes;
    this.#length = length;
  }

  /** The filler is durable before a line is written over its end: whatever a crash leaves, the file ends with some. */
  async #makeRoom(file: DiskFile, bytes: number): Promise<void> {
    const length = filledLength(this.#bytes + bytes);
    if (length <= this.#length) return;
    await file.write(Buffer.alloc(length - this.#length, NEW_LINE), this.#length);
    await file.sync();
    this.#length = length;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}

function toLine(content: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(content));
  return Buffer.concat([Buffer.from(`${checksum(json)} ${json.length} `), json, NEW_LINE]);
}

function checksum(json: Uint8Array): string {
  return crc32(json).toString(16).padStart(8, '0');
}

function filledLength(bytes: number): number {
  return FILL_BYTES * (Math.floor(bytes / FILL_BYTES) + 1);
}

function checkAccepted(name: string, what: string, { acceptMissing, logger }: JsonStoreOptions): void {
  if (!acceptMissing) {
    const remedy = `restore it, or go on without what it held: --accept-missing ${name}`;
    throw new PersistenceError('MISSING', `${name} ${what}: ${remedy}`);
  }
  logger.warn({ file: name, reason: what }, 'missing file accepted');
}

/**
 * Throws PersistenceError DAMAGED, MISSING or NEWER_FORMAT when a start would refuse the file. Returns its format.
 */
export function checkJsonStore(name: string, bytes: Buffer, logger: Logger): number {
  const nothing = (): void => undefined;
  readValues(name, bytes, { maxBytes: Infinity, logger, onFatal: nothing, isExpected: true, acceptMissing: false });
  const [first] = readLines(withoutFiller(bytes));
  return readFormat(name, first?.content);
}

function readValues(name: string, all: Buffer, options: JsonStoreOptions): Map<string, unknown> {
  const bytes = withoutFiller(all);
  const damaged = (offset: number): PersistenceError =>
    new PersistenceError('DAMAGED', 'the line is not what was written', {
      place: { file: name, offset, index: 0, seq: 0 },
    });
  const values = new Map<string, unknown>();
  let badAt: number | null = null;
  let isFirst = true;
  let format = 0;
  for (const { offset, content } of readLines(bytes)) {
    if (content === undefined) {
      badAt ??= offset;
      continue;
    }
    if (badAt !== null) throw damaged(badAt);
    if (isFirst) format = readFormat(name, content);
    else for (const { key, value } of content as Change[]) change(values, key, value);
    isFirst = false;
  }
  // The file is renamed into its place with that line in it.
  if (isFirst) throw damaged(0);
  if (format > 1 && bytes.length === all.length) checkAccepted(name, 'has been cut short', options);
  if (badAt !== null) options.logger.warn({ file: name, offset: badAt }, 'unfinished line dropped');
  return values;
}

/** The lines with the last one's end. Space that a crash left unwritten reads as zeros. */
function withoutFiller(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === NEW_LINE[0] || bytes[end - 1] === 0)) end -= 1;
  return bytes.subarray(0, Math.min(bytes.length, end + NEW_LINE.length));
}

function change(values: Map<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) values.delete(key);
  else values.set(key, value);
}

/**
 * Each line from its start; `content` is undefined where it is not what was written, and the next line is looked for.
 */
function* readLines(bytes: Buffer): Generator<{ offset: number; content: unknown }> {
  for (let offset = 0; offset < bytes.length;) {
    const [head = '', crc, length] = LINE_HEAD.exec(bytes.toString('latin1', offset, offset + LINE_HEAD_BYTES)) ?? [];
    const start = offset + head.length;
    const json = bytes.subarray(start, start + Number(length ?? 0));
    const isWhole = checksum(json) === crc;
    yield { offset, content: isWhole ? JSON.parse(json.toString('utf8')) : undefined };
    const newLine = isWhole ? start + json.length : bytes.indexOf(NEW_LINE, offset);
    offset = newLine === -1 ? bytes.length : newLine + 1;
  }
}

function readFormat(name: string, content: unknown): number {
  const { format } = content as { format?: unknown };
  if (typeof format === 'number' && format >= 1 && format <= STORE_FORMAT) return format;
  throw new PersistenceError(
    'NEWER_FORMAT',
    `${name} has format ${String(format)}, this program reads up to ${STORE_FORMAT}`,
  );
}
