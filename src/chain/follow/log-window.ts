import type { Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import { type BlockHead, type BlockId, type ChainLog, idOf } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { RpcError } from '../rpc/rpc-errors.js';
import type { BlockRange } from './cursor.js';
import { FilterTrust } from './filter-trust.js';
import { type FoundLogs, type LogQueries, LogVerification, type LogVerificationOptions } from './log-verification.js';
import { LogsBloom } from './logs-bloom.js';
import { SeenLogs } from './seen-logs.js';

/** The logs of a chain that a follower reads. */
export interface WatchedLogs extends LogQueries {
  /** Whether a block with this filter may contain an event of `events`. */
  mayHold(bloom: LogsBloom): boolean;
  /** The same for `hints`. */
  mayHoldHints(bloom: LogsBloom): boolean;
  /** Whether `events` asks for this log. */
  isEvent(log: ChainLog): boolean;
  /** Those that `hints` asks for, and maybe more that name the same accounts. */
  hintsAmong(logs: readonly ChainLog[]): readonly ChainLog[];
}

type LogReader = Pick<ChainReader, 'logs' | 'block' | 'findBlock' | 'switches'>;

export interface LogWindowOptions extends LogVerificationOptions {
  /** Blocks below the newest one that are read again with each look, unless their bloom filters have confirmed them. */
  readonly rereadBlocks: number;
  /** How long the newest blocks of a chain that stands still are read again with each look. */
  readonly rereadMs: number;
  /** How long a block whose logs do not match its filter is waited for before reading goes on without its logs. */
  readonly patienceMs: number;
  /** Shortest time between two readings of announced blocks that can only hold hints. */
  readonly hintsMs: number;
  /** Logs that are remembered as read. With more in `verifyBlocks`, older blocks are not read again. */
  readonly mostLogs: number;
  readonly blocksInFlight: number;
}

export interface LogWindowListener {
  /** Events that a node gave later than the rest of their block, or did not give at all: the second endpoint did. */
  onLate(events: number): void;
  /** The endpoint has not given the logs of a block for `patienceMs`. */
  onLacking(): void;
  /** The book lacks events of a block, and why; null: no more. */
  onDoubt(why: string | null): void;
}

/** Logs of one reading; nothing of it counts as read before `accept`. */
export interface LogReading {
  /** Null: old blocks alone were read again. */
  readonly range: BlockRange | null;
  /** Events of the range, in chain order. */
  readonly fresh: readonly ChainLog[];
  /** Events of blocks before it that were not read with them, in chain order. */
  readonly late: readonly ChainLog[];
  /** Logs of hints, of the range and before it, that were not read before. */
  readonly hints: readonly ChainLog[];
  readonly checked: readonly CheckedBlock[];
  /** Doubted and open blocks whose logs are complete now, and wanted ones that were read again. */
  readonly confirmed: readonly BlockHead[];
  readonly again: readonly number[];
  /**
   * Nothing of another branch, or of a node that lacks a block, is mixed in: each block's hash links the range, and its
   * filter shows that its logs are all, or a single block was asked for by its hash.
   */
  readonly isProven: boolean;
}

interface CheckedBlock {
  readonly head: BlockHead;
  /** OPEN: nothing says whether the logs that were given are all. LACKING: they are not. */
  readonly completeness: 'COMPLETE' | 'OPEN' | 'LACKING';
  /** Its filter shows that it holds nothing that is read. */
  readonly isEmpty: boolean;
}

interface RecentBlock extends BlockId {
  isComplete: boolean;
}

/** All logs of a block that its node gives. */
interface WholeBlock {
  readonly logs: readonly ChainLog[];
  readonly completeness: CheckedBlock['completeness'];
}

/** Old blocks with doubtful logs, and blocks with open ones, that are read again in one look. */
const DOUBTED_PER_LOOK = 4;
const OPEN_PER_LOOK = 4;
/** Blocks whose logs are asked for with one request. */
const BLOCKS_PER_REQUEST = 16;
const MOST_WANTED = 64;

/**
 * The logs of the newest blocks. A node may have a block before its log index does, or leave out logs. So
 *
 * - each new block's bloom filter is compared with the logs that came. Of a block that may contain our events or hints
 *   all logs are read, until they make up its filter and have no gap between their indexes;
 * - a block that cannot contain any needs no request, once the endpoint's filters are known to be true;
 * - a block that no filter confirms is read again with the next looks;
 * - every `verifyMs` the last `verifyBlocks` blocks are read again beside these looks, through another endpoint where
 *   there is one.
 *
 * A log's identity is its block's hash and its index, so that none counts twice.
 */
export class LogWindow {
  readonly #seen = new SeenLogs();
  /** The newest blocks. */
  readonly #recent = new Map<number, RecentBlock>();
  readonly #doubted = new Map<number, BlockHead>();
  /** Blocks that were read without all of their logs, and since when. */
  readonly #lackingSinceMs = new Map<Hex, number>();
  /** Blocks that a caller wants to be read again, and what hears of it when they were. */
  readonly #wanted = new Map<number, (() => void)[]>();
  /** No block below is read again. */
  #floor: number;
  #position: BlockId | null;
  #movedAtMs: number;
  /** Blocks that can be read again at once, at least 1; less than `rereadBlocks` where the node refused that many. */
  #reach: number;
  /** Whether the node refused so many blocks in this look. */
  #isRefused = false;
  #hintsReadAtMs = -Infinity;
  /** A block that holds logs; with it the endpoint's filters can be tried. */
  #sample: BlockId | null = null;
  /** Logs that are not in the book yet: those that the verification found, and events that came late. */
  #found: FoundLogs = NOTHING_FOUND;
  #branch = 0;
  readonly #verification: LogVerification;
  readonly #ofNode: FilterTrust;
  readonly #ofSubscription: FilterTrust;
  /** Blocks whose own filters have been tried and have not confirmed their logs. */
  readonly #unconfirmed = new Set<Hex>();

  constructor(
    private readonly reader: LogReader,
    /** Of another endpoint where there is one, for the slow verification. */
    second: Pick<ChainReader, 'logs'>,
    private readonly watched: WatchedLogs,
    private readonly clock: Clock,
    private readonly options: LogWindowOptions,
    /**
     * The last block whose read logs are not remembered: an earlier process read it, or it is the ancestor of a reorg.
     * Null: there is none.
     */
    private rememberedAfter: BlockId | null,
    private readonly listener: LogWindowListener,
  ) {
    this.#floor = rememberedAfter === null ? 0 : Math.max(0, rememberedAfter.blockNumber - options.verifyBlocks + 1);
    this.#position = rememberedAfter;
    this.#movedAtMs = clock.monotonicMs();
    this.#reach = options.rereadBlocks;
    this.#verification = new LogVerification(second, watched, this.#seen, clock, options);
    this.#ofNode = new FilterTrust(reader, clock);
    this.#ofSubscription = new FilterTrust(reader, clock);
  }

  /** Whether the log is of a block whose read logs are not remembered: of before this process began, or before a reorg. */
  isBeforeMemory({ blockNumber }: ChainLog): boolean {
    return this.rememberedAfter !== null && blockNumber <= this.rememberedAfter.blockNumber;
  }

  /**
   * The block is read again with the next look: it should contain an event that has not been read. Resolves when that
   * is in the book; at once where too many blocks are to be read again.
   */
  readAgain(blockNumber: number): Promise<void> {
    const waiting = this.#wanted.get(blockNumber) ?? [];
    if (this.#wanted.size >= MOST_WANTED && waiting.length === 0) return Promise.resolve();
    this.#wanted.set(blockNumber, waiting);
    return new Promise((resolve) => waiting.push(resolve));
  }

  /**
   * The ancestor's own blocks are read again, too, as if an earlier process had read them: an event that changed nothing,
   * since a later one had said the same, counts when a reorg takes that one back.
   */
  forget(ancestor: BlockId): void {
    this.goBackTo(ancestor, false);
    this.#seen.clear();
    this.rememberedAfter = ancestor;
  }

  /** Nothing after this block was read: it is the one before the first, or the ancestor of another branch. */
  goBackTo({ blockNumber, blockHash }: BlockId, isFirst: boolean): void {
    if (isFirst) this.#floor = blockNumber + 1;
    if (this.rememberedAfter !== null && blockNumber < this.rememberedAfter.blockNumber)
      this.rememberedAfter = { blockNumber, blockHash };
    this.#branch += 1;
    this.#found = NOTHING_FOUND;
    this.#seen.cutAbove(blockNumber);
    for (const known of [this.#recent, this.#doubted]) {
      for (const number of known.keys()) if (number > blockNumber) known.delete(number);
    }
    this.#lackingSinceMs.clear();
    this.#unconfirmed.clear();
    if (this.#sample !== null && this.#sample.blockNumber > blockNumber) this.#sample = null;
    this.#position = { blockNumber, blockHash };
    this.#reportDoubt();
  }

  /** Whether these blocks, which a subscription announced, can only hold hints, and hints were read a moment ago. */
  mayWait(range: BlockRange): boolean {
    const { heads } = range;
    if (!this.#trustOf(range).isTrusted || this.clock.monotonicMs() - this.#hintsReadAtMs >= this.options.hintsMs)
      return false;
    if (heads.length >= BLOCKS_PER_REQUEST) return false;
    const blooms = heads.map(bloomOf);
    const isExcluded = (bloom: LogsBloom | null): boolean =>
      bloom?.isSelective === true && !this.watched.mayHold(bloom);
    return blooms.every(isExcluded) && blooms.some((bloom) => bloom !== null && this.watched.mayHoldHints(bloom));
  }

  /**
   * The logs of a range of new blocks, or of its first part while the rest is waited for. AWAITED: the first block's logs
   * are waited for.
   */
  async read(range: BlockRange): Promise<LogReading | 'AWAITED'> {
    const { fromBlock, to, heads } = range;
    this.#isRefused = false;
    const blooms = heads.map(bloomOf);
    const trust = this.#trustOf(range);
    const isUsed = trust.isUsable;
    const suspects = heads.filter((_, i) => {
      const bloom = blooms[i];
      if (!isUsed || bloom?.isSelective !== true) return false;
      return this.watched.mayHold(bloom) || this.watched.mayHoldHints(bloom);
    });
    if (suspects.length > 0) this.#hintsReadAtMs = this.clock.monotonicMs();
    const isExcluded = (head: BlockHead, i: number): boolean =>
      trust.isTrusted && blooms[i]?.isSelective === true && !suspects.includes(head);
    const first = Math.min(fromBlock, this.#firstOpen(to.number));
    const isWholeRange = first === fromBlock && heads.length > to.number - fromBlock;
    const isCovered = isWholeRange && heads.every((head, i) => suspects.includes(head) || isExcluded(head, i));
    const [asked, hinted, wholes, old] = await Promise.all([
      isCovered ? [] : this.#events(first, fromBlock, idOf(to)),
      isCovered ? [] : this.#hints(first, fromBlock, idOf(to)),
      this.#wholes(suspects, trust),
      this.#readOpen(true),
      this.#tryFilters(
        trust,
        heads.find((head, i) => blooms[i]?.isSelective === true && !suspects.includes(head)),
      ),
    ]);
    const isRefused = isCovered && wholes.some(({ completeness }) => completeness === 'OPEN');
    const [events, hints] = await Promise.all([
      isRefused ? this.watched.events(this.reader, fromBlock, idOf(to)) : asked,
      isRefused ? this.watched.hints(this.reader, fromBlock, idOf(to)) : hinted,
    ]);
    const logs = wholes.flatMap((whole) => whole.logs);
    const all = {
      events: [...events, ...logs.filter((log) => this.watched.isEvent(log))],
      hints: [...hints, ...this.watched.hintsAmong(logs)],
    };
    this.#judgeBlooms(heads, blooms, all.events, trust);
    const checked = heads.map((head, i): CheckedBlock => {
      const whole = wholes[suspects.indexOf(head)];
      const isEmpty = whole === undefined && isExcluded(head, i);
      return { head, completeness: whole?.completeness ?? (isEmpty ? 'COMPLETE' : 'OPEN'), isEmpty };
    });
    const readTo = this.#readableTo(range, checked);
    this.#startVerification();
    if (readTo === null) return 'AWAITED';
    const isNew = ({ blockNumber }: ChainLog): boolean => blockNumber >= fromBlock;
    const isRead = ({ blockNumber }: ChainLog): boolean => blockNumber <= readTo.to.number;
    const accepted = checked.filter(({ head }) => head.number <= readTo.to.number);
    return {
      range: readTo,
      fresh: inChainOrder(all.events.filter((log) => isNew(log) && isRead(log))),
      late: await this.#late([...all.events.filter((log) => !isNew(log)), ...old.events]),
      hints: this.#unseen([...all.hints.filter(isRead), ...old.hints, ...this.#found.hints]),
      checked: accepted,
      confirmed: old.confirmed,
      again: old.again,
      // The node answers a question about a single block, which names its hash, only if it has that block.
      isProven: isCovered ? accepted.every(({ completeness }) => completeness === 'COMPLETE') : first === to.number,
    };
  }

  /** There is no new block: what has come late of those that were read. */
  async readOld(): Promise<LogReading> {
    const to = this.#position;
    this.#isRefused = false;
    this.#startVerification();
    if (to === null) return NOTHING_READ;
    const isRecent = this.clock.monotonicMs() - this.#movedAtMs < this.options.rereadMs;
    const first = this.#firstOpen(to.blockNumber);
    const isRead = isRecent && first <= to.blockNumber;
    const [again, hints, old] = await Promise.all([
      isRead ? this.#events(first, to.blockNumber, to) : [],
      isRead ? this.#hints(first, to.blockNumber, to) : [],
      this.#readOpen(isRecent),
      isRead ? this.#tryFilters(this.#ofNode, undefined) : undefined,
    ]);
    const late = await this.#late([...again, ...old.events]);
    const { confirmed } = old;
    const allHints = this.#unseen([...hints, ...old.hints, ...this.#found.hints]);
    return { ...NOTHING_READ, confirmed, again: old.again, late, hints: allHints };
  }

  /** Records a reading whose events are in the book. */
  accept({ range, fresh, late, hints, checked, confirmed, again }: LogReading): void {
    const counted = late.filter((log) => !this.isBeforeMemory(log));
    if (counted.length > 0) this.listener.onLate(counted.length);
    for (const log of [...fresh, ...late, ...hints]) {
      const { blockNumber, blockHash } = log;
      if (this.#seen.add(log)) this.#sample = { blockNumber, blockHash };
    }
    for (const head of confirmed) {
      this.#doubted.delete(head.number);
      this.#recent.set(head.number, { ...idOf(head), isComplete: true });
    }
    for (const number of again) {
      for (const resolve of this.#wanted.get(number) ?? []) resolve();
      this.#wanted.delete(number);
    }
    if (range !== null) this.#moveTo(range, checked);
    this.#found = { events: this.#unseen(this.#found.events), hints: this.#unseen(this.#found.hints) };
    this.#reportDoubt();
  }

  #moveTo(range: BlockRange, checked: readonly CheckedBlock[]): void {
    const { to } = range;
    this.#position = idOf(to);
    this.#movedAtMs = this.clock.monotonicMs();
    // Of a range that was read in one go, the blocks between are open.
    if (checked.length === 0) this.#recent.set(to.number, { ...idOf(to), isComplete: false });
    if (checked.length === 0 || checked.some(({ isEmpty }) => !isEmpty)) this.#verification.suspect();
    for (const { head, completeness } of checked) {
      this.#recent.set(head.number, { ...idOf(head), isComplete: completeness === 'COMPLETE' });
      this.#lackingSinceMs.delete(head.hash);
      if (completeness !== 'LACKING' || !this.#trustOf(range).isTrusted) continue;
      this.#doubted.set(head.number, head);
      this.listener.onLacking();
    }
    this.#floor = Math.max(this.#floor, to.number - this.options.verifyBlocks + 1);
    if (!this.#isRefused) this.#reach = Math.min(2 * this.#reach, this.options.rereadBlocks);
    this.#forget();
  }

  #forget(): void {
    const lowest = (this.#position?.blockNumber ?? 0) - this.options.rereadBlocks;
    for (const [number, { blockHash }] of this.#recent) {
      if (number > lowest) continue;
      this.#recent.delete(number);
      this.#unconfirmed.delete(blockHash);
    }
    for (const number of this.#doubted.keys()) if (number < this.#floor) this.#doubted.delete(number);
    this.#floor = this.#seen.dropBelow(this.#floor, this.options.mostLogs);
  }

  /** The first block that is read again together with new ones up to `newest`. */
  #lowest(newest: number): number {
    return Math.max(this.#floor, newest - this.#reach + 1);
  }

  /** The first of these that nothing has confirmed yet; Infinity if all are confirmed. */
  #firstOpen(newest: number): number {
    const position = this.#position?.blockNumber ?? -1;
    for (let number = this.#lowest(newest); number <= position; number += 1) {
      if (this.#recent.get(number)?.isComplete !== true) return number;
    }
    return Infinity;
  }

  async #events(first: number, fromBlock: number, to: BlockId): Promise<readonly ChainLog[]> {
    return this.#again(first, fromBlock, (from) => this.watched.events(this.reader, from, to));
  }

  async #hints(first: number, fromBlock: number, to: BlockId): Promise<readonly ChainLog[]> {
    return this.#again(first, fromBlock, (from) => this.watched.hints(this.reader, from, to));
  }

  /** Reads from `first` on; where the node refuses so many blocks, from `fromBlock` alone. */
  async #again<T>(first: number, fromBlock: number, read: (from: number) => Promise<T>): Promise<T> {
    try {
      return await read(first);
    } catch (error) {
      if (first >= fromBlock || !(error instanceof RpcError)) throw error;
      // The events and the hints of a look are refused alike: that counts once.
      if (!this.#isRefused) this.#reach = Math.max(1, this.#reach >> 1);
      this.#isRefused = true;
      return read(fromBlock);
    }
  }

  /** All logs of each of these blocks, which are near each other, with one request where the node gives so many. */
  async #wholes(heads: readonly BlockHead[], trust: FilterTrust): Promise<WholeBlock[]> {
    const [first, last] = [heads[0], heads.at(-1)];
    if (first === undefined || last === undefined) return [];
    if (first !== last && last.number - first.number < BLOCKS_PER_REQUEST) {
      try {
        const logs = await this.reader.logs({ fromBlock: first.number, to: idOf(last), topics: [] });
        return heads.map((head) =>
          this.#checkedWhole(
            head,
            logs.filter(({ blockNumber }) => blockNumber === head.number),
            trust,
          ),
        );
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
      }
    }
    return mapLimit(heads, this.options.blocksInFlight, (head) => this.#whole(head, trust));
  }

  async #whole(head: BlockHead, trust: FilterTrust | null): Promise<WholeBlock> {
    try {
      const logs = await this.reader.logs({ fromBlock: head.number, to: idOf(head), topics: [] });
      return this.#checkedWhole(head, logs, trust);
    } catch (error) {
      // More logs than the node gives at once.
      if (error instanceof RpcError) return { logs: [], completeness: 'OPEN' };
      throw error;
    }
  }

  /**
   * All of a block's logs. They are all there when they make up the block's filter and their indexes have no gap: two
   * logs with the same address and topics set the same bits. `trust`: of the header's source; null: it is not known.
   */
  #checkedWhole(head: BlockHead, logs: readonly ChainLog[], trust: FilterTrust | null): WholeBlock {
    const ofBranch = logs.filter(({ blockHash }) => blockHash === head.hash);
    const hasGap = ofBranch.some(({ logIndex }, i) => logIndex !== i);
    const isWhole = !hasGap && bloomOf(head)?.equals(LogsBloom.of(ofBranch)) === true;
    if (isWhole && ofBranch.length > 0) trust?.prove();
    return { logs: ofBranch, completeness: isWhole ? 'COMPLETE' : 'LACKING' };
  }

  /**
   * Reads a block that holds logs, so that filters can be trusted: `head`, a new block of that source, or an old one with
   * the node's own header.
   */
  async #tryFilters(ofHead: FilterTrust, head: BlockHead | undefined): Promise<void> {
    const now = this.clock.monotonicMs();
    const isEmpty = head === undefined || head.logsBloom === EMPTY_FILTER;
    const trust = isEmpty ? this.#ofNode : ofHead;
    if (!trust.isUsable || trust.isTrusted || now - trust.triedAtMs < this.options.verifyMs) return;
    if (isEmpty && this.#sample === null) return;
    trust.triedAtMs = now;
    try {
      const sample = isEmpty ? await this.reader.findBlock(this.#sample?.blockNumber ?? 0) : head;
      if (sample !== null) await this.#whole(sample, trust);
    } catch {
      // The next try is due in `verifyMs`.
    }
  }

  /** Reading stops before a block whose logs have been missing for less than `patienceMs`. Null: that is the first. */
  #readableTo(range: BlockRange, checked: readonly CheckedBlock[]): BlockRange | null {
    const now = this.clock.monotonicMs();
    const trust = this.#trustOf(range);
    for (const [i, { head, completeness }] of checked.entries()) {
      if (completeness !== 'LACKING') {
        this.#lackingSinceMs.delete(head.hash);
        continue;
      }
      const sinceMs = this.#lackingSinceMs.get(head.hash) ?? now;
      this.#lackingSinceMs.set(head.hash, sinceMs);
      if (now - sinceMs >= this.options.patienceMs) {
        if (!trust.isTrusted) this.#distrust(trust);
        continue;
      }
      const before = checked[i - 1]?.head;
      return before === undefined ? null : { ...range, to: before };
    }
    return range;
  }

  /** Reads doubted, open (where they may be late) and wanted blocks; adds the events that the verification found. */
  async #readOpen(isRecent: boolean): Promise<Pick<LogReading, 'confirmed' | 'again'> & FoundLogs> {
    const open = isRecent ? await this.#openHeads() : { excluded: [], suspects: [] };
    const doubted = [...this.#doubted.values()].slice(0, DOUBTED_PER_LOOK);
    const read = [...doubted, ...open.suspects];
    const wholes = await mapLimit(read, this.options.blocksInFlight, (head) => this.#whole(head, null));
    for (const [i, head] of read.entries()) if (wholes[i]?.completeness === 'OPEN') this.#noteUnconfirmed(head);
    const again = [...this.#wanted.keys()].filter((number) => number <= (this.#position?.blockNumber ?? -1));
    const wanted = await mapLimit(again, this.options.blocksInFlight, async (number) => {
      return this.watched.events(this.reader, number, idOf(await this.reader.block(number)));
    });
    const logs = wholes.flatMap((whole) => whole.logs);
    const isConfirmed = (head: BlockHead, i: number): boolean =>
      doubted.includes(head) ? wholes[i]?.completeness !== 'LACKING' : wholes[i]?.completeness === 'COMPLETE';
    return {
      events: [...logs.filter((log) => this.watched.isEvent(log)), ...wanted.flat(), ...this.#found.events],
      hints: this.watched.hintsAmong(logs),
      confirmed: [...read.filter(isConfirmed), ...open.excluded],
      again,
    };
  }

  /** Blocks that nothing has confirmed yet, and whose filters can do so now. */
  async #openHeads(): Promise<{ readonly excluded: readonly BlockHead[]; readonly suspects: readonly BlockHead[] }> {
    const newest = this.#position?.blockNumber ?? -1;
    const first = this.#firstOpen(newest);
    if (!this.#ofNode.isTrusted || first > newest) return { excluded: [], suspects: [] };
    const numbers: number[] = [];
    for (let number = first; number <= newest && numbers.length < OPEN_PER_LOOK; number += 1) {
      const recent = this.#recent.get(number);
      const isTried = recent !== undefined && this.#unconfirmed.has(recent.blockHash);
      if (recent?.isComplete !== true && !isTried && !this.#doubted.has(number)) numbers.push(number);
    }
    // Where one cannot be had, the next look asks for it again.
    const found = await mapLimit(numbers, this.options.blocksInFlight, (number) =>
      this.reader.findBlock(number).catch(() => null),
    );
    const heads: BlockHead[] = [];
    for (const head of found) {
      if (head === null) continue;
      const known = this.#recent.get(head.number);
      if (known !== undefined && known.blockHash !== head.hash) continue;
      if (bloomOf(head)?.isSelective === true) heads.push(head);
      else this.#noteUnconfirmed(head);
    }
    const isSuspect = (head: BlockHead): boolean => {
      const bloom = bloomOf(head);
      return bloom !== null && (this.watched.mayHold(bloom) || this.watched.mayHoldHints(bloom));
    };
    return { excluded: heads.filter((head) => !isSuspect(head)), suspects: heads.filter(isSuspect) };
  }

  /** Its filter will not confirm the block's logs: it is read again with the others, and tried no more. */
  #noteUnconfirmed(head: BlockHead): void {
    this.#recent.set(head.number, { ...idOf(head), isComplete: false });
    this.#unconfirmed.add(head.hash);
  }

  /** Those that were not read before, of blocks that are on the chain. */
  async #late(logs: readonly ChainLog[]): Promise<ChainLog[]> {
    const unseen = this.#unseen(logs);
    if (unseen.length === 0) return [];
    const numbers = [...new Set(unseen.map(({ blockNumber }) => blockNumber))];
    const hashes = await mapLimit(numbers, this.options.blocksInFlight, async (number) => {
      return this.#recent.get(number)?.blockHash ?? (await this.reader.findBlock(number))?.hash;
    });
    const isOnChain = (log: ChainLog): boolean => hashes[numbers.indexOf(log.blockNumber)] === log.blockHash;
    const late = unseen.filter(isOnChain);
    // Kept until it is in the book: the node may leave it out again when the next look is taken.
    const others = this.#found.events.filter((log) => !unseen.some((other) => isSame(log, other)));
    this.#found = { ...this.#found, events: [...others, ...late] };
    const first = late.find((log) => !this.isBeforeMemory(log));
    if (first !== undefined) this.listener.onDoubt(`events of block ${first.blockNumber} have come late`);
    return late;
  }

  #unseen(logs: readonly ChainLog[]): ChainLog[] {
    return inChainOrder(logs).filter((log) => log.blockNumber >= this.#floor && !this.#seen.has(log));
  }

  /** Beside the reading, which is not to wait for it. The next look takes up its findings. */
  #startVerification(): void {
    if (this.#position === null) return;
    const branch = this.#branch;
    const isCurrent = (): boolean => branch === this.#branch;
    this.#verification.start(this.#position, this.#floor, isCurrent, ({ events, hints }) => {
      this.#found = { events: this.#unseen([...this.#found.events, ...events]), hints: this.#unseen(hints) };
      this.#reportDoubt();
      return this.#found.events.length > 0;
    });
  }

  /** A filter that lacks what is in its block shows that this endpoint's filters are of no use. */
  #judgeBlooms(
    heads: readonly BlockHead[],
    blooms: readonly (LogsBloom | null)[],
    events: readonly ChainLog[],
    trust: FilterTrust,
  ): void {
    for (const log of events) {
      const at = heads.findIndex(({ hash }) => hash === log.blockHash);
      const bloom = blooms[at];
      if (bloom && !bloom.hasLog(log)) this.#distrust(trust);
    }
  }

  #trustOf({ isHeard }: BlockRange): FilterTrust {
    return isHeard === true ? this.#ofSubscription : this.#ofNode;
  }

  #distrust(trust: FilterTrust): void {
    trust.end();
    for (const block of this.#recent.values()) block.isComplete = false;
    this.#verification.suspect();
  }

  #reportDoubt(): void {
    const [doubted] = this.#doubted.keys();
    const found = this.#found.events.filter((log) => !this.isBeforeMemory(log)).length;
    if (doubted !== undefined) this.listener.onDoubt(`the logs of block ${doubted} do not match its bloom filter`);
    else this.listener.onDoubt(found === 0 ? null : `another reading of the logs has ${found} more events`);
  }
}

const EMPTY_FILTER = LogsBloom.of([]).hex;
const NOTHING_FOUND: FoundLogs = { events: [], hints: [] };
const NOTHING_READ: LogReading = {
  range: null,
  fresh: [],
  late: [],
  hints: [],
  checked: [],
  confirmed: [],
  again: [],
  isProven: false,
};

/** Null where the node does not tell it. */
function bloomOf({ logsBloom }: BlockHead): LogsBloom | null {
  return logsBloom === undefined ? null : LogsBloom.read(logsBloom);
}

/** Each once. */
function inChainOrder(logs: readonly ChainLog[]): ChainLog[] {
  const sorted = [...logs].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  return sorted.filter((log, i) => {
    const before = sorted[i - 1];
    return before === undefined || !isSame(log, before);
  });
}

function isSame(one: ChainLog, other: ChainLog): boolean {
  return one.blockHash === other.blockHash && one.logIndex === other.logIndex;
}
