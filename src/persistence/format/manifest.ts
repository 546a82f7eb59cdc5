import { crc32 } from 'node:zlib';
import { type Disk, PersistenceError, readWhole, type SyncMode, writeWhole } from '../disk/disk.js';
import { EPOCH_BYTES } from './header.js';

export const MANIFEST_NAME = 'stamp.json';
/** 2: with `feedEpoch`, `sync`, `closedGroup` and `files`. */
export const MANIFEST_FORMAT = 2;

/**
 * Chain ids, genesis hashes, contract addresses: by name, what a log is bound to. Addresses and hashes in lower case.
 */
export type Identity = Readonly<Record<string, string | number>>;

/** Content of `stamp.json`, which identifies the log of its directory. */
export interface Manifest {
  /** Tells this log from every other, in each of its files; changes only when a log is begun anew. */
  readonly epoch: Buffer;
  /**
   * The epoch that clients see, under which no `seq` ever identifies two events. Another one as soon as events may have
   * been lost.
   */
  readonly feedEpoch: Buffer;
  /** Blocks that a reorg may undo: a log is replayed with the depth it was begun with. */
  readonly reorgDepth: number;
  readonly identity: Identity;
  /** How the process wrote the log that opened it last; null: by an older program, which did not say. */
  readonly sync: SyncMode['type'] | null;
  /** The log's last group when it was closed in order. Null: a process has it open, or did not close it. */
  readonly closedGroup: number | null;
  /** Files of wallets and budgets that are kept beside the log: one that is gone has been lost. */
  readonly files: readonly string[];
}

/**
 * Null when the directory has none: it was never in use, or only begun. Throws PersistenceError DAMAGED or
 * NEWER_FORMAT.
 */
export async function readManifest(disk: Disk): Promise<Manifest | null> {
  if (!(await disk.list()).includes(MANIFEST_NAME)) return null;
  const text = (await readWhole(disk, MANIFEST_NAME)).toString('utf8');
  const damaged = (reason: string, cause?: unknown): PersistenceError =>
    new PersistenceError('DAMAGED', reason, { place: { file: MANIFEST_NAME, offset: 0, index: 0, seq: 0 }, cause });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw damaged('it is not JSON', cause);
  }
  const { format, epoch, reorgDepth, identity, crc, ...rest } = (content ?? {}) as Record<string, unknown>;
  const { feedEpoch = epoch, sync = null, closedGroup = null, files = [] } = rest;
  if (typeof format === 'number' && format > MANIFEST_FORMAT) {
    throw new PersistenceError(
      'NEWER_FORMAT',
      `${MANIFEST_NAME} has format ${format}, this program reads up to ${MANIFEST_FORMAT}`,
    );
  }
  if (
    typeof epoch !== 'string' ||
    typeof feedEpoch !== 'string' ||
    !Array.isArray(files) ||
    typeof reorgDepth !== 'number' ||
    typeof identity !== 'object' ||
    identity === null
  ) {
    throw damaged('it lacks what a stamp says');
  }
  const manifest: Manifest = {
    epoch: Buffer.from(epoch, 'hex'),
    feedEpoch: Buffer.from(feedEpoch, 'hex'),
    reorgDepth,
    identity: identity as Identity,
    sync: sync as Manifest['sync'],
    closedGroup: closedGroup as number | null,
    files: files as string[],
  };
  if (crc !== checksum(manifest, format) || manifest.epoch.length !== EPOCH_BYTES)
    throw damaged('its checksum is wrong');
  return manifest;
}

/** Throws PersistenceError NO_BASE if the directory has no manifest. */
export async function requireManifest(disk: Disk): Promise<Manifest> {
  const manifest = await readManifest(disk);
  if (manifest === null) throw new PersistenceError('NO_BASE', `${disk.label} holds no log: it has no stamp`);
  return manifest;
}

/** Durable when it resolves. */
export async function writeManifest(disk: Disk, manifest: Manifest): Promise<void> {
  const { epoch, feedEpoch, ...rest } = manifest;
  const epochs = { epoch: epoch.toString('hex'), feedEpoch: feedEpoch.toString('hex') };
  const content = { format: MANIFEST_FORMAT, ...epochs, ...rest, crc: checksum(manifest, MANIFEST_FORMAT) };
  await writeWhole(disk, MANIFEST_NAME, [Buffer.from(`${JSON.stringify(content, null, 2)}\n`)]);
}

/** In words, one for each: where `wanted` is not what the directory was begun with. */
export function compareIdentity(stamped: Identity, wanted: Identity): string[] {
  const names = [...new Set([...Object.keys(stamped), ...Object.keys(wanted)])].sort();
  return names
    .filter((name) => stamped[name] !== wanted[name])
    .map((name) => `${name} was ${stamped[name] ?? 'not there'} and is now ${wanted[name] ?? 'not there'}`);
}

/** Over the values in a fixed order, so that people may reformat the file. */
function checksum(
  { epoch, feedEpoch, reorgDepth, identity, sync, closedGroup, files }: Manifest,
  format: unknown,
): string {
  const entries = Object.entries(identity).sort(([a], [b]) => (a < b ? -1 : 1));
  const added = format === 1 ? [] : [feedEpoch.toString('hex'), sync, closedGroup, files];
  const text = JSON.stringify([format, epoch.toString('hex'), reorgDepth, entries, ...added]);
  return crc32(text).toString(16).padStart(8, '0');
}
