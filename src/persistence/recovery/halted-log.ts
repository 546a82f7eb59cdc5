import { type Disk, PersistenceError, readWhole, writeWhole } from '../disk/disk.js';
import { segmentName, segmentNumbers, snapshotIndexes, snapshotName } from '../format/file-names.js';
import { type Manifest, MANIFEST_NAME } from '../format/manifest.js';
import { brokenName } from './torn-tail.js';

export const HALT_NAME = 'deep-reorg.json';

interface Halt {
  /** 16 hex digits: of the log that was being written. */
  readonly epoch: string;
  readonly why: string;
}

/**
 * Notes that a chain reorganised deeper than the log can follow. The log may hold blocks that no chain has, and what
 * they finalized cannot be undone, so no start continues it. Durable when it resolves.
 */
export async function noteDeepReorg(disk: Disk, epoch: string, why: string): Promise<void> {
  await writeWhole(disk, HALT_NAME, [Buffer.from(`${JSON.stringify({ epoch, why }, null, 2)}\n`)]);
}

/**
 * The log to start from: `found`, or null once a halted log was put aside for the epoch that was accepted. Its files
 * are kept as `*.broken`. A crash in between leaves the note, so that the next start continues here. Throws
 * PersistenceError DEEP_REORG where the log has halted and this was not accepted.
 */
export async function checkHalt(disk: Disk, found: Manifest | null, accepted: string | null): Promise<Manifest | null> {
  const halt = await readHalt(disk);
  // A log that was begun anew since, by a restore, has another epoch.
  if (halt === null || (found !== null && found.epoch.toString('hex') !== halt.epoch)) return found;
  if (halt.epoch !== accepted) {
    throw new PersistenceError(
      'DEEP_REORG',
      `the log in ${disk.label} has halted, since a chain reorganised deeper than reorgDepth: ${halt.why}. ` +
        `Check the chains and the endpoints. If the chain changed, start once with --accept-deep-reorg ${halt.epoch}: ` +
        `the log is put aside and the chains are read anew. If an endpoint showed a wrong chain, correct it and remove ${HALT_NAME}`,
    );
  }
  await putAside(disk);
  const names = await disk.list();
  if (names.includes(MANIFEST_NAME)) await disk.rename(MANIFEST_NAME, brokenName(names, MANIFEST_NAME));
  await disk.syncDirectory();
  await disk.remove(HALT_NAME);
  await disk.syncDirectory();
  return null;
}

/** Renames segments and snapshots to `*.broken`, and returns the names that they had. The manifest stays. */
export async function putAside(disk: Disk): Promise<string[]> {
  const names = await disk.list();
  const own = [...segmentNumbers(names).map(segmentName), ...snapshotIndexes(names).map(snapshotName)];
  for (const name of own) await disk.rename(name, brokenName(names, name));
  await disk.syncDirectory();
  return own;
}

async function readHalt(disk: Disk): Promise<Halt | null> {
  if (!(await disk.list()).includes(HALT_NAME)) return null;
  const text = (await readWhole(disk, HALT_NAME)).toString('utf8');
  try {
    const { epoch, why } = JSON.parse(text) as Record<string, unknown>;
    if (typeof epoch === 'string' && typeof why === 'string') return { epoch, why };
  } catch {
    // Said below.
  }
  const place = { file: HALT_NAME, offset: 0, index: 0, seq: 0 };
  throw new PersistenceError('DAMAGED', 'it does not say which log has halted', { place });
}
