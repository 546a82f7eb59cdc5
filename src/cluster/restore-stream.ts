import type { Clock, Random } from '../engine/ports.js';
import { type Disk, LOCK_NAME, type Logger, PersistenceError, readWhole } from '../persistence/disk/disk.js';
import { segmentName } from '../persistence/format/file-names.js';
import { type LogPoint, readSegmentHeader } from '../persistence/format/header.js';
import { requireManifest } from '../persistence/format/manifest.js';
import type { LogScan } from '../persistence/log/log-scanner.js';
import { damaged, readGroup } from '../persistence/log/segment-reader.js';
import { lostTail, lostTailError } from '../persistence/recovery/lost-tail.js';
import { recover } from '../persistence/recovery/recovery.js';
import { ClusterError } from './connection.js';
import { type ClusterLimits, firstPoint, readPoints } from './engine-log.js';
import { GatewayReplica } from './gateway-replica.js';
import { appendTerm, GroupPublisher } from './group-publisher.js';
import { type LogStream, newTerm, type ReplicatedGroup, type TermContent } from './log-stream.js';

export interface RestoreStreamOptions {
  readonly member: string;
  readonly random: Pick<Random, 'bytes'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ClusterLimits;
  /** Bytes of groups that wait for the quorum before more of the log is read. */
  readonly bytesAhead: number;
}

export interface RestoreReport {
  readonly epoch: string;
  readonly lastIndex: number;
  /** Groups that the stream had already, and that were appended to it. */
  readonly found: number;
  readonly appended: number;
  /** Of the engine that the log gives, and of the one that the stream gives. */
  readonly stateHash: string;
}

/**
 * Rebuilds the log stream from an engine's own log: every group with exactly its bytes. A stream that holds a part of
 * that log, as an interrupted restore leaves it, is continued. No engine may run meanwhile. Afterwards the whole stream
 * is read and applied, and its state hash compared with the log's. Throws ClusterError or PersistenceError.
 */
export async function restoreStream(
  stream: LogStream,
  disk: Disk,
  options: RestoreStreamOptions,
): Promise<RestoreReport> {
  const { member, random, logger } = options;
  const manifest = await requireManifest(disk);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    const { epoch, feedEpoch, reorgDepth, identity } = manifest;
    const { engine, scan } = await recover(disk, epoch, reorgDepth, logger);
    const lost = lostTail(manifest, scan);
    if (lost !== null) throw lostTailError(lost, scan);
    if (!epoch.equals(feedEpoch) || (scan.segments[0]?.first.index ?? 0) > 0) {
      const message = `${disk.label} does not hold its log from the first record on: take another engine's directory`;
      throw new ClusterError('FOREIGN', message);
    }
    const content = newTerm(member, random, { epoch: epoch.toString('hex'), reorgDepth, identity });
    const counts = await appendMissing(stream, disk, scan, content, options);
    const stateHash = engine.stateHash();
    await compareStream(stream, stateHash, options);
    return { epoch: content.epoch, lastIndex: scan.last.index, ...counts, stateHash };
  } finally {
    await lock.release();
  }
}

async function appendMissing(
  stream: LogStream,
  disk: Disk,
  scan: LogScan,
  content: TermContent,
  { clock, limits, bytesAhead }: RestoreStreamOptions,
): Promise<{ readonly found: number; readonly appended: number }> {
  const epoch = Buffer.from(content.epoch, 'hex');
  const { clusterRetryMs: retryMs, clusterAttempts: attempts, clusterWindow: window } = limits;
  const begin = async (at: LogPoint, lastSeq: number): Promise<number> => {
    const term = await appendTerm(stream, clock, retryMs, attempts, content, at, lastSeq);
    if (term === null) throw new ClusterError('DEPOSED', 'another process appends to the log stream: stop the engines');
    return term;
  };
  let term = (await stream.lastSequence()) === 0 ? await begin(firstPoint(epoch).point, 0) : null;
  const { last } = await readPoints(stream, epoch, limits.clusterReadMessages, Infinity);
  if (last.group > scan.last.group) {
    const message = `the log stream has group ${last.group}, and ${disk.label} ends with ${scan.last.group}: it needs no restore`;
    throw new ClusterError('FOREIGN', message);
  }
  term ??= await begin(last, await stream.lastSequence());
  const faults: Error[] = [];
  const onFault = (error: Error): void => void faults.push(error);
  const onAcknowledged = (): void => undefined;
  const publisher = new GroupPublisher(stream, {
    term,
    lastSeq: term,
    lastGroup: last.group,
    window,
    retryMs,
    clock,
    onAcknowledged,
    onFault,
  });
  const counts = { found: 0, appended: 0 };
  try {
    for await (const group of groupsOf(disk, scan, epoch)) {
      const { after } = group;
      if (after.group > last.group) {
        publisher.append(group);
        counts.appended += 1;
        if (publisher.waiting.bytes >= bytesAhead) await publisher.drain();
      } else {
        counts.found += 1;
        // The chain vouches for all groups before.
        if (after.group < last.group || after.chain.equals(last.chain)) continue;
        throw new ClusterError('FOREIGN', `the log stream has another group ${after.group} than ${disk.label}`);
      }
    }
    await publisher.drain();
  } catch (error) {
    throw faults[0] ?? error;
  } finally {
    publisher.stop();
  }
  return counts;
}

/** The groups of a log that was scanned, a segment at a time. */
async function* groupsOf(disk: Disk, { segments }: LogScan, epoch: Buffer): AsyncGenerator<ReplicatedGroup> {
  for (const segment of segments) {
    const bytes = await readWhole(disk, segmentName(segment.number));
    const header = readSegmentHeader(bytes);
    if (typeof header === 'string') throw damaged(segment, 0, header);
    let before = segment.first;
    for (let at = 0; at < segment.end;) {
      const read = readGroup(bytes, at, at === 0 ? header.frame.end : at, before, epoch);
      if ('reason' in read) throw damaged(segment, read.at, read.reason);
      yield { before, after: read.point, bytes: Buffer.from(bytes.subarray(at, read.end)) };
      before = read.point;
      at = read.end;
    }
  }
}

/** Applies the whole stream as a gateway does. */
async function compareStream(stream: LogStream, expected: string, options: RestoreStreamOptions): Promise<void> {
  const replica = await GatewayReplica.open({ ...options, stream, snapshots: null, onFault: () => undefined });
  replica.stop();
  const found = replica.engine.stateHash();
  if (found === expected) return;
  throw new ClusterError('DAMAGED', `the state hash of the log stream is ${found}, the log's is ${expected}`);
}
