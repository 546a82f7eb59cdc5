import { crc32 } from 'node:zlib';
import { EPOCH_BYTES } from './commit.js';
import { readWhole, writeWhole, type Disk } from './disk.js';
import { PersistenceError } from './persistence-error.js';

export const STAMP_NAME = 'stamp.json';
const STAMP_FORMAT = 1;

/**
 * Chain ids, genesis hashes, contract addresses: by name, what a log is bound to. Addresses and hashes in lower case.
 */
export type Identity = Readonly<Record<string, string | number>>;

/** What `stamp.json` says of its directory. */
export interface Stamp {
  /** Tells this log from every other; changes only when a log is begun anew. */
  readonly epoch: Buffer;
  /** Blocks that a reorg may undo: a log is replayed with the depth it was begun with. */
  readonly reorgDepth: number;
  readonly identity: Identity;
}

/**
 * Null when the directory has none: it was never in use, or only begun. Throws PersistenceError DAMAGED or
 * NEWER_FORMAT.
 */
export async function readStamp(disk: Disk): Promise<Stamp | null> {
  if (!(await disk.list()).includes(STAMP_NAME)) return null;
  const text = (await readWhole(disk, STAMP_NAME)).toString('utf8');
  const damaged = (reason: string, cause?: unknown): PersistenceError =>
    new PersistenceError('DAMAGED', reason, { place: { file: STAMP_NAME, offset: 0, index: 0, seq: 0 }, cause });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw damaged('it is not JSON', cause);
  }
  const { format, epoch, reorgDepth, identity, crc } = (content ?? {}) as Record<string, unknown>;
  if (typeof format === 'number' && format > STAMP_FORMAT) {
    throw new PersistenceError(
      'NEWER_FORMAT',
      `${STAMP_NAME} has format ${format}, this program reads up to ${STAMP_FORMAT}`,
    );
  }
  if (
    typeof epoch !== 'string' ||
    typeof reorgDepth !== 'number' ||
    typeof identity !== 'object' ||
    identity === null
  ) {
    throw damaged('it lacks what a stamp says');
  }
  const stamp = { epoch: Buffer.from(epoch, 'hex'), reorgDepth, identity: identity as Identity };
  if (crc !== checksum(stamp) || stamp.epoch.length !== EPOCH_BYTES) throw damaged('its checksum is wrong');
  return stamp;
}

/** Durable when it resolves. */
export async function writeStamp(disk: Disk, stamp: Stamp): Promise<void> {
  const { epoch, reorgDepth, identity } = stamp;
  const content = { format: STAMP_FORMAT, epoch: epoch.toString('hex'), reorgDepth, identity, crc: checksum(stamp) };
  await writeWhole(disk, STAMP_NAME, [Buffer.from(`${JSON.stringify(content, null, 2)}\n`)]);
}

/** In words, one for each: where `wanted` is not what the directory was begun with. */
export function compareIdentity(stamped: Identity, wanted: Identity): string[] {
  const names = [...new Set([...Object.keys(stamped), ...Object.keys(wanted)])].sort();
  return names
    .filter((name) => stamped[name] !== wanted[name])
    .map((name) => `${name} was ${stamped[name] ?? 'not there'} and is now ${wanted[name] ?? 'not there'}`);
}

/** Over the values in a fixed order, so that people may reformat the file. */
function checksum({ epoch, reorgDepth, identity }: Stamp): string {
  const entries = Object.entries(identity).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([STAMP_FORMAT, epoch.toString('hex'), reorgDepth, entries]);
  return crc32(text).toString(16).padStart(8, '0');
}
