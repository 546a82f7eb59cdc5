import { TEMPORARY, type Disk } from './disk.js';
import type { Logger } from './logger.js';
import type { Recovered } from './recovery.js';
import { snapshotName } from './segment.js';
import { brokenName, cutTornTail, settleTail } from './torn-tail.js';

/**
 * Leaves on the disk what was understood of it, durable, and nothing else; what is cut off or passed over is kept for
 * people.
 */
export async function tidy(disk: Disk, { survey, passedSnapshots }: Recovered, logger: Logger): Promise<void> {
  await cutTornTail(disk, survey, logger);
  await settleTail(disk, survey);
  if (passedSnapshots.length > 0) {
    const names = await disk.list();
    for (const name of passedSnapshots.map(snapshotName)) await disk.rename(name, brokenName(names, name));
  }
  // Always: a process that died just after it made a segment, a snapshot or the stamp may have left its name in memory
  // alone, and from here on all that is there is counted on.
  await disk.syncDirectory();
}

/** What a process that died was still writing: nobody counts on it, and its name is needed again. */
export async function removeUnfinished(disk: Disk): Promise<void> {
  for (const name of await disk.list()) if (name.endsWith(TEMPORARY)) await disk.remove(name);
}
