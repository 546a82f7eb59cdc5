import { closeSync, openSync, readSync } from 'node:fs';

/** Of Linux, proc(5). */
const LIMITS_FILE = '/proc/self/limits';
const LIMITS_BYTES = 4_096;
const OPEN_FILES = /^Max open files\s+(\d+)/m;

/**
 * File descriptors that this process may still open. A new one is the lowest that is free, so all below it are taken.
 * Some above it may be taken as well: then there are fewer than this says. Infinity where nothing tells.
 */
export function spareDescriptors(): number {
  let descriptor: number;
  try {
    descriptor = openSync(LIMITS_FILE, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? 0 : Infinity;
  }
  try {
    const text = Buffer.alloc(LIMITS_BYTES);
    const [, most] = OPEN_FILES.exec(text.toString('latin1', 0, readSync(descriptor, text))) ?? [];
    return most === undefined ? Infinity : Math.max(0, Number(most) - descriptor);
  } finally {
    closeSync(descriptor);
  }
}
