import { constants } from 'node:os';
import type { Disk } from './disk.js';

/**
 * The parts of a file as they are asked for, while what is free on the volume stays above `keepFreeBytes` with them:
 * the reserve is for records that are under way. Throws ENOSPC before the first that would take of it.
 */
export async function* leavingFree(
  disk: Disk,
  keepFreeBytes: number,
  parts: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    const { freeBytes } = await disk.space();
    if (freeBytes - part.length < keepFreeBytes) {
      const message = `${freeBytes} bytes are free, and ${keepFreeBytes} have to stay so`;
      throw Object.assign(new Error(message), { code: 'ENOSPC', errno: -constants.errno.ENOSPC });
    }
    yield part;
  }
}
