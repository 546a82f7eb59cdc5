import assert from 'node:assert/strict';
import { PersistenceError } from '../../src/persistence/disk/disk.js';
import { FILL } from '../../src/persistence/format/frame.js';
import { type LogScan, scanLog } from '../../src/persistence/log/log-scanner.js';
import { recover } from '../../src/persistence/recovery/recovery.js';
import { REORG_DEPTH } from '../engine/samples.js';
import type { SeededRandom } from '../simulation/seeded-random.js';
import { silent } from '../simulation/simulated-log.js';
import { endWithin, FIRST_SEGMENT, type MadeLog, withFile } from './made-log.js';
import type { MemoryDisk } from './memory-disk.js';

/** Possible bytes behind the place where a write ended. */
export type Rest = 'nothing' | 'zeros' | 'unused space' | 'random bytes' | 'older bytes';

/** Every so many bytes the engine is rebuilt too, which takes a hundred times as long as reading the log. */
const REPLAY_EVERY = 509;

/**
 * At every byte: a log that ends there reads as the whole groups before it, and nothing else. Where the end is not as a
 * crash leaves it, the scan says that the tail was lost.
 */
export async function checkEveryEnd(log: MadeLog, rest: Rest, random: SeededRandom, step = 1): Promise<number> {
  const whole = segmentOf(log);
  let checked = 0;
  for (let end = 0; end < (log.ends.at(-1)?.offset ?? 0); end += step) {
    const bytes = ending(whole, end, rest, random);
    const disk = withFile(log, FIRST_SEGMENT, bytes);
    const expected = endWithin(log, sameThrough(whole, bytes, end));
    const scan = await scanLog(disk, log.epoch);
    assert.equal(scan.last.index, expected.index, `cut at ${end}, then ${rest}`);
    if (rest === 'nothing' || rest === 'zeros') assert.ok(scan.lost !== null, `cut at ${end}, then ${rest}`);
    else assert.equal(scan.lost, null, `cut at ${end}, then ${rest}`);
    if (checked % REPLAY_EVERY === 0) await checkState(disk, log, expected.stateHash);
    checked += 1;
  }
  return checked;
}

/**
 * At every byte from `from` on: a log with that byte changed is refused, or reads as the whole log, or as all of it but
 * the last group.
 */
export async function checkEveryFlip(log: MadeLog, random: SeededRandom, isSealed: boolean, from = 0): Promise<number> {
  const whole = segmentOf(log);
  const [beforeLast, last] = log.ends.slice(-2);
  if (beforeLast === undefined || last === undefined) throw new Error('the log is too short');
  let refused = 0;
  // Also in the unused space behind the end, as far as a group might reach.
  for (let at = from; at < Math.min(whole.length, last.offset + 512); at += 1) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    const scan = await scanOrRefusal(withFile(log, FIRST_SEGMENT, bytes), log.epoch);
    if (scan === null) refused += 1;
    else if (at >= last.offset) assert.equal(scan.last.index, last.index, `flip at ${at}, behind the end`);
    else {
      // Only what nothing calls durable may be taken for a torn tail: the seal, which has no records, or an unsealed
      // last group.
      assert.ok(at >= beforeLast.offset, `flip at ${at} went unnoticed`);
      assert.equal(scan.last.index, beforeLast.index);
      assert.ok(scan.torn !== null, `flip at ${at} is reported`);
      if (isSealed) assert.equal(scan.last.index, last.index);
    }
  }
  return refused;
}

async function scanOrRefusal(disk: MemoryDisk, epoch: Buffer): Promise<LogScan | null> {
  try {
    return await scanLog(disk, epoch);
  } catch (error) {
    assert.ok(error instanceof PersistenceError && error.code === 'DAMAGED', String(error));
    assert.equal(error.place?.file, FIRST_SEGMENT);
    return null;
  }
}

async function checkState(disk: MemoryDisk, { epoch }: MadeLog, stateHash: string): Promise<void> {
  const { engine } = await recover(disk, epoch, REORG_DEPTH, silent);
  assert.equal(engine.stateHash(), stateHash);
}

function ending(whole: Buffer, end: number, rest: Rest, random: SeededRandom): Buffer {
  if (rest === 'nothing') return whole.subarray(0, end);
  const bytes = Buffer.alloc(whole.length, rest === 'zeros' ? 0 : FILL);
  whole.copy(bytes, 0, 0, end);
  if (rest === 'random bytes') bytes.set(random.bytes(Math.min(600, whole.length - end)), end);
  if (rest === 'older bytes') whole.copy(bytes, end, 0, Math.min(end, whole.length - end));
  return bytes;
}

/** The bytes behind the end may equal the log's by chance: one in 256 does. */
function sameThrough(whole: Buffer, bytes: Buffer, end: number): number {
  let same = end;
  while (same < bytes.length && bytes[same] === whole[same]) same += 1;
  return same;
}

function segmentOf({ files }: MadeLog): Buffer {
  const bytes = files.get(FIRST_SEGMENT);
  if (bytes === undefined) throw new Error('a log has its first segment');
  return bytes;
}
