import { readWhole, writeWhole, type Disk } from './disk.js';
import { endOfContent } from './frame.js';
import type { LogSurvey } from './log-survey.js';
import type { Logger } from './logger.js';
import { segmentName } from './segment.js';

/** Rewriting goes in pieces of this size. */
const PIECE_BYTES = 1 << 20;

/**
 * Leaves nothing behind the last whole group but zeros. What stood there is first kept in `*.broken` files, durable
 * before anything is overwritten, so that a crash in between only means that this is done again.
 */
export async function cutTornTail(disk: Disk, survey: LogSurvey, logger: Logger): Promise<void> {
  const { torn } = survey;
  if (torn === null) return;
  const names = await disk.list();
  const kept: string[] = [];
  for (const number of new Set([torn.number, ...survey.emptySegments])) {
    const name = segmentName(number);
    const offset = number === torn.number ? torn.offset : 0;
    const bytes = await readWhole(disk, name);
    const end = endOfContent(bytes, offset);
    if (end === offset) continue;
    const copy = brokenName(names, `${name}.${offset}`);
    await writeWhole(disk, copy, [bytes.subarray(offset, end)]);
    kept.push(copy);
    await zero(disk, name, offset, end);
  }
  logger.warn(
    { segment: segmentName(torn.number), offset: torn.offset, bytes: torn.bytes, reason: torn.reason, kept },
    'the log ended in the middle of a group that nobody was told of: it was cut off',
  );
}

/** A name that is not taken, under which `wanted` is kept for people. */
export function brokenName(names: readonly string[], wanted: string): string {
  for (let attempt = 1; ; attempt += 1) {
    const name = attempt === 1 ? `${wanted}.broken` : `${wanted}.${attempt}.broken`;
    if (!names.includes(name)) return name;
  }
}

async function zero(disk: Disk, name: string, start: number, end: number): Promise<void> {
  const file = await disk.open(name, 'write');
  try {
    const zeros = Buffer.alloc(Math.min(PIECE_BYTES, end - start));
    for (let at = start; at < end; at += zeros.length) await file.write(zeros.subarray(0, end - at), at);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Makes durable what was read. A group may be whole in the page cache and not on the disk, and after a failed sync the
 * kernel holds its pages for clean: a sync alone would say yes and do nothing. Writing the same bytes again makes them
 * dirty. Only groups that no later one calls durable are touched.
 */
export async function settleTail(disk: Disk, survey: LogSurvey): Promise<void> {
  const last = survey.segments.at(-1);
  if (last === undefined) return;
  const file = await disk.open(segmentName(last.number), 'write');
  try {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, last.end - last.durableEnd));
    for (let at = last.durableEnd; at < last.end; at += piece.length) {
      const part = piece.subarray(0, last.end - at);
      await file.read(part, at);
      await file.write(part, at);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
