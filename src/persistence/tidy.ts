import type { Disk } from './disk.js';
import type { Logger } from './logger.js';
import type { Recovered } from './recovery.js';
import { snapshotName } from './segment.js';
import { cutTornTail, settleTail } from './torn-tail.js';

/**
 * Leaves on the disk what was understood of it, and nothing else; what is cut off or passed over is kept for people.
 */
export async function tidy(disk: Disk, { survey, passedSnapshots }: Recovered, logger: Logger): Promise<void> {
  await cutTornTail(disk, survey, logger);
  await settleTail(disk, survey);
  for (const index of passedSnapshots) await disk.rename(snapshotName(index), `${snapshotName(index)}.broken`);
  if (passedSnapshots.length > 0) await disk.syncDirectory();
}
